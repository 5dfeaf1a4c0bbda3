package weir_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// shadowed is a shadow of a limit of 2 an hour, and the refusals that it reported.
func shadowed(opts ...weir.Option) (*weir.Shadowed, *[]weir.Refusal) {
	var told []weir.Refusal
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 2, Per: time.Hour}, append([]weir.Option{weir.WithClock(clock.NewMock())}, opts...)...))
	return weir.Shadow(l, func(r weir.Refusal) { told = append(told, r) }), &told
}

func TestShadow_RefusesNothingAndTellsWhatItWouldHave(t *testing.T) {
	s, told := shadowed()
	for range 3 {
		assert.True(t, s.Allow("a"))
	}
	denied := weir.Result{Limit: 2, RetryAfter: time.Hour / 2, ResetAfter: time.Hour}
	for range 2 {
		r := kit.Take(t, s, "a", 1)
		assert.Equal(t, weir.Result{Allowed: true, Limit: 2, ResetAfter: time.Hour}, r)
	}
	assert.NoError(t, s.Wait(background, "a", 1), "and does not wait")
	assert.NoError(t, s.Wait(background, "b", 2))
	assert.True(t, kit.Take(t, s, "b", 0).Allowed)
	assert.True(t, kit.Take(t, s, "c", 5).Allowed)

	tooMany := weir.Result{Limit: 2, Remaining: 2, RetryAfter: weir.Never}
	assert.Equal(t, []weir.Refusal{
		{Key: "a", N: 1},
		{Key: "a", N: 1, Result: denied},
		{Key: "a", N: 1, Result: denied},
		{Key: "a", N: 1, Result: denied},
		{Key: "c", N: 5, Result: tooMany},
	}, *told)
}

func TestShadow_Enforced(t *testing.T) { synctest.Test(t, testShadowEnforced) }

func testShadowEnforced(t *testing.T) {
	var told []weir.Refusal
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 2, Per: time.Hour}))
	s := weir.Shadow(l, func(r weir.Refusal) { told = append(told, r) })
	require.NoError(t, s.Enforce(1))
	assert.True(t, kit.Take(t, s, "a", 2).Allowed)
	assert.False(t, s.Allow("a"))
	r := kit.Take(t, s, "a", 1)
	assert.Equal(t, time.Hour/2, r.RetryAfter)
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	late := s.Wait(ctx, "a", 1)
	assert.ErrorIs(t, late, weir.ErrTooLate)
	assert.Equal(t, []weir.Refusal{
		{Key: "a", N: 1, Enforced: true},
		{Key: "a", N: 1, Result: r, Enforced: true},
		{Key: "a", N: 1, Err: late, Enforced: true},
	}, told)
}

// The results of the components are the limiter's. Without such a method there are none.
func TestShadow_TakeByComponent(t *testing.T) {
	hour, day := weir.TokenBucket{Limit: 2, Per: time.Hour}, weir.TokenBucket{Limit: 9, Per: 24 * time.Hour}
	var told []weir.Refusal
	l := weir.Must(weir.New(weir.All(hour, day), weir.WithClock(clock.NewMock())))
	s := weir.Shadow(l, func(r weir.Refusal) { told = append(told, r) })
	var parts []weir.Result
	_, err := s.TakeByComponent(background, "a", 2, &parts)
	require.NoError(t, err)
	assert.Empty(t, told)
	r, err := s.TakeByComponent(background, "a", 1, &parts)
	require.NoError(t, err)
	assert.Equal(t, weir.Result{Allowed: true, Limit: 2, ResetAfter: parts[1].ResetAfter, MoreAfter: time.Hour / 2}, r)
	require.Len(t, parts, 2)
	assert.False(t, parts[0].Allowed)
	assert.Equal(t, 7, parts[1].Remaining)
	require.Len(t, told, 1)
	assert.Equal(t, time.Hour/2, told[0].Result.RetryAfter)

	require.NoError(t, s.Enforce(1))
	r, err = s.TakeByComponent(background, "a", 1, nil)
	require.NoError(t, err)
	assert.False(t, r.Allowed)

	r, err = weir.Shadow(struct{ weir.Limiter }{l}, nil).TakeByComponent(background, "a", 0, &parts)
	require.NoError(t, err)
	assert.True(t, r.Allowed)
	assert.Empty(t, parts)
}

