package peers

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

const (
	year        = 365 * 24 * time.Hour
	fiveBillion = min(5_000_000_000, math.MaxInt) // more than one a nanosecond, where an int holds it
)

// These tests are faults that other rate limiters have or had; P is the number of the fault.

// Alternating between two instants ten seconds apart minted tokens at each step forward.
func TestP1_LateTimestampsMintNothing(t *testing.T) {
	k := kit.NewKey(t, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10})
	granted := 0
	for i := range int64(2000) {
		if k.Take(kit.T0+i%2*10*int64(time.Second), 1).Allowed {
			granted++
		}
	}
	assert.Equal(t, 1+10, granted, "one at t0, and a full bucket at t0+10s")

	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		k, granted := kit.NewKey(t, p), 0
		for i := range int64(2000) {
			granted += k.Fill(kit.T0 + i%2*10*int64(time.Second))
		}
		assert.LessOrEqual(t, granted, 2*kit.NewKey(t, p).Fill(kit.T0), "the allowances of two instants")
	})
}

// n times the time of an event overflowed 63 bits, and so was in the past.
func TestP2_LargeAsksDoNotOverflow(t *testing.T) {
	const n = 2_562_056 // hours, which are more nanoseconds than fit
	k := kit.NewKey(t, weir.TokenBucket{Limit: 1, Per: time.Hour})
	assert.Equal(t, weir.Never, k.Take(kit.T0, n).RetryAfter)

	k = kit.NewKey(t, weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: n})
	assert.True(t, k.Take(kit.T0, n).Allowed)
	assert.False(t, k.Take(kit.T0, 1).Allowed)
	assert.False(t, k.Take(kit.T0+100*int64(time.Hour), n).Allowed)
	assert.Equal(t, 100, k.Look(kit.T0+100*int64(time.Hour)).Remaining)
}

// The count times the window overflowed, and the day before weighed nothing.
func TestP2_LargeCountsDoNotOverflow(t *testing.T) {
	const limit, day = 200_000, 24 * time.Hour
	start := kit.T0 - kit.T0%int64(day)
	k := kit.NewKey(t, weir.SlidingWindow{Limit: limit, Per: day})
	require.True(t, k.Take(start, limit).Allowed)

	hourIntoNext := start + int64(day+time.Hour)
	assert.False(t, k.Take(hourIntoNext, limit).Allowed)
	assert.Equal(t, limit-limit*23/24, k.Look(hourIntoNext).Remaining)
}

// Taking -n gave n events, unasked for.
func TestP3_NegativeAsksMintNothing(t *testing.T) {
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		ctx, clock := context.Background(), &kit.HandClock{Time: time.Unix(0, kit.T0)}
		l := weir.Must(weir.New(p, weir.WithClock(clock)))
		look, err := l.Take(ctx, "key", 0)
		for err == nil && look.Remaining > 0 {
			_, err = l.Take(ctx, "key", look.Remaining)
			require.NoError(t, err)
			look, err = l.Take(ctx, "key", 0)
		}
		require.NoError(t, err)

		for _, n := range []int{-1, -1_000_000, math.MinInt} {
			r, err := l.Take(ctx, "key", n)
			assert.Error(t, err)
			assert.False(t, r.Allowed)
			assert.Error(t, l.Wait(ctx, "key", n))
			assert.False(t, l.Allow("key"))
		}
	})
}

// The time of an event was rounded to whole nanoseconds, or milliseconds: 600,000,000 a second
// became 1e9, 130 became 100, and above 1000 there was nothing.
func TestP4_NoIntervalIsRounded(t *testing.T) {
	for _, limit := range []int{6, 9, 130, 1500, 5000, 600_000_000, fiveBillion} {
		k := kit.NewKey(t, weir.TokenBucket{Limit: limit, Per: time.Second})
		k.Fill(kit.T0)
		granted := int64(0)
		for ms := int64(1); ms <= 10_000; ms++ {
			granted += int64(k.Fill(kit.T0 + ms*int64(time.Millisecond)))
		}
		assert.Equal(t, 10*int64(limit), granted, "in ten seconds")
	}

	queue := kit.NewKey(t, weir.LeakyBucket{Limit: 130, Per: time.Second})
	for range 130 {
		queue.Ask(kit.T0, weir.Ask{N: 1, MaxWait: time.Minute})
	}
	assert.Equal(t, time.Second, queue.Ask(kit.T0, weir.Ask{N: 1, MaxWait: time.Minute}).Delay)
}

// A key that had been idle for some minutes was dropped, whatever it owed: 60 an hour passed at 10
// an hour.
func TestP6_IdleKeysKeepTheirCount(t *testing.T) {
	for _, p := range append(kit.AllPolicies(10, time.Hour), kit.MorePolicies(10, time.Hour)...) {
		t.Run(fmt.Sprintf("%#v", p), func(t *testing.T) {
			clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
			l := weir.Must(weir.New(p, weir.WithClock(clock), weir.WithStore(&weir.MemStore{MaxKeys: 200})))
			alone := kit.NewKey(t, p)
			for minute := range runs.Long(180, 8) {
				clock.Time = time.Unix(0, kit.T0).Add(time.Duration(minute) * time.Minute)
				want := alone.Take(clock.UnixNano(), 1)
				got, err := l.Take(context.Background(), "key", 1)
				require.NoError(t, err)
				require.Equal(t, want, got, "in minute %d", minute)
				for junk := range 300 { // more keys than there is room for
					l.Allow("junk" + strconv.Itoa(minute) + " " + strconv.Itoa(junk))
				}
			}
		})
	}
}

// The same with a debt: events that were booked ahead.
func TestP6_IdleKeysKeepTheirDebt(t *testing.T) {
	clock, front := &kit.HandClock{Time: time.Unix(0, kit.T0)}, &kit.FrontStore{}
	front.MaxKeys = 200
	p := weir.TokenBucket{Limit: 10, Per: time.Hour}
	l := weir.Must(weir.New(p, weir.WithClock(clock), weir.WithStore(front)))
	alone := kit.NewKey(t, p)
	for range 5 {
		front.Instead = weir.Ask{N: 10, MaxWait: year}
		_, err := l.Take(context.Background(), "key", 0)
		require.NoError(t, err)
		alone.Ask(kit.T0, front.Instead)
	}
	front.Instead = weir.Ask{}
	granted := 0
	for minute := range 6 * 60 {
		clock.Time = time.Unix(0, kit.T0).Add(time.Duration(minute) * time.Minute)
		got, err := l.Take(context.Background(), "key", 1)
		require.NoError(t, err)
		require.Equal(t, alone.Take(clock.UnixNano(), 1), got, "in minute %d", minute)
		if got.Allowed {
			granted++
		}
		for junk := range 300 {
			l.Allow("junk" + strconv.Itoa(minute) + " " + strconv.Itoa(junk))
		}
	}
	assert.Equal(t, 19, granted, "four hours pay the debt, then it is one each six minutes")
}
