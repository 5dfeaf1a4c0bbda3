package storetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

// A Gap is a policy of one's own: it allows single events, each no sooner than Between after the last.
type Gap struct{ Between time.Duration }

// Decider implements [weir.Policy].
func (g Gap) Decider() (weir.Decider, error) {
	if g.Between < 1 {
		return nil, fmt.Errorf("Gap.Between is %v, must be at least 1ns", g.Between)
	}
	return gapDecider{uint64(g.Between)}, nil
}

// A gapDecider keeps one word: the instant from which on an event is allowed.
type gapDecider struct{ between uint64 }

func (d gapDecider) Words() int { return 1 }

func (d gapDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	opens, at := state[0], uint64(now)
	r := weir.Result{Limit: 1}
	switch {
	case ask.N > 1:
		r.RetryAfter = weir.Never
	case ask.N == 1 && at < opens:
		r.RetryAfter = time.Duration(opens - at)
	case ask.N == 1:
		opens = at + d.between // both are below 2^63, so that this does not wrap around
		r.Allowed = true
	case ask.N < 0:
		opens -= min(opens, d.between)
		r.Allowed = true
	default:
		r.Allowed = true
	}
	if at < opens {
		r.ResetAfter = time.Duration(min(opens-at, uint64(weir.Never)))
	} else {
		r.Remaining = 1
	}
	state[0] = opens // as it was, unless an event was granted or given back
	return state, weir.Answer{Result: r}
}

func (d gapDecider) Expiry(state []uint64) int64 { return int64(min(state[0], uint64(weir.Never))) }

// A policy of one's own runs on every store.
func Example_policy() {
	heartbeats := weir.Must(weir.New(Gap{Between: 10 * time.Second}))
	fmt.Println(heartbeats.Allow("node 1"), heartbeats.Allow("node 1"), heartbeats.Allow("node 2"))
	r, err := heartbeats.Take(context.Background(), "node 1", 2)
	fmt.Println(r.Allowed, r.RetryAfter == weir.Never, err)
	// Output:
	// true false true
	// false true <nil>
}
