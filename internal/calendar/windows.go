// Package calendar finds the windows of the calendar: the minute, hour, day, week, month or year
// that contains an instant, as the clocks of a time zone show it. The rules are in the doc comment
// of weir.CalendarWindow.
//
// It knows no limit, no count, no clock and no default: instants in, windows out. Its tests look at
// the clocks of every zone that Go knows, around every change of them, and note when a window
// starts.
package calendar

import (
	"sync/atomic"
	"time"
)

// Windows divide time into the windows of a calendar, without gaps and without overlap. They are
// safe for concurrent use.
type Windows struct {
	calendar

	// latest is the window of the latest decision. All keys share it. The calendar is asked when
	// the window ends, and hardly ever otherwise. A span is one word: reading it takes no lock, and
	// a new one no memory.
	latest atomic.Uint64
}

// New returns the windows of a unit in a zone. start is the weekday of a week, the day of a month,
// or the month of a year with which they start; other units have none. A month without that day
// starts on its last day.
func New(unit Unit, start int, zone *time.Location) *Windows {
	return &Windows{calendar: calendar{unit, start, zone}}
}

// A span is a window: the second at which it starts, in 34 bits until the year 2262, and its length
// in seconds in the low lengthBits.
type span uint64

const (
	lengthBits  = 30
	nanosPerSec = uint64(time.Second)
)

func (s span) start() uint64  { return uint64(s >> lengthBits) }
func (s span) length() uint64 { return uint64(s & (1<<lengthBits - 1)) }
func (s span) end() uint64    { return s.start() + s.length() }

// has reports whether the window contains an instant, in nanoseconds. The zero span has none.
func (s span) has(at uint64) bool {
	return at-s.start()*nanosPerSec < s.length()*nanosPerSec
}

// Around returns the window that an event at now is counted in: from the second start to before the
// second end, since the Unix epoch. now is in nanoseconds since then.
//
// known is the start of the window that the caller has counted in last, in seconds, or 0. An older
// now counts as known. If known is later than the start of the window that is found, the window
// starts at known. This happens if known comes from another version of the time zone database.
func (w *Windows) Around(now, known uint64) (start, end uint64) {
	if in := span(w.latest.Load()); known <= in.start() && in.has(now) {
		return in.start(), in.end()
	}
	return w.find(now, known)
}

// find asks the calendar, unless latest is the window all the same. It leaves latest as it is if
// the instant is known, the start of a window. A store that sweeps asks in this way, to learn when
// windows of long ago ended.
func (w *Windows) find(now, known uint64) (start, end uint64) {
	at, in := max(now, known*nanosPerSec), span(w.latest.Load())
	if !in.has(at) {
		from, to := w.around(int64(at / nanosPerSec))
		in = span(from<<lengthBits | (to - from))
		if at != known*nanosPerSec {
			w.latest.Store(uint64(in))
		}
	}
	return max(in.start(), known), in.end()
}
