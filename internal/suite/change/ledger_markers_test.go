package change_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R5: after a change, a marker grants as many events as a look tells. The events of other policies
// are charged to green first. An event may therefore be yellow that would be green without them.
func TestR5_AMarkerAfterAChange(t *testing.T) {
	l, _ := kit.Frozen(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Minute}, Excess: 5})
	for range 2 {
		l.Allow("k")
	}
	require.NoError(t, l.SetPolicy(context.Background(), weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: 5, Per: time.Second / 2}, Excess: 5,
	}))
	for _, n := range []int{2, 3, 2} {
		got, err := l.Take(context.Background(), "k", n)
		require.NoError(t, err)
		require.True(t, got.Allowed)
		look, err := l.Take(context.Background(), "k", 0)
		require.NoError(t, err)
		assert.Equal(t, look.Remaining, got.Remaining, "after %d", n)
	}
}

// R19: a smaller marker that inherits a debt of green grants no more than both buckets have
// together. While it owes, its answers are tight.
func TestR19_AMarkerInheritsADebtOfGreen(t *testing.T) {
	l, clock := kit.Frozen(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 10}})
	require.True(t, kit.Take(t, l, "k", 10).Allowed)
	require.NoError(t, l.SetPolicy(context.Background(), weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 1}, Excess: 3,
	}))
	for remaining := range 4 {
		require.Equal(t, remaining, kit.Take(t, l, "k", 0).Remaining)
		denied := kit.Take(t, l, "k", remaining+1)
		require.False(t, denied.Allowed)
		if remaining == 3 {
			assert.Equal(t, weir.Never, denied.RetryAfter)
			return
		}
		clock.Time = clock.Add(denied.RetryAfter - 1)
		require.Equal(t, remaining, kit.Take(t, l, "k", 0).Remaining, "1 ns before RetryAfter")
		clock.Time = clock.Add(1)
	}
}

// R14: a bucket of a marker may be full again only after the year 2554. A marker of the same rates
// with smaller buckets, which are full again sooner, knows that state, too.
func TestR14_ASmallerTwoRateMarker(t *testing.T) {
	marker := func(burst int) weir.Policy {
		return weir.TwoRateMarker{
			Committed: weir.TokenBucket{Limit: 1, Per: 365 * 24 * time.Hour, Burst: 1},
			Peak:      weir.TokenBucket{Limit: 1, Per: 365 * 24 * time.Hour, Burst: burst},
		}
	}
	l, _ := kit.Frozen(marker(2000))
	require.True(t, kit.Take(t, l, "k", 1000).Allowed)
	kit.SetPolicy(t, l, marker(100))
	look := kit.Take(t, l, "k", 0)
	assert.True(t, look.Allowed)
	assert.Equal(t, 100, look.Limit)
}

// R14: a marker is charged until both of its buckets would be full again, also if they hold more
// events together than an ask can name.
func TestR14_AChargeToAMarkerLastsForBothBuckets(t *testing.T) {
	l, clock := kit.Frozen(weir.SlidingLog{Limit: 2, Per: 24 * time.Hour})
	require.True(t, kit.Take(t, l, "k", 2).Allowed)
	kit.SetPolicy(t, l, weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: math.MaxInt, Per: time.Hour}, Excess: math.MaxInt,
	})
	assert.Equal(t, 2*time.Hour, kit.Take(t, l, "k", 1).RetryAfter)
	clock.Time = clock.Add(2*time.Hour - 1)
	assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
	clock.Time = clock.Add(1)
	assert.Equal(t, math.MaxInt, kit.Take(t, l, "k", 0).Remaining)
}

// R16: Return does not know which bucket of a marker granted the events, also while another policy counts
// for the key.
func TestR16_ReturnToAMarkerAfterAChange(t *testing.T) {
	marker := weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Hour}, Excess: 5}
	hundred := weir.TokenBucket{Limit: 100, Per: time.Hour}
	for _, p := range []weir.Policy{marker, weir.All(hundred, marker), weir.Tiers(marker)} {
		for _, c := range []struct {
			takes     []int
			back      int
			remaining int
		}{
			{[]int{4}, 4, 10},
			{[]int{10, 3}, 3, 5},
			{[]int{10, 3}, 5, 5},  // which fills yellow, and then gives green 2
			{[]int{10, 3}, 10, 7}, // so many are green again
		} {
			l, _ := kit.Frozen(hundred)
			require.True(t, l.Allow("k"))
			kit.SetPolicy(t, l, p)
			for _, n := range c.takes {
				require.True(t, kit.Take(t, l, "k", n).Allowed)
			}
			require.NoError(t, l.Return(context.Background(), "k", c.back))
			assert.Equal(t, c.remaining, kit.Take(t, l, "k", 0).Remaining, "%v: %d of %d", p, c.back, c.takes)
		}
	}
}
