package weir_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// debtPolicies are of every kind, in the forms that keep few bits and in those that keep many.
func debtPolicies() []weir.Policy {
	slow, fast := weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.TokenBucket{Limit: 7, Per: time.Second}
	return []weir.Policy{
		slow, fast,
		weir.TokenBucket{Limit: math.MaxInt, Per: 1},
		weir.TokenBucket{Limit: 1, Per: math.MaxInt64},
		weir.TokenBucket{Limit: math.MaxInt, Per: math.MaxInt64 - 1},
		weir.LeakyBucket{Limit: 1, Per: time.Hour},
		weir.LeakyBucket{Limit: math.MaxInt, Per: 1},
		weir.FixedWindow{Limit: 10, Per: time.Hour},
		weir.FixedWindow{Limit: 1_000_000, Per: time.Hour},
		weir.FixedWindow{Limit: math.MaxInt / 2, Per: time.Hour, FromFirst: true},
		weir.SlidingWindow{Limit: 100_000, Per: time.Minute},
		weir.SlidingWindow{Limit: math.MaxInt / 2, Per: time.Minute},
		weir.SlidingLog{Limit: 5, Per: time.Hour},
		weir.CalendarWindow{Limit: 1_000_000_000, Unit: weir.Month},
		weir.CalendarWindow{Limit: math.MaxInt / 2, Unit: weir.Month},
		weir.CalendarWindow{Limit: 5, Unit: weir.Hour},
		weir.All(slow, fast), weir.All(weir.CalendarWindow{Limit: 1_000_000_000, Unit: weir.Month}),
		weir.Tiers(slow, fast), weir.Tiers(weir.All(fast, slow), weir.SlidingLog{Limit: 5, Per: time.Hour}),
		weir.SingleRateMarker{Committed: slow, Excess: 5},
		weir.SingleRateMarker{Committed: fast},
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: math.MaxInt, Per: math.MaxInt64 - 1}, Excess: math.MaxInt},
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: math.MaxInt64}, Excess: math.MaxInt},
		weir.TwoRateMarker{Committed: slow, Peak: fast},
	}
}

// A debt beyond all that any policy allows stays one, whatever the policy becomes, and becomes after that: no
// state that a change leaves wraps around, and none forgets that it stands for more than it tells.
func TestR9_DebtsStayThroughAnyChange(t *testing.T) {
	for _, first := range debtPolicies() {
		for _, second := range debtPolicies() {
			t.Run(fmt.Sprintf("%v to %v", first, second), func(t *testing.T) {
				for _, third := range []weir.Policy{first, second, debtPolicies()[0]} {
					k, now := newKey(t, first), t0
					for range 3 {
						k.fill(now)
					}
					for range 3 {
						k.ask(now, weir.Ask{N: math.MaxInt, How: weir.Regardless})
					}
					require.Zero(t, k.look(now).Remaining)
					for _, next := range []weir.Policy{second, third} {
						k, _ = k.changed(t, next, now)
						require.Zero(t, k.look(now).Remaining, "%v", next)
						require.False(t, k.take(now, 1).Allowed, "%v", next)
						k.ask(now, weir.Ask{N: 1, How: weir.Regardless})
						require.Zero(t, k.look(now).Remaining, "%v", next)
					}
				}
			})
		}
	}
}

func TestR9_ADebtOfBothBucketsOfAMarker(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 1, Per: time.Hour}
	k := newKey(t, bucket)
	k.ask(t0, weir.Ask{N: 5_000_000, How: weir.Regardless}) // 570 years
	k, _ = k.changed(t, weir.SingleRateMarker{Committed: bucket, Excess: 5}, t0)
	for range 10 {
		require.False(t, k.take(t0, 1).Allowed)
		require.Zero(t, k.ask(t0, weir.Ask{N: 1, How: weir.Regardless}).Remaining)
	}
	require.False(t, k.take(t0+int64(100*year), 1).Allowed)
}

func TestR9_ADebtOfACalendarWindow(t *testing.T) {
	k := newKey(t, weir.CalendarWindow{Limit: 1_000_000_000, Unit: weir.Month})
	k.ask(t0, weir.Ask{N: fiveBillion, How: weir.Regardless})
	k, exact := k.changed(t, weir.CalendarWindow{Limit: fiveBillion / 5 * 4, Unit: weir.Month}, t0)
	require.True(t, exact)
	require.Zero(t, k.look(t0).Remaining)
}
