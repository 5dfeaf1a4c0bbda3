package rules

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
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestR1_AllOrNothing(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		require.True(t, k.Take(kit.T0, 4).Allowed)
		before := k.Look(kit.T0)
		require.False(t, k.Take(kit.T0, before.Limit-3).Allowed, "one more than there is")
		require.Equal(t, before, k.Look(kit.T0), "no part of them was counted")
		require.Equal(t, before.Remaining, k.Fill(kit.T0))
	})
}

func TestR2_ADenialConsumesAndExtendsNothing(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		limit := k.Fill(kit.T0)
		due := int64(k.Take(kit.T0, 1).RetryAfter)
		full := slices.Clone(k.State)
		for i := range int64(1000) {
			now := kit.T0 + due*i/1000
			require.False(t, k.Take(now, 1).Allowed)
			require.False(t, k.Take(now, limit).Allowed)
			require.Equal(t, weir.Never, k.Take(now, limit+1).RetryAfter)
		}
		require.Equal(t, full, k.State)
		require.True(t, k.Take(kit.T0+due, 1).Allowed)
	})
}

func TestR3_ALookCountsNothing(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		fresh := slices.Clone(k.State)
		look := k.Look(kit.T0)
		assert.Equal(t, weir.Result{Allowed: true, Limit: look.Limit, Remaining: look.Limit}, look)
		assert.Equal(t, fresh, k.State)

		k.Fill(kit.T0)
		full := slices.Clone(k.State)
		look = k.Look(kit.T0)
		assert.True(t, look.Allowed)
		assert.Zero(t, look.RetryAfter)
		assert.Equal(t, full, k.State)
	})
}

func TestR3_BelowZeroIsAnError(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		ctx, clock := context.Background(), &kit.HandClock{Time: time.Unix(0, kit.T0)}
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
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		require.True(t, k.Take(kit.T0, 4).Allowed)
		state, want := slices.Clone(k.State), k.Look(kit.T0)
		want.Allowed, want.RetryAfter = false, weir.Never
		for _, n := range []int{want.Limit + 1, math.MaxInt} {
			assert.Equal(t, want, k.Take(kit.T0, n))
		}
		assert.False(t, k.Take(math.MaxInt64, want.Limit+1).Allowed)
		assert.Equal(t, state, k.State)
	})
}

func TestR4_RetryAfterIsTight(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		limit := k.Fill(kit.T0)
		for n := 1; n <= limit; n++ {
			due := kit.T0 + int64(k.Take(kit.T0, n).RetryAfter)
			require.Greater(t, due, kit.T0)

			early := k.Take(due-1, n)
			assert.False(t, early.Allowed)
			assert.Equal(t, time.Duration(1), early.RetryAfter)

			granted := k.Copy().Take(due, n)
			assert.True(t, granted.Allowed)
			assert.Zero(t, granted.RetryAfter)
		}
	})
}

func TestR5_RemainingIsWhatPasses(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		for now := kit.T0; now < kit.T0+20*int64(time.Second); now += 123_456_789 {
			left := k.Take(now, 1).Remaining
			assert.True(t, k.Copy().Take(now, left).Allowed)
			assert.False(t, k.Copy().Take(now, left+1).Allowed)
		}
	})
}

// MoreAfter is the time until more remain: not a nanosecond before, and at it. That holds for a
// grant, a denial and a look, and for each component.
func TestR5_MoreRemainAfterMoreAfter(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		for i, now := 0, kit.T0; now < kit.T0+20*int64(time.Second); i, now = i+1, now+123_456_789 {
			var parts, later []weir.Result
			r := k.Ask(now, weir.Ask{N: i % 4, More: true, ByComponent: &parts}).Result
			require.Len(t, parts, len(weir.Components(p)))
			if r.Remaining == r.Limit {
				require.Zero(t, r.MoreAfter)
			} else {
				require.Positive(t, r.MoreAfter)
				require.Equal(t, r.Remaining, k.Look(now+int64(r.MoreAfter)-1).Remaining)
				require.Greater(t, k.Look(now+int64(r.MoreAfter)).Remaining, r.Remaining)
			}
			for j, part := range parts {
				at := now + int64(part.MoreAfter)
				if k.Ask(at, weir.Ask{ByComponent: &later}); part.Remaining < part.Limit {
					require.Greater(t, later[j].Remaining, part.Remaining)
					k.Ask(at-1, weir.Ask{ByComponent: &later})
				}
				require.Equal(t, part.Remaining, later[j].Remaining)
			}
		}
	})
}

func TestR6_AfterTheResetAKeyIsAsNew(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k, fresh := kit.NewKey(t, p), kit.NewKey(t, p)
		require.True(t, k.Take(kit.T0, 4).Allowed)
		reset := kit.T0 + int64(k.Look(kit.T0).ResetAfter)
		assert.Equal(t, reset, k.Expiry(k.State))
		assert.NotEqual(t, fresh.Look(reset-1), k.Look(reset-1))
		for _, n := range []int{0, 1, 4, fresh.Look(kit.T0).Limit, math.MaxInt} {
			assert.Equal(t, fresh.Copy().Take(reset, n), k.Copy().Take(reset, n))
		}
	})
}

func TestR6_LongTimesSaturate(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	tokens := kit.NewKey(t, weir.TokenBucket{Limit: 1, Per: longest, Burst: 3})
	require.Equal(t, 3, tokens.Fill(kit.T0))
	assert.Equal(t, longest, tokens.Look(kit.T0).ResetAfter)

	queue := kit.NewKey(t, weir.LeakyBucket{Limit: 1, Per: longest, Capacity: 3})
	require.Equal(t, 3, queue.Fill(kit.T0))
	assert.Equal(t, longest, queue.Look(kit.T0).ResetAfter)

	estimate := kit.NewKey(t, weir.SlidingWindow{Limit: 3, Per: longest})
	require.Equal(t, 3, estimate.Fill(kit.T0))
	assert.Equal(t, longest, estimate.Look(kit.T0).ResetAfter)
}
