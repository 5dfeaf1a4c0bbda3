package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

// Requests for which there is no lease are answered as without Lease.
func TestLease_PassesOn(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Brief(t, runs.Server)
		return fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{MaxAge: 1, Report: func(err error) { t.Error(err) }})
	}, storetest.RoundTrips())
}

// A leased is a LeaseStore in front of a store, and a limiter on it.
type leased struct {
	*weir.KeyedLimiter
	lease  *fleet.LeaseStore
	behind *counting
	plan   *weir.Plan
}

// newLeased makes one for a testing/synctest bubble.
func newLeased(p weir.Policy, behind weir.Store, opts fleet.LeaseOptions) *leased {
	l := &leased{behind: &counting{Store: behind}}
	l.lease = fleet.Lease(l.behind, opts)
	spy := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if l.plan == nil {
			l.plan = r.Plan
		}
		return l.lease.Do(ctx, r)
	})
	l.KeyedLimiter = weir.Must(weir.New(p, weir.WithStore(quickly{l.lease, spy})))
	_, _ = l.Take(context.Background(), "", 0)
	l.behind.asked.Store(0)
	return l
}

// quickly is a spy in front of a LeaseStore.
type quickly struct {
	weir.QuickStore
	spy weir.Store
}

func (q quickly) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return q.spy.Do(ctx, r)
}

// busy asks for single events, one each millisecond, until some are held. It returns how many were
// granted.
func (l *leased) busy(t *testing.T) (granted int) {
	t.Helper()
	for range 1000 {
		if l.Allow("k") {
			granted++
		}
		if l.lease.Held(l.plan, "k") > 0 {
			return granted
		}
		time.Sleep(time.Millisecond)
	}
	require.Fail(t, "nothing is held")
	return 0
}

// look returns what the store has, without the events that are held.
func (l *leased) look(t *testing.T) weir.Result {
	t.Helper()
	a, err := l.behind.Store.Do(context.Background(), weir.Request{Plan: l.plan, Key: "k"})
	require.NoError(t, err)
	return a.Result
}

// parts returns the same for each component. A policy that is not composed has itself as its only
// one.
func (l *leased) parts(t *testing.T) (parts []weir.Result) {
	t.Helper()
	whole, err := l.TakeByComponent(context.Background(), "k", 0, &parts)
	require.NoError(t, err)
	if len(parts) == 0 {
		parts = append(parts, whole)
	}
	return parts
}

var leasedPolicies = []weir.Policy{
	weir.TokenBucket{Limit: 1000, Per: 10 * time.Second},
	weir.FixedWindow{Limit: 1000, Per: 10 * time.Second},
	weir.FixedWindow{Limit: 1000, Per: 10 * time.Second, FromFirst: true},
	weir.CalendarWindow{Limit: 1000, Unit: weir.Hour},
	weir.SlidingWindow{Limit: 1000, Per: 10 * time.Second},
	weir.SlidingWindow{Limit: 1000, Per: 100 * time.Second, Buckets: 10},
	weir.All(weir.TokenBucket{Limit: 1000, Per: 10 * time.Second}, weir.FixedWindow{Limit: 5000, Per: time.Hour}),
}

// A busy key is decided from memory, and what is decided there was counted before.
func TestLease_BusyKeys(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := l.busy(t)
		held, asked := l.lease.Held(l.plan, "k"), l.behind.asked.Load()
		require.Positive(t, held)
		r := kit.Take(t, l.KeyedLimiter, "k", held)
		assert.Equal(t, asked, l.behind.asked.Load())
		assert.True(t, r.Allowed && r.Limit == 1000 && !r.Degraded && r.RetryAfter == 0, "%+v", r)
		assert.GreaterOrEqual(t, 1000-l.look(t).Remaining, granted, "before it was used")
		assert.InDelta(t, l.look(t).Remaining, r.Remaining, 20)
		assert.InDelta(t, l.look(t).ResetAfter, r.ResetAfter, float64(50*time.Millisecond))
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// A policy whose events must not wait, a small limit, and a key that is asked rarely are decided by
// the store alone.
func TestLease_WhatIsNotLeased(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.LeakyBucket{Limit: 1000, Per: time.Second},
		weir.SlidingLog{Limit: 1000, Per: time.Second},
		weir.Tiers(weir.FixedWindow{Limit: 1000, Per: time.Second}, weir.FixedWindow{Limit: 1000, Per: time.Second}),
		weir.All(weir.SlidingLog{Limit: 1000, Per: time.Second}, weir.TokenBucket{Limit: 1000, Per: time.Second}),
		weir.TokenBucket{Limit: 99, Per: time.Second},
		weir.TokenBucket{Limit: 1000, Per: time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
			for i := range int64(2000) {
				l.Allow("k")
				require.Equal(t, i+1, l.behind.asked.Load(), "%v", p)
			}
			assert.Zero(t, l.lease.Keys())
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(leasedPolicies[0], new(weir.MemStore), fleet.LeaseOptions{})
		for i := range int64(2000) {
			require.True(t, l.Allow("k"))
			time.Sleep(3 * time.Second)
			require.Equal(t, i+1, l.behind.asked.Load())
		}
	})
}

