// Package clock reads clocks in nanoseconds since the Unix epoch. It knows no limiter and no
// policy. Instants outside of the range from 1970 to 2262 count as the nearest one within.
package clock

import (
	"math"
	"sync/atomic"
	"time"
)

// A Clock reads the time and waits: see weir.Clock.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Instant is t in nanoseconds since the Unix epoch, or the nearest that there is.
func Instant(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec < 0:
		return 0
	case sec >= math.MaxInt64/int64(time.Second):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// system is the clock of the machine. It reads time.Since on a fixed base, which costs two thirds
// of time.Now, and in a testing/synctest bubble gives the bubble's time.
type system struct{}

var (
	base        = time.Now()
	baseInstant = Instant(base)
)

func (system) Now() time.Time                         { return base.Add(time.Since(base)) }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Nanos reads a Clock in nanoseconds, never stepping back (R7). Policies that keep no time of the
// last event rely on that. It is safe for concurrent use.
type Nanos struct {
	Clock               // nil for the system's clock, which cannot step back
	latest atomic.Int64 // the latest time that the Clock has shown
}

// Now returns the time of the Clock, or the latest time that it has shown if that is later.
func (c *Nanos) Now() int64 {
	if c.Clock == nil {
		return max(baseInstant+int64(time.Since(base)), 0)
	}
	now := Instant(c.Clock.Now())
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

// Until is how long it is until t, at least zero. If the Clock has stepped back, it counts from the
// latest instant that was read, as decisions do.
func (c *Nanos) Until(t time.Time) time.Duration {
	if c.Clock == nil {
		return max(time.Until(t), 0)
	}
	return time.Duration(max(Instant(t)-c.Now(), 0))
}

// At returns a channel that receives when the Clock itself shows the instant at. If the Clock has
// stepped back, or shows a time before 1970, this takes longer than the time from [Nanos.Now] to
// at. A caller that waited only for that time would look again over and over, until the Clock has
// caught up.
func (c *Nanos) At(at int64) <-chan time.Time {
	clock := c.OrSystem()
	return clock.After(max(time.Unix(0, at).Sub(clock.Now()), 0))
}

// OrSystem returns the Clock, or the system's. The deadlines of contexts are in its time.
func (c *Nanos) OrSystem() Clock {
	if c.Clock == nil {
		return system{}
	}
	return c.Clock
}
