package weir_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// t0 is an instant of our days, on a full hour.
const t0 = 1_789_999_200 * int64(time.Second)

// allPolicies are the five policies with one limit, in all their forms.
func allPolicies(limit int, per time.Duration) []weir.Policy {
	return []weir.Policy{
		weir.TokenBucket{Limit: limit, Per: per},
		weir.LeakyBucket{Limit: limit, Per: per},
		weir.FixedWindow{Limit: limit, Per: per},
		weir.FixedWindow{Limit: limit, Per: per, FromFirst: true},
		weir.SlidingWindow{Limit: limit, Per: per},
		weir.SlidingWindow{Limit: limit, Per: per, Buckets: 5},
		weir.SlidingLog{Limit: limit, Per: per},
	}
}

// shorter is all of something, or a part of it with -short, as for the race detector: more of the same
// would find no other race.
func shorter[T any](all, part T) T {
	if testing.Short() {
		return part
	}
	return all
}

// eachPolicy runs a test of every policy, once with events of whole nanoseconds and once with fractions.
func eachPolicy(t *testing.T, test func(t *testing.T, p weir.Policy)) {
	for _, p := range append(allPolicies(10, 10*time.Second), allPolicies(7, time.Second)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) { test(t, p) })
	}
}

// morePolicies are those that count by the calendar, are composed of others, or mark. So that they can stand in the
// tables of the others, each grants limit events at one instant, in whatever parts.
func morePolicies(limit int, per time.Duration) []weir.Policy {
	unit := weir.Minute
	if per >= time.Hour {
		unit = weir.Hour
	}
	bucket, log := weir.TokenBucket{Limit: limit, Per: per}, weir.SlidingLog{Limit: limit, Per: per}
	half, rest := bucket, weir.SlidingLog{Limit: limit / 2, Per: per}
	half.Burst = limit - rest.Limit
	return []weir.Policy{
		weir.CalendarWindow{Limit: limit, Unit: unit},
		weir.CalendarWindow{Limit: limit, Unit: unit, Location: "Australia/Lord_Howe"},
		weir.All(bucket, weir.FixedWindow{Limit: 2 * limit, Per: 2 * per}, log),
		weir.All(weir.CalendarWindow{Limit: limit, Unit: unit}, bucket),
		weir.Tiers(half, rest),
		weir.SingleRateMarker{Committed: half, Excess: rest.Limit},
		weir.TwoRateMarker{Committed: half, Peak: bucket},
	}
}

// eachKind is eachPolicy, with morePolicies.
func eachKind(t *testing.T, test func(t *testing.T, p weir.Policy)) {
	eachPolicy(t, test)
	for _, p := range append(morePolicies(10, 10*time.Second), morePolicies(7, time.Second)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) { test(t, p) })
	}
}

// A pureKey is a policy as a pure function: one key's state, asked at instants.
type pureKey struct {
	weir.Decider
	state []uint64
}

func newKey(t *testing.T, p weir.Policy) *pureKey {
	d, err := p.Decider()
	require.NoError(t, err)
	return &pureKey{d, make([]uint64, d.Words())}
}

func (k *pureKey) ask(now int64, ask weir.Ask) weir.Answer {
	var a weir.Answer
	k.state, a = k.Decide(k.state, now, ask)
	return a
}

func (k *pureKey) take(now int64, n int) weir.Result { return k.ask(now, weir.Ask{N: n}).Result }
func (k *pureKey) look(now int64) weir.Result        { return k.take(now, 0) }

// fill takes all that there is, of one part after the other if each has its own, and tells how much that was.
func (k *pureKey) fill(now int64) int {
	sum := 0
	for n := k.look(now).Remaining; n > 0; n = k.look(now).Remaining {
		if !k.take(now, n).Allowed {
			return -1
		}
		sum += n
	}
	return sum
}

// copy is a key of its own in the same state.
func (k *pureKey) copy() *pureKey { return &pureKey{k.Decider, slices.Clone(k.state)} }

func TestR1_AllOrNothing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		require.True(t, k.take(t0, 4).Allowed)
		before := k.look(t0)
		require.False(t, k.take(t0, before.Limit-3).Allowed, "one more than there is")
		require.Equal(t, before, k.look(t0), "no part of them was counted")
		require.Equal(t, before.Remaining, k.fill(t0))
	})
}

