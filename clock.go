package weir

import (
	"math"
	"sync/atomic"
	"time"
)

// A Clock reads the time and waits. It must be safe for concurrent use.
//
// Without a Clock, a limiter reads the system's clock monotonically. Changes of the wall clock have
// no effect. In a testing/synctest bubble it reads the bubble's clock. A Clock of your own makes
// tests deterministic. The clocks of github.com/benbjohnson/clock fit without an adapter.
//
// Limiters keep time in nanoseconds, for instants from 1970 to 2262. An instant outside of that
// range counts as the nearest one within, and the last second of the range counts as its end. A
// booking for a later instant is told for that end, too. If a Clock steps back, a limiter keeps the
// latest instant that it saw, until the Clock has caught up.
type Clock interface {
	// Now returns the time, as time.Now does.
	Now() time.Time

	// After returns a channel that receives once d has passed, as time.After does.
	After(d time.Duration) <-chan time.Time
}

// maxInstant is the latest instant, in nanoseconds since the Unix epoch: in the year 2262.
const maxInstant = math.MaxInt64

// instant is t in nanoseconds since the Unix epoch, or the nearest that there is.
func instant(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec < 0:
		return 0
	case sec >= maxInstant/int64(time.Second):
		return maxInstant
	default:
		return t.UnixNano()
	}
}

// systemClock is the clock of the machine. It reads time.Since on a fixed base, which costs two
// thirds of time.Now, and in a testing/synctest bubble gives the bubble's time.
type systemClock struct{}

var (
	base        = time.Now()
	baseInstant = instant(base)
)

func (systemClock) Now() time.Time                         { return base.Add(time.Since(base)) }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// nanoClock reads a Clock in nanoseconds since the Unix epoch, never stepping back (R7). Policies
// that keep no time of the last event rely on that.
type nanoClock struct {
	Clock               // nil for the system's clock, which cannot step back
	latest atomic.Int64 // what the Clock read at the latest
}

func (c *nanoClock) now() int64 {
	if c.Clock == nil {
		return max(baseInstant+int64(time.Since(base)), 0)
	}
	now := instant(c.Clock.Now())
	for {
		latest := c.latest.Load()
		if now <= latest {
			return latest
		}
		if c.latest.CompareAndSwap(latest, now) {
			return now
		}
	}
}

// until is how long it is until t, at least zero: by a Clock that has stepped back, from the latest
// instant that it read, as decisions are.
func (c *nanoClock) until(t time.Time) time.Duration {
	if c.Clock == nil {
		return max(time.Until(t), 0)
	}
	return time.Duration(max(instant(t)-c.now(), 0))
}

// orSystem returns the Clock, or the system's. The deadlines of contexts are in its time.
func (c *nanoClock) orSystem() Clock {
	if c.Clock == nil {
		return systemClock{}
	}
	return c.Clock
}
