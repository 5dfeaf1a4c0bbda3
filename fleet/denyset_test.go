package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A request that may end a denial drops it from the cache, also if it comes through another limiter
// of that name.
func TestDenyCache_DropsWhatMayHaveChanged(t *testing.T) {
	p := weir.FixedWindow{Limit: 10, Per: time.Hour}
	for _, test := range []struct {
		what  string
		r     weir.Request
		drops bool
	}{
		{"a give-back", weir.Request{Key: "k", Ask: weir.Ask{N: -1}}, true},
		{"a reset", weir.Request{Key: "k", Forget: true}, true},
		{"a grant", weir.Request{Key: "k", Ask: weir.Ask{N: 1}}, true},
		{"what was charged regardless", weir.Request{Key: "k", Ask: weir.Ask{N: 1, Mode: weir.Regardless}}, true},
		{"a look", weir.Request{Key: "k"}, false},
		{"another denial", weir.Request{Key: "k", Ask: weir.Ask{N: 3}}, false},
		{"a give-back of another key", weir.Request{Key: "other", Ask: weir.Ask{N: -1}}, false},
	} {
		c := newCached(fleet.DenyCacheOptions{})
		s, same := c.plan(p, "name"), c.plan(p, "name")
		c.ask(t, s, "k", weir.Ask{N: 8})
		require.False(t, c.ask(t, s, "k", weir.Ask{N: 3}).Allowed)

		test.r.Plan = c.plan(p, "other name")
		_, err := c.Do(context.Background(), test.r)
		require.NoError(t, err)
		assert.Zero(t, c.asked(func() { c.ask(t, s, "k", weir.Ask{N: 3}) }), "%s, of another name", test.what)

		test.r.Plan = same
		_, err = c.Do(context.Background(), test.r)
		require.NoError(t, err)
		want := 0
		if test.drops {
			want = 1
		}
		assert.Equal(t, want, c.asked(func() { c.ask(t, s, "k", weir.Ask{N: 3}) }), test.what)
	}
}

// A give-back that fails may have been carried out.
func TestDenyCache_DropsAfterAGiveBackThatFailed(t *testing.T) {
	store := new(kit.Faulty)
	c := fleet.DenyCache(store, fleet.DenyCacheOptions{})
	s := planOf(weir.FixedWindow{Limit: 1, Per: 24 * time.Hour})
	do := func(n int) (weir.Answer, error) {
		return c.Do(context.Background(), weir.Request{Plan: s, Key: "k", Ask: weir.Ask{N: n}})
	}
	_, _ = do(1)
	_, _ = do(1)
	store.Down.Store(true)
	a, err := do(1)
	require.NoError(t, err, "a denial that is remembered outlasts an outage")
	require.False(t, a.Allowed)
	_, err = do(-1)
	require.ErrorIs(t, err, kit.ErrStore)
	_, err = do(1)
	require.ErrorIs(t, err, kit.ErrStore)
}

// A denial that is on its way while events are given back is older than that, and is not
// remembered.
func TestDenyCache_DenialOvertakenByAGiveBack(t *testing.T) {
	for _, change := range []weir.Request{{Ask: weir.Ask{N: -1}}, {Forget: true}} {
		mem, held := new(weir.MemStore), make(chan chan struct{}, 1)
		c := fleet.DenyCache(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := mem.Do(ctx, r)
			if !a.Allowed && !r.Forget {
				reply := make(chan struct{})
				held <- reply
				<-reply
			}
			return a, err
		}), fleet.DenyCacheOptions{})
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(c)))
		require.True(t, l.Allow("k"))
		denied := make(chan bool)
		go func() { denied <- !l.Allow("k") }()
		reply := <-held
		change.Plan, change.Key = planOf(weir.FixedWindow{Limit: 1, Per: 24 * time.Hour}), "k"
		_, err := c.Do(context.Background(), change)
		require.NoError(t, err)
		close(reply)
		require.True(t, <-denied)
		require.True(t, l.Allow("k"), "what was given back is there")
	}
}

func TestDenyCache_OtherPolicies(t *testing.T) {
	c := newCached(fleet.DenyCacheOptions{})
	small, large := weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.SlidingLog{Limit: 2, Per: time.Hour}
	before, after := c.limiter(small, "plan"), c.limiter(large, "plan")
	require.True(t, before.Allow("k"))
	require.False(t, before.Allow("k"))
	require.True(t, after.Allow("k"), "the larger policy is not answered for the smaller")
	require.False(t, after.Allow("k"))
	assert.Zero(t, c.asked(func() { after.Allow("k") }))

	// Limiters of the same name and policy do not drop what the others know.
	web, app := c.limiter(small, "orders"), c.limiter(small, "orders")
	web.Allow("k")
	web.Allow("k")
	app.Allow("k")
	assert.Zero(t, c.asked(func() {
		for range 10 {
			require.False(t, web.Allow("k") || app.Allow("k"))
		}
	}))
}

