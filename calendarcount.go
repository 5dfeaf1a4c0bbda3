package weir

import (
	"sync/atomic"
	"time"
)

// A state of a CalendarWindow says when its window starts, in seconds since the epoch, and what it counted. So states
// mean the same where the versions of the time zone database differ. Until the year 2262 the
// seconds take 34 bits, which leaves 30 for the count if the state is a single word.
const (
	calendarBits = 30
	nanosPerSec  = uint64(time.Second)
)

// calendarSpans are the windows of a calendar, marked by the second at which they start. But for latest
// they are immutable.
type calendarSpans struct {
	calendar

	// latest is the window of the latest decision. All keys share it, so the calendar is asked when
	// it turns, and hardly else. A span is one word: reading it takes no lock, and a new one no
	// memory.
	latest atomic.Uint64
}

// A span is a window: the second at which it starts, and in the low calendarBits its length.
type span uint64

func (s span) start() uint64  { return uint64(s >> calendarBits) }
func (s span) length() uint64 { return uint64(s & (1<<calendarBits - 1)) }
func (s span) end() uint64    { return s.start() + s.length() }

// has reports whether the window contains an instant, in nanoseconds. The zero span has none.
func (s span) has(at uint64) bool {
	return at-s.start()*nanosPerSec < s.length()*nanosPerSec
}

// around keeps latest as it is at the start of the window known: a store that sweeps asks so when windows
// of long ago ended.
func (c *calendarSpans) around(s words, now uint64) (mark, end uint64) {
	at, in := max(now, s.first*nanosPerSec), span(c.latest.Load())
	if !in.has(at) {
		from, to := c.calendar.around(int64(at / nanosPerSec))
		in = span(from<<calendarBits | (to - from))
		if at != s.first*nanosPerSec {
			c.latest.Store(uint64(in))
		}
	}
	return max(in.start(), s.first), in.end() * nanosPerSec
}

type calendarCounts struct {
	unit  Unit
	start int
	zone  string
}

func (c *calendarSpans) counts() any { return calendarCounts{c.unit, c.start, c.zone.String()} }
