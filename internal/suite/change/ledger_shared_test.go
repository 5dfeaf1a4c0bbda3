package change_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R16: a plain bucket and a smaller one in a composed policy share what they have counted. What the
// plain one grants at once is given back, although the smaller one would have to book it ahead.
func TestR16_ACancelInALargerBucketBesideASmallerOne(t *testing.T) {
	large := weir.TokenBucket{Limit: 10, Per: time.Minute, Burst: 20}
	small := weir.All(weir.TokenBucket{Limit: 10, Per: time.Minute, Burst: 5})
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(small, kit.T0, weir.Ask{N: 3}).Allowed)
	var charges []weir.Charge
	require.True(t, k.Ask(large, kit.T0, weir.Ask{N: 8, Charges: &charges}).Allowed)
	now := kit.T0 + int64(6*time.Second) // one token is earned
	k.Ask(large, now, weir.Ask{N: -8, GrantedAt: kit.T0, Charges: &charges})
	assert.Equal(t, 18, k.Remaining(large, now))
}

// R13: one event of a queue uses all of it, and so all of the policies that are asked next. A
// smaller queue in a composed policy that has counted in it before changes nothing.
func TestR13_AQueueIsUsedUpByItsOwnNumbers(t *testing.T) {
	queue := weir.LeakyBucket{Limit: 30, Per: 36 * time.Second}
	smaller := weir.All(weir.SlidingWindow{Limit: 7, Per: time.Minute}, weir.LeakyBucket{Limit: 30, Per: 36 * time.Second, Capacity: 10})
	tokens := weir.TokenBucket{Limit: 12, Per: 24 * time.Second}
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(smaller, kit.T0, weir.Ask{N: 1}).Allowed)
	now := kit.T0 + int64(2*time.Second)
	require.True(t, k.Ask(queue, now, weir.Ask{N: 4}).Allowed)
	assert.Zero(t, k.Remaining(tokens, now))
}

// R16: a Cancel that frees nothing, because its events count no more, leaves later events to be
// given back.
func TestR16_ACancelOfEventsThatAreGoneFreesNoOthers(t *testing.T) {
	log := weir.SlidingLog{Limit: 7, Per: 10}
	both := weir.All(weir.SlidingWindow{Limit: 1000, Per: 100}, log)
	k := kit.LedgerKey{T: t}
	var gone, later []weir.Charge
	require.True(t, k.Ask(both, 50, weir.Ask{N: 1, Charges: &gone}).Allowed)
	require.True(t, k.Ask(log, 105, weir.Ask{N: 5}).Allowed)
	require.True(t, k.Ask(both, 105, weir.Ask{N: 2, Charges: &later}).Allowed)
	k.Ask(both, 105, weir.Ask{N: -1, GrantedAt: 50, Charges: &gone})
	k.Ask(both, 106, weir.Ask{N: -2, GrantedAt: 105, Charges: &later})
	assert.Equal(t, 2, k.Remaining(log, 106))
}

// R16: a tier that does not pay has not counted. Its numbers say nothing of bookings in the bucket
// that it shares.
func TestR16_ACancelBesideATierThatDidNotPay(t *testing.T) {
	large := weir.TokenBucket{Limit: 3, Per: 12, Burst: 20}
	small := weir.TokenBucket{Limit: 3, Per: 12, Burst: 2}
	for _, tiers := range []weir.Policy{
		weir.Tiers(weir.FixedWindow{Limit: 100, Per: time.Hour}, small),
		weir.Tiers(weir.Tiers(weir.SlidingLog{Limit: 100, Per: time.Hour}), small),
	} {
		k := kit.LedgerKey{T: t}
		require.True(t, k.Ask(large, kit.T0, weir.Ask{N: 11}).Allowed)
		require.True(t, k.Ask(tiers, kit.T0, weir.Ask{N: 10}).Allowed)
		var charges []weir.Charge
		require.True(t, k.Ask(large, kit.T0, weir.Ask{N: 5, Charges: &charges}).Allowed, "%v", tiers)
		left := k.Remaining(large, kit.T0)
		k.Ask(large, kit.T0, weir.Ask{N: -5, GrantedAt: kit.T0, Charges: &charges})
		assert.Equal(t, left+5, k.Remaining(large, kit.T0), "%v", tiers)
	}
}

// R16: a grant is cancelled when its policy has been forgotten and has granted again since. That
// frees nothing, and takes nothing away from the later grant, which is still cancelled exactly.
func TestR16_CancelOfAGrantFromBefore(t *testing.T) {
	ctx := context.Background()
	of := weir.All(weir.SlidingWindow{Limit: 100, Per: time.Second}, weir.FixedWindow{Limit: 1, Per: 1, FromFirst: true})
	store, clock := new(weir.MemStore), &kit.HandClock{Time: time.Unix(0, kit.T0)}
	limiter := func(p weir.Policy) *weir.KeyedLimiter {
		return weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(clock), weir.WithName("n")))
	}
	l, other := limiter(of), limiter(weir.TokenBucket{Limit: 10, Per: time.Second})
	reserve := func(l *weir.KeyedLimiter) *weir.Reservation {
		r := kit.Reserve(t, l, 1)
		require.True(t, r.Allowed)
		return r
	}
	before := reserve(l)
	clock.Time = clock.Add(1500 * time.Millisecond)
	between, after := reserve(other), reserve(l)
	clock.Time = clock.Add(1)
	for _, r := range []*weir.Reservation{before, between, after} {
		require.NoError(t, r.Cancel(ctx))
	}
	look := kit.Take(t, l, "k", 0)
	assert.Equal(t, 1, look.Remaining)
	assert.Zero(t, look.ResetAfter)
}