func TestR2_ADenialConsumesAndExtendsNothing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		limit := k.fill(t0)
		due := int64(k.take(t0, 1).RetryAfter)
		full := slices.Clone(k.state)
		for i := range int64(1000) {
			now := t0 + due*i/1000
			require.False(t, k.take(now, 1).Allowed)
			require.False(t, k.take(now, limit).Allowed)
			require.Equal(t, weir.Never, k.take(now, limit+1).RetryAfter)
		}
		require.Equal(t, full, k.state)
		require.True(t, k.take(t0+due, 1).Allowed)
	})
}

func TestR3_ALookCountsNothing(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		fresh := slices.Clone(k.state)
		look := k.look(t0)
		assert.Equal(t, weir.Result{Allowed: true, Limit: look.Limit, Remaining: look.Limit}, look)
		assert.Equal(t, fresh, k.state)

		k.fill(t0)
		full := slices.Clone(k.state)
		look = k.look(t0)
		assert.True(t, look.Allowed)
		assert.Zero(t, look.RetryAfter)
		assert.Equal(t, full, k.state)
	})
}

func TestR3_BelowZeroIsAnError(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		ctx, clock := context.Background(), &handClock{time.Unix(0, t0)}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		before, err := l.Take(ctx, "key", 4)
		require.NoError(t, err)
		for _, n := range []int{-1, -4, math.MinInt} {
			r, err := l.Take(ctx, "key", n)
			assert.ErrorContains(t, err, fmt.Sprint(n))
			assert.Zero(t, r)
			assert.ErrorContains(t, l.Wait(ctx, "key", n), fmt.Sprint(n))
		}
		after, err := l.Take(ctx, "key", 0)
		require.NoError(t, err)
		assert.Equal(t, before, after)
	})
}

func TestR3_WhatNeverFits(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		require.True(t, k.take(t0, 4).Allowed)
		state, want := slices.Clone(k.state), k.look(t0)
		want.Allowed, want.RetryAfter = false, weir.Never
		for _, n := range []int{want.Limit + 1, math.MaxInt} {
			assert.Equal(t, want, k.take(t0, n))
		}
		assert.False(t, k.take(math.MaxInt64, want.Limit+1).Allowed)
		assert.Equal(t, state, k.state)
	})
}

func TestR4_RetryAfterIsTight(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		limit := k.fill(t0)
		for n := 1; n <= limit; n++ {
			due := t0 + int64(k.take(t0, n).RetryAfter)
			require.Greater(t, due, t0)

			early := k.take(due-1, n)
			assert.False(t, early.Allowed)
			assert.Equal(t, time.Duration(1), early.RetryAfter)

			granted := k.copy().take(due, n)
			assert.True(t, granted.Allowed)
			assert.Zero(t, granted.RetryAfter)
		}
	})
}

func TestR5_RemainingIsWhatPasses(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := newKey(t, p)
		for now := t0; now < t0+20*int64(time.Second); now += 123_456_789 {
			left := k.take(now, 1).Remaining
			assert.True(t, k.copy().take(now, left).Allowed)
			assert.False(t, k.copy().take(now, left+1).Allowed)
		}
	})
}

func TestR6_AfterTheResetAKeyIsAsNew(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p weir.Policy) {
		k, fresh := newKey(t, p), newKey(t, p)
		require.True(t, k.take(t0, 4).Allowed)
		reset := t0 + int64(k.look(t0).ResetAfter)
		assert.Equal(t, reset, k.Expiry(k.state))
		assert.NotEqual(t, fresh.look(reset-1), k.look(reset-1))
		for _, n := range []int{0, 1, 4, fresh.look(t0).Limit, math.MaxInt} {
			assert.Equal(t, fresh.copy().take(reset, n), k.copy().take(reset, n))
		}
	})
}

func TestR6_LongTimesSaturate(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	tokens := newKey(t, weir.TokenBucket{Limit: 1, Per: longest, Burst: 3})
	require.Equal(t, 3, tokens.fill(t0))
	assert.Equal(t, longest, tokens.look(t0).ResetAfter)

	queue := newKey(t, weir.LeakyBucket{Limit: 1, Per: longest, Capacity: 3})
	require.Equal(t, 3, queue.fill(t0))
	assert.Equal(t, longest, queue.look(t0).ResetAfter)

	estimate := newKey(t, weir.SlidingWindow{Limit: 3, Per: longest})
	require.Equal(t, 3, estimate.fill(t0))
	assert.Equal(t, longest, estimate.look(t0).ResetAfter)
}
