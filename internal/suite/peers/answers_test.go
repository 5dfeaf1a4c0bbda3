package peers

import (
	"context"
	"math"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// While a bucket was below zero its refill knew no upper end: 499 events at once at 5 per 10 ms.
func TestP11_RefillEndsAtTheBurst(t *testing.T) {
	k := kit.NewKey(t, weir.TokenBucket{Limit: 5, Per: 10 * time.Millisecond})
	k.Fill(kit.T0)
	for range 10 {
		require.True(t, k.Ask(kit.T0, weir.Ask{N: 5, MaxWait: time.Second}).Allowed)
	}
	assert.Equal(t, 0, k.Look(kit.T0+int64(100*time.Millisecond)).Remaining)
	assert.Equal(t, 5, k.Fill(kit.T0+int64(time.Second)))

	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		for _, debt := range []weir.Ask{{MaxWait: year}, {Mode: weir.Regardless}} {
			k := kit.NewKey(t, p)
			limit := k.Fill(kit.T0)
			debt.N = limit
			for range 10 {
				k.Ask(kit.T0, debt)
			}
			assert.Equal(t, limit, k.Fill(kit.T0+int64(year)))
			assert.Zero(t, k.Fill(kit.T0+int64(year)))
		}
	})
}

// More than one event a nanosecond divided by an interval of zero.
func TestP17_MoreThanOneANanosecond(t *testing.T) {
	for _, p := range kit.AllPolicies(2_000_000_000, time.Second) {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		assert.True(t, l.Allow("key"))
		r, err := l.Take(context.Background(), "key", 1_999_999_999)
		require.NoError(t, err)
		if _, queue := p.(weir.LeakyBucket); queue {
			assert.Equal(t, weir.Result{Limit: 2_000_000_000, RetryAfter: 1, ResetAfter: 1}, r)
		} else {
			assert.True(t, r.Allowed)
			assert.False(t, l.Allow("key"))
		}
	}
}

// A rate of zero made a loop without end.
func TestP17_ARateOfZeroIsRefused(t *testing.T) {
	for _, p := range append(kit.AllPolicies(0, time.Second), kit.AllPolicies(1, 0)...) {
		_, err := weir.New(p)
		assert.Error(t, err, "%#v", p)
	}
}

// A limiter that was never made denies, and says why.
func TestP17_ANilLimiterDenies(t *testing.T) {
	for _, l := range []*weir.KeyedLimiter{nil, {}} {
		assert.NotPanics(t, func() {
			assert.False(t, l.Allow("key"))
			r, err := l.Take(context.Background(), "key", 1)
			assert.ErrorContains(t, err, "weir: ")
			assert.Zero(t, r)
			assert.ErrorContains(t, l.Wait(context.Background(), "key", 1), "weir: ")
		})
	}
}

// Today's epoch in seconds as a float has no room for the fractions of 6, 9 or 5000 a second.
func TestP18_TodayIsNotTooLate(t *testing.T) {
	for _, limit := range []int{6, 9, 5000} {
		k, now := kit.NewKey(t, weir.TokenBucket{Limit: limit, Per: time.Second, Burst: 1}), kit.T0+123_456_789
		for range 3 * limit {
			require.True(t, k.Take(now, 1).Allowed, "%d a second", limit)
			denied := k.Take(now, 1)
			require.Equal(t, (time.Second+time.Duration(limit)-1)/time.Duration(limit), denied.RetryAfter)
			now += int64(denied.RetryAfter)
		}
	}
}

// Remaining was -7, after the limit had been lowered or more been given back than taken.
func TestP25_RemainingIsNeverNegative(t *testing.T) {
	eachFlap(t, func(t *testing.T, f *flap) {
		for i := range runs.Long(100, 30) {
			if r := f.take(i, 7); r.Remaining < 0 || r.Remaining > r.Limit {
				require.Fail(t, "Remaining is not from 0 to Limit", "step %d: %+v", i, r)
			}
		}
	})
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		limit := k.Fill(kit.T0)
		for _, back := range []int{-1, -limit, -limit - 7, math.MinInt} {
			r := k.Take(kit.T0, back)
			assert.GreaterOrEqual(t, r.Remaining, 0)
			assert.LessOrEqual(t, r.Remaining, limit)
		}
	})
}

// The reset of a sliding window was told as the end of a fixed one.
func TestP25_AWindowThatSlidesResetsWhenItHasSlid(t *testing.T) {
	const s = time.Second
	start := kit.T0 - kit.T0%int64(10*s)
	for _, test := range []struct {
		policy weir.Policy
		reset  time.Duration // after 10 events 4 s into the window
	}{
		{weir.FixedWindow{Limit: 10, Per: 10 * s}, 6 * s},
		{weir.FixedWindow{Limit: 10, Per: 10 * s, FromFirst: true}, 10 * s},
		{weir.SlidingWindow{Limit: 10, Per: 10 * s}, 6*s + 9*s + 1},
		{weir.SlidingWindow{Limit: 10, Per: 10 * s, Buckets: 5}, 10*s + 2*s*9/10 + 1},
		{weir.SlidingLog{Limit: 10, Per: 10 * s}, 10 * s},
		{weir.TokenBucket{Limit: 10, Per: 10 * s}, 10 * s},
		{weir.LeakyBucket{Limit: 10, Per: 10 * s}, 10 * s},
		{weir.CalendarWindow{Limit: 10, Unit: weir.Minute}, 56 * s},
		{weir.CalendarWindow{Limit: 10, Unit: weir.Hour, Location: "Asia/Kolkata"}, 30*60*s - 4*s}, // five hours and a half ahead
		{weir.All(weir.FixedWindow{Limit: 10, Per: 10 * s}, weir.SlidingLog{Limit: 10, Per: 8 * s}), 8 * s},
		{weir.All(weir.SlidingWindow{Limit: 10, Per: 10 * s}, weir.SlidingLog{Limit: 10, Per: 8 * s}), 6*s + 9*s + 1},
		{weir.Tiers(weir.TokenBucket{Limit: 4, Per: 10 * s}, weir.CalendarWindow{Limit: 6, Unit: weir.Minute}), 56 * s},
		{weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 4, Per: 10 * s}, Excess: 6}, 25 * s},
		{weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: 10 * s}, Peak: weir.TokenBucket{Limit: 10, Per: 10 * s}}, 10 * s},
	} {
		k, now := kit.NewKey(t, test.policy), start+int64(4*s)
		require.Equal(t, 10, k.Fill(now))
		assert.Equal(t, test.reset, k.Look(now).ResetAfter, "%#v", test.policy)
		assert.NotZero(t, k.Look(now+int64(test.reset)-1).ResetAfter)
		assert.Zero(t, k.Look(now+int64(test.reset)).ResetAfter)
	}
}

// Once, a request for more than ever fits was told to come back later, in vain.
func TestP25_WhatNeverFitsIsToldSo(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		l := weir.Must(weir.New(p))
		r, err := l.Take(context.Background(), "key", 11)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
		assert.Equal(t, weir.Never, r.RetryAfter)
		assert.Equal(t, r.Limit, r.Remaining)
		assert.ErrorIs(t, l.Wait(context.Background(), "key", 11), weir.ErrNeverFits)
	})
}
