package kit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// T0 is an instant of our days, on a full hour.
const T0 = 1_789_999_200 * int64(time.Second)

// A HandClock shows what it was set to. Nobody waits for it.
type HandClock struct{ time.Time }

func (c *HandClock) Now() time.Time                     { return c.Time }
func (*HandClock) After(time.Duration) <-chan time.Time { return nil }

// A MovingClock is set, in nanoseconds since the Unix epoch, while others read it. Nobody waits for
// it.
type MovingClock struct{ NS atomic.Int64 }

func (c *MovingClock) Now() time.Time                     { return time.Unix(0, c.NS.Load()) }
func (*MovingClock) After(time.Duration) <-chan time.Time { return nil }

// Frozen is a limiter whose clock is moved by hand. It shows T0.
func Frozen(p weir.Policy, opts ...weir.Option) (*weir.KeyedLimiter, *HandClock) {
	clock := &HandClock{time.Unix(0, T0)}
	return weir.Must(weir.New(p, append(opts, weir.WithClock(clock))...)), clock
}

// A Deadline is a context that has one, and never ends.
type Deadline struct {
	context.Context
	At time.Time
}

// Deadline returns At.
func (d Deadline) Deadline() (time.Time, bool) { return d.At, true }
