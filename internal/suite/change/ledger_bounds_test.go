package change_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R17 and R19: a debt, or bookings ahead, bind to their end, however many other policies are
// granted events meanwhile.
func TestR19_DebtsAndBookingsAreNotMadeAShare(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 10, Per: time.Second}
	for name, ask := range map[string]weir.Ask{
		"debt":     {N: 1000, Mode: weir.Regardless},
		"bookings": {N: 10, MaxWait: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			k, now := kit.LedgerKey{T: t}, int64(kit.T0)
			for range 11 {
				k.Ask(bucket, now, ask)
			}
			for i := range 6 {
				other := weir.SlidingLog{Limit: 100, Per: time.Second + time.Duration(i)}
				a := k.Ask(other, now, weir.Ask{N: 1})
				for ; !a.Allowed; a = k.Ask(other, now, weir.Ask{N: 1}) { // while it is charged for the bucket
					now += int64(a.RetryAfter)
				}
			}
			now += 2 * int64(time.Second)
			assert.Zero(t, k.Remaining(bucket, now))
			a := k.Ask(bucket, now, weir.Ask{N: 1})
			assert.False(t, a.Allowed)
			assert.Greater(t, a.RetryAfter, 4*time.Second)
		})
	}
}

// R16: cancelling a booking that no longer counts takes nothing from bookings that are cancelled
// after it.
func TestR16_ACancelOfWhatCountsNoMore(t *testing.T) {
	k, now := kit.LedgerKey{T: t}, int64(kit.T0)
	short, long := weir.SlidingLog{Limit: 2, Per: time.Second}, weir.SlidingLog{Limit: 10, Per: time.Hour}
	book := func() weir.Ask {
		a := k.Ask(short, now, weir.Ask{N: 1})
		require.True(t, a.Allowed)
		return weir.Ask{N: -1, GrantedAt: now, Charges: &[]weir.Charge{{N: 1, For: a.ResetAfter}}}
	}
	first := book()
	now += 2 * int64(time.Second)
	require.True(t, k.Ask(long, now, weir.Ask{N: 1}).Allowed)
	now += 2 * int64(time.Second)
	second := book()
	k.Ask(short, now, first)
	assert.Equal(t, 1, k.Remaining(short, now))
	k.Ask(short, now, second)
	assert.Equal(t, 2, k.Remaining(short, now))
}

// The same of composed policies.
func TestR16_ACancelOfWhatCountsNoMoreInAnyComponent(t *testing.T) {
	window := weir.FixedWindow{Limit: 10, Per: time.Second}
	for _, test := range []struct {
		policy weir.Policy
		most   int
	}{
		{weir.All(window, weir.SlidingLog{Limit: 20, Per: time.Second}), 10},
		{weir.Tiers(window, weir.TokenBucket{Limit: 10, Per: time.Second}), 20},
	} {
		k, now := kit.LedgerKey{T: t}, int64(kit.T0)
		long := weir.SlidingLog{Limit: 1000, Per: time.Hour}
		require.True(t, k.Ask(long, now, weir.Ask{N: 1}).Allowed)
		book := func() weir.Ask {
			var charges []weir.Charge
			require.True(t, k.Ask(test.policy, now, weir.Ask{N: 5, Charges: &charges}).Allowed)
			return weir.Ask{N: -5, GrantedAt: now, Charges: &charges}
		}
		first := book()
		now += 2 * int64(time.Second)
		second := book()
		k.Ask(test.policy, now, first)
		k.Ask(test.policy, now, second)
		assert.Equal(t, test.most, k.Fill(test.policy, now), "%v", test.policy)
	}
}

// R13: a clock that stands at the last instant, or beyond it, ends nothing, and no change of policy
// is a fresh allowance.
func TestR13_AtTheLastInstant(t *testing.T) {
	k, granted := kit.LedgerKey{T: t}, 0
	for i := range 20 {
		for _, p := range []weir.Policy{
			weir.SlidingLog{Limit: 2, Per: time.Hour},
			weir.TokenBucket{Limit: 2 + i%2, Per: time.Hour},
		} {
			granted += k.Fill(p, math.MaxInt64)
		}
	}
	assert.LessOrEqual(t, granted, 4)
}

// R5: a grant while other policies' events are charged tells of each component what a look tells.
func TestR5_OfComponentsWhileOthersAreCharged(t *testing.T) {
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(weir.FixedWindow{Limit: 4, Per: time.Hour}, kit.T0, weir.Ask{N: 1}).Allowed)
	both := weir.All(weir.FixedWindow{Limit: 100, Per: time.Hour}, weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: 100, Per: time.Hour, Burst: 5}, Excess: 10,
	})
	var granted, look []weir.Result
	require.True(t, k.Ask(both, kit.T0, weir.Ask{N: 4, ByComponent: &granted}).Allowed)
	k.Ask(both, kit.T0, weir.Ask{ByComponent: &look})
	for i := range look {
		assert.Equal(t, look[i].Remaining, granted[i].Remaining)
		assert.Equal(t, look[i].ResetAfter, granted[i].ResetAfter)
	}
}

