package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Allow has a way of its own through MemStore. It must grant what Take does, and leave the same
// state, above all around the edges of windows and at the instants when events become possible.
func TestAllowCountsAsTakeDoes(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, apart := range []time.Duration{0, time.Second / 7, time.Second, 2 * time.Second, 10 * time.Second, 20 * time.Second} {
			x, now := newTrial(t, p), kit.T0
			for step := range runs.Long(int64(60), 8) {
				for _, off := range []int64{-1, 0, 0, 1} {
					x.allows = 0 // the short way
					x.ask(now+step%3*off, weir.Ask{N: 1})
				}
				now += int64(apart)
			}
		}
	})
}

func TestAllowAtTheRetryInstant(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		x, now := newTrial(t, p), kit.T0
		for range 50 {
			x.allows = 0
			a := x.ask(now, weir.Ask{N: 1})
			if !a.Allowed {
				x.allows = 0
				require.False(t, x.ask(now+int64(a.RetryAfter)-1, weir.Ask{N: 1}).Allowed)
				now += int64(a.RetryAfter)
			}
		}
	})
}

// A count that is too large to be told leaves as a whole: until then Allow grants no more than Take
// does.
func TestR9_AllowInALargeDebt(t *testing.T) {
	x := newTrial(t, weir.SlidingWindow{Limit: 60_000, Per: time.Minute})
	start := kit.T0 / int64(time.Minute) * int64(time.Minute)
	x.ask(start, weir.Ask{N: 200_000, Mode: weir.Regardless}) // half a word counts to 131,071
	x.ask(start+int64(time.Minute), weir.Ask{N: 1, Mode: weir.Regardless})
	for _, second := range []int64{61, 80, 119, 120, 150} {
		x.allows = 0
		a := x.ask(start+second*int64(time.Second), weir.Ask{N: 1})
		require.Equal(t, second >= 120, a.Allowed, "after %d s", second)
	}
}
