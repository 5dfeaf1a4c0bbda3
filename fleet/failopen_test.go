package fleet_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

func TestFailOpen_StoreThatWorks(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Short(t, runs.Server)
		return fleet.FailOpen(new(weir.MemStore), fleet.FailOpenOptions{Report: func(err error) { t.Errorf("told of %v", err) }})
	}, storetest.RoundTrips())
}

func TestFailOpen_GrantsWhileTheStoreFails(t *testing.T) {
	for _, p := range kit.EveryPolicy {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			store := new(kit.Faulty)
			var told []error
			open := fleet.FailOpen(store, fleet.FailOpenOptions{Report: func(err error) { told = append(told, err) }})
			l := weir.Must(weir.New(p, weir.WithStore(open), weir.WithClock(new(kit.MovingClock))))
			limit := kit.Take(t, l, "k", 0).Limit

			store.Down.Store(true)
			for range 3 {
				r := kit.Take(t, l, "k", limit)
				assert.True(t, r.Allowed && r.Degraded && r.RetryAfter == 0 && r.Limit == limit, "%+v", r)
			}
			assert.True(t, l.Allow("k"))
			assert.NoError(t, l.Wait(context.Background(), "k", limit))
			assert.Equal(t, weir.Result{Allowed: true, Limit: limit, Remaining: limit, Degraded: true}, kit.Take(t, l, "k", 0))
			assert.Equal(t, []error{kit.ErrStore, kit.ErrStore, kit.ErrStore, kit.ErrStore, kit.ErrStore, kit.ErrStore}, told)

			store.Down.Store(false)
			if limit < math.MaxInt32 {
				assert.Equal(t, limit, kit.Take(t, l, "k", 0).Remaining, "nothing of it was counted")
			}
			assert.False(t, kit.Take(t, l, "k", limit).Degraded)
			assert.Len(t, told, 6)
		})
	}
}

func TestFailOpen_WhatNeverFitsIsDenied(t *testing.T) {
	store := new(kit.Faulty)
	store.Down.Store(true)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}, weir.WithStore(fleet.FailOpen(store, fleet.FailOpenOptions{}))))
	r := kit.Take(t, l, "k", 6)
	assert.Equal(t, weir.Result{Limit: 5, Remaining: 5, RetryAfter: weir.Never, Degraded: true}, r)
	assert.ErrorIs(t, l.Wait(context.Background(), "k", 6), weir.ErrNeverFits)
}

// FailOpen does not let a caller through whose key the store refuses, or whose context has ended.
func TestFailOpen_FailsClosed(t *testing.T) {
	ctx := context.Background()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	tooLong := fmt.Errorf("a key of 9 MB: %w", weir.ErrRequest)
	plan := planOf(weir.TokenBucket{Limit: 5, Per: time.Second})
	for _, test := range []struct {
		why string
		ctx context.Context
		err error
		r   weir.Request
	}{
		{"the caller has hung up", cancelled, kit.ErrStore, weir.Request{Ask: weir.Ask{N: 1}}},
		{"the caller's deadline has passed", late, kit.ErrStore, weir.Request{Ask: weir.Ask{N: 1}}},
		{"the request is at fault", ctx, tooLong, weir.Request{Ask: weir.Ask{N: 1}}},
		{"events could not be given back", ctx, kit.ErrStore, weir.Request{Ask: weir.Ask{N: -1}}},
		{"the key could not be reset", ctx, kit.ErrStore, weir.Request{Forget: true}},
	} {
		fails := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
			return weir.Answer{Result: weir.Result{Allowed: true}}, test.err
		})
		open := fleet.FailOpen(fails, fleet.FailOpenOptions{Report: func(error) { t.Errorf("%s: granted", test.why) }})
		test.r.Plan, test.r.Key = plan, "k"
		a, err := open.Do(test.ctx, test.r)
		assert.Equal(t, weir.Answer{}, a, test.why)
		assert.ErrorIs(t, err, test.err, test.why)
	}
}

// A policy of two parts, which tells the result of each.
type twofold struct{ weir.TokenBucket }

type twofoldDecider struct{ weir.Decider }

func (p twofold) Decider() (weir.Decider, error) {
	d, err := p.TokenBucket.Decider()
	return twofoldDecider{d}, err
}

func (d twofoldDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	state, a := d.Decider.Decide(state, now, ask)
	if ask.ByComponent != nil {
		*ask.ByComponent = append((*ask.ByComponent)[:0], a.Result, a.Result)
	}
	return state, a
}

func TestFailOpen_TellsThatPartsAreDegraded(t *testing.T) {
	store := new(kit.Faulty)
	store.Down.Store(true)
	var parts []weir.Result
	clock := new(kit.MovingClock)
	clock.NS.Store(12345)
	a, err := fleet.FailOpen(store, fleet.FailOpenOptions{}).Do(context.Background(), weir.Request{
		Plan: planOf(twofold{weir.TokenBucket{Limit: 5, Per: time.Second}}, weir.WithClock(clock)),
		Ask:  weir.Ask{N: 1, ByComponent: &parts},
	})
	require.NoError(t, err)
	require.Len(t, parts, 2)
	assert.True(t, parts[0].Degraded && parts[1].Degraded)
	assert.Equal(t, 4, parts[1].Remaining)
	assert.EqualValues(t, 12345, a.At)
}