// R14: a denied ask by another policy, after a booking, changes nothing of what is given back when
// that booking has been undone.
func TestR14_ADeniedAskBeforeABookingIsUndone(t *testing.T) {
	bucket, window := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3}, weir.FixedWindow{Limit: 5, Per: time.Hour}
	for name, denied := range map[string]bool{"no ask": false, "a denied ask": true} {
		t.Run(name, func(t *testing.T) {
			k := kit.LedgerKey{T: t}
			require.True(t, k.Ask(bucket, kit.T0, weir.Ask{N: 3}).Allowed)
			var charges []weir.Charge
			booked := k.Ask(bucket, kit.T0, weir.Ask{N: 2, MaxWait: time.Hour, Charges: &charges})
			require.Equal(t, 2*time.Second, booked.Delay)
			if denied {
				require.False(t, k.Ask(window, kit.T0, weir.Ask{N: 1}).Allowed)
			}
			k.Ask(bucket, kit.T0, weir.Ask{N: -2, GrantedAt: kit.T0, Charges: &charges})
			require.Zero(t, k.Remaining(bucket, kit.T0))
			k.Ask(bucket, kit.T0, weir.Ask{N: -1})
			assert.Equal(t, 1, k.Remaining(bucket, kit.T0))
		})
	}
}

// The same of a queue in a composed policy, whose slots go ahead at once and count for longer.
func TestR14_ADeniedAskBeforeAGrantOfAQueueIsUndone(t *testing.T) {
	queue := weir.LeakyBucket{Limit: 10, Per: time.Hour}
	for _, policy := range []weir.Policy{
		weir.All(queue, weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true}),
		weir.Tiers(weir.TokenBucket{Limit: 3, Per: time.Minute}, queue),
	} {
		k := kit.LedgerKey{T: t}
		fresh := k.Remaining(policy, kit.T0)
		var charges []weir.Charge
		require.True(t, k.Ask(policy, kit.T0, weir.Ask{N: 4, Charges: &charges}).Allowed)
		require.False(t, k.Ask(weir.SlidingWindow{Limit: 100, Per: time.Hour}, kit.T0, weir.Ask{N: 101}).Allowed)
		k.Ask(policy, kit.T0, weir.Ask{N: -4, GrantedAt: kit.T0, Charges: &charges})
		assert.Equal(t, fresh, k.Remaining(policy, kit.T0), "%v", policy)
		assert.True(t, k.Ask(policy, kit.T0, weir.Ask{N: 4}).Allowed, "%v", policy)
	}
}

// R16: the estimate of a SlidingWindow is rounded down. It counts nothing of an event that it would
// count in part if there were others beside it. The event is given back all the same.
func TestR16_ACancelOfAnEventThatCountsBesideOthersOnly(t *testing.T) {
	for name, others := range map[string]weir.Policy{
		"other number": weir.SlidingWindow{Limit: 200, Per: 24},
		"component":    weir.All(weir.SlidingWindow{Limit: 200, Per: 24}, weir.FixedWindow{Limit: 1000, Per: time.Hour}),
	} {
		k, policy := kit.LedgerKey{T: t}, weir.SlidingWindow{Limit: 100, Per: 24}
		const start = int64(24_000)
		var charges []weir.Charge
		require.True(t, k.Ask(policy, start, weir.Ask{N: 1, Charges: &charges}).Allowed)
		require.True(t, k.Ask(others, start, weir.Ask{N: 1}).Allowed)
		now := start + 25
		require.Equal(t, 99, k.Remaining(policy, now), name)
		k.Ask(policy, now, weir.Ask{N: -1, GrantedAt: start, Charges: &charges})
		assert.Equal(t, 100, k.Remaining(policy, now), name)
	}
}

// R13: of tiers that grant more than an int holds, the next policy is charged all that they granted.
func TestR13_TiersThatGrantMoreThanAnInt(t *testing.T) {
	k := kit.LedgerKey{T: t}
	windows := weir.Tiers(weir.FixedWindow{Limit: math.MaxInt, Per: time.Hour}, weir.FixedWindow{Limit: math.MaxInt, Per: 2 * time.Hour})
	logs := weir.Tiers(weir.SlidingLog{Limit: math.MaxInt, Per: time.Hour}, weir.SlidingLog{Limit: math.MaxInt, Per: 2 * time.Hour})
	for range 2 {
		require.True(t, k.Ask(windows, kit.T0, weir.Ask{N: math.MaxInt}).Allowed)
	}
	assert.False(t, k.Ask(logs, kit.T0, weir.Ask{N: math.MaxInt}).Allowed)
}
