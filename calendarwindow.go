package weir

import (
	"fmt"
	"time"
)

// CalendarWindow allows Limit events in each minute, hour, day, week, month or year of the calendar,
// as the clocks in Location show it. It is for quotas that people are told of: "10,000 a month, from
// the 15th", "back at midnight".
//
// A day, week, month or year starts at the first instant at which the local date is its first or
// later: at midnight, unless clocks skip that. So a day has 23 or 25 hours when they are put forward
// or back. A date that they skip altogether has no window, and when they are put back across
// midnight the day before does not come back.
//
// Minutes and hours are real ones, from the full minute or hour that local clocks show. An hour
// that clocks show twice is two windows, and one that they skip is none. So none is longer than its
// unit, and one is shorter only where clocks are put forward or back in the middle of it: on Lord
// Howe Island, say, which does so by half an hour.
//
// As with [FixedWindow], Limit events just before the boundary and Limit just after make 2*Limit in
// a short span. A [TokenBucket] beside it spreads a quota. It costs one word of memory per key, or two
// where Limit is beyond a billion (2^30 - 2).
//
// Gateways in front of APIs have such quotas: Apigee's Quota policy has them as the type "calendar", in UTC.
type CalendarWindow struct {
	Limit int  // events allowed in a window; at least 1
	Unit  Unit // of the calendar: Minute to Year

	// Location is a name in the IANA time zone database, such as "Europe/Berlin". Empty means UTC.
	// "Local" is refused: on another machine it is another. New looks the name up as
	// time.LoadLocation does; a program for machines without the database imports time/tzdata.
	Location string

	// Start is where the unit starts:
	//   - a month on that day, 1 to 31, and on its last where it has no such day; 0 means 1
	//   - a week on that [time.Weekday], 0 for Sunday to 6 for Saturday
	//   - a year on the first of that [time.Month], 1 to 12; 0 means January
	// Day, Hour and Minute have none: it must be 0.
	Start int
}

// Decider implements [Policy].
func (p CalendarWindow) Decider() (Decider, error) {
	f := faults{policy: p}
	if p.Limit < 1 {
		f.add("Limit", p.Limit, "at least 1")
	}
	if p.Unit < Minute || p.Unit > Year {
		f.add("Unit", p.Unit, "Minute, Hour, Day, Week, Month or Year")
	}
	zone := p.zone(&f)
	if most, allowed := p.Unit.starts(); p.Start < 0 || p.Start > most {
		f.add("Start", p.Start, allowed)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	start := p.Start
	if p.Unit != Week {
		start = max(start, 1)
	}
	spans := &calendarSpans{calendar: calendar{p.Unit, start, zone}}
	return window{uint64(p.Limit), nanosPerSec, spans}.decider(calendarBits), nil
}

// starts tells the largest Start that there is for the unit, and what is allowed in words.
func (u Unit) starts() (most int, allowed string) {
	switch u {
	case Minute, Hour, Day:
		return 0, "0 unless Unit is Week, Month or Year"
	case Week:
		return int(time.Saturday), "from 0 (Sunday) to 6 (Saturday) for a week"
	case Year:
		return int(time.December), "from 1 (January) to 12 (December), or 0, for a year"
	default:
		return 31, "from 1 to 31, or 0, for a month"
	}
}

func (p CalendarWindow) zone(f *faults) *time.Location {
	zone, err := time.LoadLocation(p.Location)
	switch {
	case p.Location == "Local":
		f.add("Location", `"Local"`, "the name of a time zone, the same on all machines")
	case err != nil:
		f.add("Location", fmt.Sprintf("%q", p.Location), `a name in the time zone database, which `+
			`import _ "time/tzdata" links in (`+err.Error()+")")
	}
	return zone
}
