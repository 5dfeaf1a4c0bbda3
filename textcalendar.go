package weir

import (
	"strconv"
)

// String returns the text form of p, which [ParsePolicy] describes.
func (p CalendarWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p CalendarWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *CalendarWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p CalendarWindow) text() string {
	return "calendar-window " + strconv.Itoa(p.Limit) + "/" + p.Unit.String() +
		wordText(" location="+p.Location, p.Location != "") + countText(" start=", p.Start)
}

// readCalendarWindow reads what comes after the name of the kind.
func readCalendarWindow(r *textReader) Policy {
	limit, unit, at := r.events()
	p := CalendarWindow{Limit: limit}
	for u := Minute; u <= Year; u++ {
		if u.String() == unit {
			p.Unit = u
		}
	}
	if p.Unit == 0 {
		r.failAt(at, unit, "must be "+anyOf(unitNames[Minute:]))
	}
	r.options(textOption{
		name: "location",
		form: "location=ZONE",
		read: func(value string) bool { p.Location = value; return value != "" },
		must: "the name of a time zone, such as Europe/Berlin",
	}, textOption{
		name: "start",
		form: "start=N",
		read: func(value string) (ok bool) { p.Start, ok = parseCount(value); return ok },
		must: "a whole number: the day of a month, 0 to 6 for Sunday to Saturday, or the month of a year",
	})
	return p
}