// A policy that cannot be compared with == is recognised, too.
func TestDenyCache_PolicyThatCannotBeCompared(t *testing.T) {
	type list struct {
		weir.FixedWindow
		why []string
	}
	c := newCached(fleet.DenyCacheOptions{})
	p := func(why string) *weir.Plan {
		return c.plan(list{weir.FixedWindow{Limit: 1, Per: time.Hour}, []string{why}}, "")
	}
	s := p("a")
	c.ask(t, s, "k", weir.Ask{N: 1})
	c.ask(t, s, "k", weir.Ask{N: 1})
	assert.Zero(t, c.asked(func() { c.ask(t, s, "k", weir.Ask{N: 1}) }))
	assert.Equal(t, 1, c.asked(func() { c.ask(t, p("b"), "k", weir.Ask{N: 1}) }))
}

// Three denials are not remembered: a Degraded one, one for ever, and one that tells no RetryAfter.
func TestDenyCache_WhatIsNotRemembered(t *testing.T) {
	for _, r := range []weir.Result{
		{Limit: 5, RetryAfter: time.Hour, Degraded: true},
		{Limit: 5, RetryAfter: weir.Never},
		{Limit: 5},
	} {
		asked := 0
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}, weir.WithStore(fleet.DenyCache(
			kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
				asked++
				return weir.Answer{Result: r}, nil
			}), fleet.DenyCacheOptions{}))))
		for range 3 {
			assert.Equal(t, r, kit.Take(t, l, "k", 1))
		}
		assert.Equal(t, 3, asked)
	}
}

func TestDenyCache_MaxAge(t *testing.T) {
	c := newCached(fleet.DenyCacheOptions{MaxAge: time.Second})
	l := c.limiter(weir.FixedWindow{Limit: 1, Per: time.Hour}, "")
	l.Allow("k")
	asked := c.asked(func() {
		for i := range 1000 {
			c.clock.NS.Store(int64(i) * int64(10*time.Millisecond))
			r := kit.Take(t, l, "k", 1)
			require.Equal(t, time.Hour-time.Duration(c.clock.NS.Load()), r.RetryAfter)
		}
	})
	assert.Equal(t, 10, asked)
}

// However many keys are denied, no more than MaxKeys are remembered. With room, all are.
func TestDenyCache_MaxKeys(t *testing.T) {
	for _, max := range []int{1, 2, 7, 8, 9, 100, 1000, 0} {
		c := newCached(fleet.DenyCacheOptions{MaxKeys: max})
		l := c.limiter(weir.FixedWindow{Limit: 1, Per: time.Hour}, "")
		keys := 2000
		if max == 0 {
			max, keys = 10_000, 1000
		}
		for range 2 {
			for i := range keys {
				l.Allow(kit.KeyName(i))
			}
		}
		remembered := 0
		for i := range keys { // the latest first, for each that is asked takes the place of another
			if c.asked(func() { l.Allow(kit.KeyName(keys - 1 - i)) }) == 0 {
				remembered++
			}
		}
		assert.LessOrEqual(t, remembered, max)
		assert.Greater(t, remembered, min(max, keys)/4)
	}
}

// Expired denials make room before others are given up, whatever limiter they are of.
func TestDenyCache_ExpiredMakeRoom(t *testing.T) {
	for _, next := range []string{"short", "next"} {
		c := newCached(fleet.DenyCacheOptions{MaxKeys: 8})
		short, long := c.limiter(weir.FixedWindow{Limit: 1, Per: time.Second}, "short"), c.limiter(weir.FixedWindow{Limit: 1, Per: time.Hour}, "long")
		last := short
		if next != "short" {
			last = c.limiter(weir.FixedWindow{Limit: 1, Per: time.Second}, next)
		}
		for _, l := range []*weir.KeyedLimiter{long, long, short, short} {
			for i := range 4 {
				l.Allow(kit.KeyName(i))
			}
		}
		c.clock.NS.Store(int64(time.Second))
		for range 2 {
			for i := range 4 {
				last.Allow(kit.KeyName(10 + i))
			}
		}
		assert.Zero(t, c.asked(func() {
			for i := range 4 {
				long.Allow(kit.KeyName(i))
				last.Allow(kit.KeyName(10 + i))
			}
		}), next)
	}
}