func TestShadow_WhenThereIsNoDecision(t *testing.T) {
	broken := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, kit.ErrStore })
	s, told := shadowed(weir.WithStore(broken))
	assert.True(t, s.Allow("a"))
	assert.Equal(t, weir.Result{Allowed: true}, kit.Take(t, s, "a", 1))
	assert.NoError(t, s.Wait(background, "a", 1))
	require.Len(t, *told, 3)
	assert.ErrorIs(t, (*told)[1].Err, kit.ErrStore)

	require.NoError(t, s.Enforce(1))
	assert.False(t, s.Allow("a"))
	_, err := s.Take(background, "a", 1)
	assert.ErrorIs(t, err, kit.ErrStore)

	// An error that is the caller's own fault is not reported as a refusal.
	require.NoError(t, s.Enforce(0))
	*told = nil
	ended, cancel := context.WithCancel(background)
	cancel()
	_, err = s.Take(ended, "a", 1)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = s.Take(background, "a", -1)
	assert.Error(t, err)
	assert.Error(t, s.Wait(background, "a", -1))
	assert.Empty(t, *told)
}

// The share of the keys is what was asked for, grows by keys that join, and is the same everywhere.
func TestShadow_EnforceIsStableByKey(t *testing.T) {
	keys := runs.Long(20_000, 5000)
	s, _ := shadowed()
	before := map[string]bool{}
	for _, share := range []float64{0, 0.001, 0.1, 0.5, 0.9, 1} {
		require.NoError(t, s.Enforce(share))
		enforced := map[string]bool{}
		for i := range keys {
			k := fmt.Sprint("user ", i)
			if r, _ := s.Take(background, k, 3); !r.Allowed {
				enforced[k] = true
			}
			assert.False(t, before[k] && !enforced[k], "%s was enforced at a smaller share", k)
		}
		deviation := 4 * math.Sqrt(share*(1-share)/float64(keys))
		assert.InDelta(t, share, float64(len(enforced))/float64(keys), deviation+1e-9)
		before = enforced
	}
	require.NoError(t, s.Enforce(0.5))
	got := ""
	for _, k := range []string{"", "a", "b", "user 1", "user 2", "192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		r, _ := s.Take(background, k, 3)
		got += fmt.Sprint(!r.Allowed, " ")
	}
	assert.Equal(t, "false true true true false true false true ", got, "in every process and release")
}

func TestShadow_BadInput(t *testing.T) {
	s, _ := shadowed()
	for _, share := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		assert.EqualError(t, s.Enforce(share), fmt.Sprintf("weir: Enforce(%v), must be from 0 to 1", share))
	}
	assert.PanicsWithValue(t, "weir: Shadow(nil, ...), must be a Limiter", func() { weir.Shadow(nil, nil) })
	var none *weir.KeyedLimiter // returns errors, which would be taken for outages, and grant
	assert.PanicsWithValue(t, "weir: Shadow(a nil *weir.KeyedLimiter, ...), must be a Limiter", func() { weir.Shadow(none, nil) })
	nobody := weir.Shadow(weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour})), nil)
	assert.True(t, nobody.Allow("a"))
	assert.True(t, nobody.Allow("a"))
}

func TestShadow_AllocatesNothing(t *testing.T) {
	refused := 0
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}))
	s := weir.Shadow(l, func(weir.Refusal) { refused++ })
	assert.NoError(t, s.Enforce(0.5))
	assert.Zero(t, kit.AllocsPerRun(1000, func() {
		s.Allow("a key")
		_, _ = s.Take(background, "a key", 1)
	}))
	assert.Greater(t, refused, 1000)
}

// A key that is not enforced is granted, even if the context ends, or the share changes, while the
// limiter is asked.
func TestShadow_WhatHappensMeanwhile(t *testing.T) {
	var told []weir.Refusal
	var meanwhile func()
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(kit.StoreFunc(
		func(_ context.Context, r weir.Request) (weir.Answer, error) {
			if meanwhile != nil {
				meanwhile()
			}
			return weir.Answer{Result: weir.Result{Limit: 1, RetryAfter: time.Hour}}, nil
		}))))
	s := weir.Shadow(l, func(r weir.Refusal) { told = append(told, r) })
	ctx, cancel := context.WithCancel(background)
	meanwhile = cancel
	r, err := s.Take(ctx, "k", 1)
	assert.NoError(t, err)
	assert.True(t, r.Allowed)
	require.Len(t, told, 1, "observe is told")

	meanwhile = func() { require.NoError(t, s.Enforce(1)) }
	require.NoError(t, s.Wait(background, "k", 1))
	require.Len(t, told, 2)
	assert.False(t, told[1].Enforced, "as it was granted")
	assert.False(t, s.Allow("k"), "from now on")

	told = nil
	ctx, cancel = context.WithTimeout(background, time.Minute)
	meanwhile = cancel
	late := s.Wait(ctx, "k", 1)
	assert.ErrorIs(t, late, weir.ErrTooLate)
	assert.Equal(t, []weir.Refusal{{Key: "k", N: 1, Err: late, Enforced: true}}, told, "the limiter refused it, and not its context")
}
