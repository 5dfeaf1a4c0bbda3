package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// Clocks: a store with its own clock decides by that clock alone. Two limiters whose clocks differ
// by a second or an hour get the answers that a single limiter gets. The store does not read their
// clocks.
func clocksOfClients(e *env) {
	for _, skew := range []time.Duration{time.Second, -time.Second, time.Hour} {
		for _, p := range append(shapes(10, e.long()), custom(e.long())...) {
			if p.name == "composed" {
				continue // in general, the policy of each limiter counts as another one
			}
			name := p.name + skew.String()
			clock := &skewedClock{Clock: e.clock, by: skew}
			if e.realTime {
				clock.Clock = realClock{}
			}
			ls := []limiter{e.limiter(p.Policy, name), e.limiterWith(e.store, clock, p.Policy, name)}
			reads := clock.reads.Load()
			for i := range 30 {
				e.do(ls[i%2], "k", weir.Ask{N: 1})
			}
			a, b := e.do(ls[0], "k", weir.Ask{}), e.do(ls[1], "k", weir.Ask{})
			if e.seen(a, weir.Ask{}) != e.seen(b, weir.Ask{}) {
				e.Fatalf("%s: %s: %+v, and to a limiter whose clock differs by %v: %+v", clockRule, p.name, a, skew, b)
			}
			if clock.reads.Load() != reads {
				e.Fatalf("%s: %s: the store read the clock of a limiter", clockRule, p.name)
			}
			if e.realTime {
				continue
			}
			e.walk(clockRule, p.Policy, 2, ls...).run(e.few(200))
		}
	}
}

// GivingBack where the clocks of processes differ: events that are granted by a clock that is behind
// count at the later instant that the state has seen. They come back all the same.
func givenBackByClockBehind(e *env) {
	const limit, per = 10, time.Second
	e.each(shapes(limit, per), func(e *env, p weir.Policy) {
		if books(p) || e.ownTime() {
			e.Skip("a bucket counts no instants, and a store with its own clock sees no other")
		}
		ahead := e.limiterWith(e.store, &skewedClock{Clock: e.clock, by: 3 * per}, p, "")
		behind := e.limiter(p, "")
		e.take(ahead, "k", 3)
		r, err := behind.Reserve(context.Background(), "k", 4)
		if err == nil {
			err = r.Cancel(context.Background())
		}
		if left := e.take(behind, "k", 0).Remaining; err != nil || left != limit-3 {
			e.Fatalf("%s: a clock that is %v ahead took 3, another took 4 and gave them back: Remaining is %d, want %d: %v",
				givingBackRule, 3*per, left, limit-3, err)
		}
	})
}

// A skewedClock is ahead of another clock, or behind it. It counts how often it is read.
type skewedClock struct {
	weir.Clock
	by    time.Duration
	reads atomic.Int64
}

func (c *skewedClock) Now() time.Time {
	c.reads.Add(1)
	return c.Clock.Now().Add(c.by)
}

type realClock struct{}

func (realClock) Now() time.Time                         { return time.Now() }
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