// Requests for several events take what is held, and the rest from the store, all or none.
func TestLease_SeveralEvents(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := l.busy(t)
		all := kit.Take(t, l.KeyedLimiter, "k", 0).Remaining
		assert.InDelta(t, 1000-granted, all, 5)
		r := kit.Take(t, l.KeyedLimiter, "k", 1001)
		assert.Equal(t, weir.Never, r.RetryAfter)
		r = kit.Take(t, l.KeyedLimiter, "k", all-3)
		assert.True(t, r.Allowed)
		r = kit.Take(t, l.KeyedLimiter, "k", 10)
		assert.False(t, r.Allowed)
		assert.Positive(t, r.RetryAfter)
		require.NoError(t, l.lease.Release(context.Background()))
		assert.LessOrEqual(t, kit.Take(t, l.KeyedLimiter, "k", 0).Remaining, 5)
	})
}

// TakeUpTo takes what is held, and the rest from the store.
func TestLease_TakeUpTo(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		l.busy(t)
		held, asked := l.lease.Held(l.plan, "k"), l.behind.asked.Load()
		n, r, err := l.TakeUpTo(context.Background(), "k", held)
		require.NoError(t, err)
		assert.True(t, n == held && r.Allowed)
		assert.Equal(t, asked, l.behind.asked.Load())

		time.Sleep(100 * time.Millisecond)
		l.busy(t)
		all := kit.Take(t, l.KeyedLimiter, "k", 0).Remaining
		n, r, err = l.TakeUpTo(context.Background(), "k", 5000)
		require.NoError(t, err)
		assert.Equal(t, all, n)
		assert.True(t, r.Allowed && r.RetryAfter == 0)
		n, r, err = l.TakeUpTo(context.Background(), "k", 5000)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.True(t, !r.Allowed && r.RetryAfter > 0)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// TakeUpTo takes what is held when the store has answered. It must not be used any more then if the
// window is over, or if a bucket has earned it again.
func TestLease_TakeUpToOfASlowStore(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		store, takes := new(weir.MemStore), new(atomic.Int64)
		l := newLeased(p, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := store.Do(ctx, r)
			time.Sleep(time.Duration(takes.Load()))
			return a, err
		}), fleet.LeaseOptions{MaxAge: 10 * time.Hour})
		l.busy(t)
		held := l.lease.Held(l.plan, "k")
		takes.Store(int64(kit.Take(t, l.KeyedLimiter, "k", 0).ResetAfter))
		n, _, err := l.TakeUpTo(context.Background(), "k", held+10)
		require.NoError(t, err)
		assert.Equal(t, 10, n, "%d were held", held)
		takes.Store(0)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// A used-up key is denied from memory. A caller that waits as long as the denial says is granted,
// as soon as there are events again.
func TestLease_Denials(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies[:3], func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		denied := 0
		for range 20_000 {
			if !l.Allow("k") {
				denied++
			}
			time.Sleep(100 * time.Microsecond)
		}
		assert.Greater(t, denied, 15_000)
		assert.Less(t, l.behind.asked.Load(), int64(1000))
		r := kit.Take(t, l.KeyedLimiter, "k", 1)
		for range 100 {
			if r.Allowed {
				break
			}
			require.True(t, r.RetryAfter > 0 && r.Remaining == 0, "%+v", r)
			time.Sleep(r.RetryAfter)
			r = kit.Take(t, l.KeyedLimiter, "k", 1)
		}
		assert.True(t, r.Allowed)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// A clock that runs slower than that of the store by 0.1 % ends a lease no later than the window
// does.
func TestLease_SlowClocks(t *testing.T) {
	const before = time.Microsecond
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(before)
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 1000, Per: time.Hour},
		weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true},
		weir.CalendarWindow{Limit: 1000, Unit: weir.Hour},
		weir.SlidingWindow{Limit: 1000, Per: time.Hour},
	} {
		server, node := kit.HandClock{Time: start}, kit.HandClock{Time: start}
		ofServer, ofNode, store := planOf(p, weir.WithClock(&server)), planOf(p, weir.WithClock(&node)), new(weir.MemStore)
		lease := fleet.Lease(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			r.Plan = ofServer
			a, err := store.Do(ctx, r)
			a.ServerTime = true
			return a, err
		}), fleet.LeaseOptions{MaxAge: 3 * time.Hour})
		for range 50 {
			_, err := lease.Do(context.Background(), weir.Request{Plan: ofNode, Key: "k", Ask: weir.Ask{N: 1}})
			require.NoError(t, err)
		}
		require.Positive(t, lease.Held(ofNode, "k"))
		node.Time = start.Add((time.Hour - before) * 999 / 1000)
		if w, ok := p.(weir.FixedWindow); ok && w.FromFirst {
			node.Time = start.Add(time.Hour * 999 / 1000)
		}
		assert.Zero(t, lease.Held(ofNode, "k"), p)
	}
}
