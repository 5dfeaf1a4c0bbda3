package weir

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-go/weir/internal/calendar"
	"github.com/weir-go/weir/internal/text"
)

// CalendarWindow allows Limit events in each minute, hour, day, week, month or year of the calendar
// in Location. It is for quotas that are stated to people: "10,000 a month, from the 15th", "back
// at midnight".
//
// Days, weeks, months and years follow the local date:
//
//   - A window starts at the first instant whose local date is the first date of the window or, if
//     clocks skip that date, a later one. This instant is midnight, unless clocks skip midnight.
//   - A day has 23 or 25 hours when clocks are put forward or back by an hour.
//   - A date that clocks skip altogether has no window.
//   - When clocks are put back from after midnight to before it, they show the end of the previous
//     day a second time. The repeated time belongs to the day that has just started.
//
// Minutes and hours follow real time. They start at full minutes and hours of local clocks, unless
// clocks are put forward or back:
//
//   - An hour that clocks show twice is two windows. An hour that clocks skip has no window.
//   - No window is longer than its unit.
//   - At the instant when clocks are put forward or back, one window ends and another starts. If a
//     window ends or starts then in the middle of an hour, it is shorter than an hour. On Lord Howe
//     Island, for example, clocks are put forward or back by half an hour.
//
// If the wall clock is changed while the process runs, or if the machine sleeps, windows may start
// too early or too late, until the process is restarted: see [Clock].
//
// Limit events may happen just before a window ends, and Limit more just after. Together these are
// 2*Limit in a short span, as in a [FixedWindow]. To spread the events over the window, combine a
// CalendarWindow with a [TokenBucket] in an [All].
//
// The state of a key takes one word of 8 bytes. It takes two words if Limit is above half a billion
// (2^29 - 1).
//
// API gateways have such quotas. In Apigee, a Quota policy without a type is such a quota, and
// follows UTC.
type CalendarWindow struct {
	Limit int  // events allowed in a window; at least 1
	Unit  Unit // of the calendar: Minute to Year

	// Location is a name in the IANA time zone database, such as "Europe/Berlin". Empty means UTC.
	// "Local" is refused, because it differs between machines. New looks the name up with
	// time.LoadLocation. A program for machines without the database imports time/tzdata.
	Location string

	// Start is the day or month with which a window starts. 0 is the default:
	//
	//   - Month: its first day, 1 to 31; 0 means 1. A month without that day starts on its last day.
	//   - Week: its first [time.Weekday], 0 for Sunday to 6 for Saturday.
	//   - Year: the [time.Month] on whose first day it starts, 1 to 12; 0 means January.
	//   - Minute, Hour, Day: it must be 0.
	Start int
}

// A Unit is a unit of the calendar, for [CalendarWindow].
type Unit uint8

// The units. The zero Unit is none of them.
const (
	Minute Unit = iota + 1
	Hour
	Day
	Week
	Month
	Year
)

var unitNames = [...]string{Minute: "minute", Hour: "hour", Day: "day", Week: "week", Month: "month", Year: "year"}

// String returns the unit's name, such as "month".
func (u Unit) String() string {
	if u < Minute || u > Year {
		return "Unit(" + strconv.Itoa(int(u)) + ")"
	}
	return unitNames[u]
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
	return window{uint64(p.Limit), nanosPerSec, p.spans(zone)}.decider(calendarBits), nil
}

// String returns the text form of p, such as "calendar-window 1000/month start=15".
func (p CalendarWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p CalendarWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *CalendarWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *CalendarWindow) form() text.Form {
	unit := text.OneOf(&p.Unit, Minute, Hour, Day, Week, Month, Year)
	zone := text.Word(&p.Location, "the name of a time zone, such as Europe/Berlin")
	start := text.Whole(&p.Start, "the day of a month, 0 to 6 for Sunday to Saturday, or the month of a year")
	return text.Rate(&p.Limit, unit, text.Arg("location", "ZONE", zone), text.Arg("start", "N", start))
}

// starts returns the largest Start of the unit, and describes the allowed range.
func (u Unit) starts() (most int, allowed string) {
	switch u {
	case Minute, Hour, Day:
		return 0, "0 unless Unit is Week, Month or Year"
	case Week: // time.Sunday is 0: unlike a month or a year, a week cannot have another default
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
		// The text of err is quoted, because it has the name as it is.
		f.add("Location", fmt.Sprintf("%q", p.Location), `a name in the time zone database, which `+
			fmt.Sprintf(`import _ "time/tzdata" links in (%q)`, err.Error()))
	}
	return zone
}

func (p CalendarWindow) spans(zone *time.Location) *calendarSpans {
	if p.Unit >= Month {
		p.Start = max(p.Start, 1)
	}
	windows := calendar.New(calendar.Unit(p.Unit), p.Start, zone)
	return &calendarSpans{windows, CalendarWindow{Unit: p.Unit, Start: p.Start, Location: zone.String()}}
}

const (
	nanosPerSec  = uint64(time.Second)
	calendarBits = 30 // for the count, if the state is a single word: the seconds take 34 until 2262
)

// calendarSpans are windows marked by the second at which they start, since the epoch. States then
// mean the same where the versions of the time zone database differ.
type calendarSpans struct {
	windows *calendar.Windows
	counted CalendarWindow // the policy without its Limit
}

func (c *calendarSpans) around(s words, now uint64) (mark, end uint64) {
	mark, end = c.windows.Around(now, s.first)
	return mark, end * nanosPerSec
}

func (c *calendarSpans) counts() any { return c.counted }
