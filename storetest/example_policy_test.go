package storetest_test

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

// A Gap is a custom policy. It allows single events, each at least Between after the one before.
type Gap struct{ Between time.Duration }

// Decider implements [weir.Policy].
func (g Gap) Decider() (weir.Decider, error) {
	if g.Between < 1 {
		return nil, fmt.Errorf("Gap.Between is %v, must be at least 1ns", g.Between)
	}
	return gapDecider{uint64(g.Between)}, nil
}

// A gapDecider keeps one word: the instant from which an event is allowed.
type gapDecider struct{ between uint64 }

func (d gapDecider) Words() int { return 1 }

func (d gapDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	opens, at, granted := state[0], uint64(now), 0
	r := weir.Result{Limit: 1}
	if ask.Mode == weir.UpTo { // as many as there are: one or none
		ask.N = min(ask.N, 1)
	}
	switch {
	case ask.N > 0 && ask.Mode == weir.Regardless: // a debt: the next event may be further away than Between
		opens = max(opens, at)
		opens += min(d.time(ask.N), math.MaxInt64-min(opens, math.MaxInt64))
		r.Allowed = true
	case ask.N > 1:
		r.RetryAfter = weir.Never
	case ask.N == 1 && at < opens:
		r.RetryAfter = time.Duration(min(opens-at, uint64(weir.Never)))
	case ask.N == 1:
		opens = at + d.between // cannot wrap around: both are below 2^63
		r.Allowed = true
		if ask.Mode == weir.UpTo {
			granted = 1
		}
	case ask.N < 0:
		counts := max(uint64(ask.CountedAt())+d.between, at) - at // only what it still counts
		opens -= min(opens, d.time(-ask.N), counts)
		r.Allowed = true
	default:
		r.Allowed = true
	}
	if at < opens {
		r.ResetAfter = time.Duration(min(opens-at, uint64(weir.Never)))
	} else {
		r.Remaining = 1
	}
	state[0] = opens // unchanged, unless an event was granted or given back
	return state, weir.Answer{Result: r, Granted: granted}
}

// time returns the time that n events take, or the largest number if that is larger.
func (d gapDecider) time(n int) uint64 {
	if hi, lo := bits.Mul64(uint64(n), d.between); hi == 0 {
		return lo
	}
	return math.MaxUint64
}

func (d gapDecider) Expiry(state []uint64) int64 { return int64(min(state[0], uint64(weir.Never))) }

// A custom policy runs on every store.
func Example_policy() {
	heartbeats := weir.Must(weir.New(Gap{Between: 10 * time.Second}))
	fmt.Println(heartbeats.Allow("node 1"), heartbeats.Allow("node 1"), heartbeats.Allow("node 2"))
	r, err := heartbeats.Take(context.Background(), "node 1", 2)
	fmt.Println(r.Allowed, r.RetryAfter == weir.Never, err)
	// Output:
	// true false true
	// false true <nil>
}
