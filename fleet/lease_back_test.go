package fleet_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// windows are those of leasedPolicies to which events are given back.
var windows = leasedPolicies[1:6]

// Events that nobody uses are given back soon. Then there is no timer any more.
func TestLease_IdleIsGivenBack(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		keys, timer := l.lease.Watched()
		assert.True(t, keys == 0 && !timer)
		granted := l.busy(t)
		keys, timer = l.lease.Watched()
		assert.True(t, keys == 1 && timer)
		assert.Less(t, l.look(t).Remaining, 1000-granted)
		time.Sleep(4 * time.Second)
		assert.Equal(t, 1000-granted, l.look(t).Remaining)
		keys, timer = l.lease.Watched()
		assert.True(t, keys == 0 && !timer)
		assert.True(t, l.Allow("k"), "and it goes on")
	})
}

// They come back before MaxAge is over, also if the lease was to last for long: while there is
// plenty in a window, or while a full bucket earns again what is held of it.
func TestLease_IdleIsGivenBackWithinMaxAge(t *testing.T) {
	all := weir.All(weir.TokenBucket{Limit: 100_000, Per: time.Second}, weir.FixedWindow{Limit: 100_000, Per: time.Hour})
	kit.EachInBubble(t, append([]weir.Policy{all}, windows...), func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := 0
		for range 500 {
			if l.Allow("k") {
				granted++
			}
			time.Sleep(200 * time.Microsecond)
		}
		granted += l.busy(t)
		time.Sleep(time.Second)
		parts := l.parts(t)
		window := parts[len(parts)-1]
		assert.Equal(t, window.Limit-granted, window.Remaining)
	})
}

// A bucket earns again what is held of it, whether the process lives or not.
func TestLease_BucketsEarnAgainWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(leasedPolicies[0], new(weir.MemStore), fleet.LeaseOptions{})
		for range 2000 {
			l.Allow("k")
			time.Sleep(100 * time.Microsecond)
		}
		l.busy(t)
		for range 1000 {
			look, held := l.look(t), l.lease.Held(l.plan, "k")
			require.LessOrEqual(t, look.Remaining+held, 1000)
			time.Sleep(10 * time.Millisecond)
		}
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		assert.Equal(t, 1000, l.look(t).Remaining)
		keys, timer := l.lease.Watched()
		assert.True(t, keys == 0 && !timer)
	})
}

// Of All, each part gets back what may be given back to it.
func TestLease_PartsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket, quota := weir.TokenBucket{Limit: 1000, Per: 10 * time.Second}, weir.FixedWindow{Limit: 5000, Per: time.Hour}
		l := newLeased(weir.All(bucket, quota), new(weir.MemStore), fleet.LeaseOptions{})
		granted := 0
		for range 2000 { // so that the bucket earns nothing again for a while
			if l.Allow("k") {
				granted++
			}
			time.Sleep(100 * time.Microsecond)
		}
		for range 100 {
			granted += l.busy(t)
			time.Sleep(20 * time.Second)
		}
		parts := l.parts(t)
		assert.Equal(t, 1000, parts[0].Remaining)
		assert.Equal(t, 5000-granted, parts[1].Remaining)
	})
}

// No event is held longer than MaxAge, also of a key that is asked for all the time.
func TestLease_MaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(windows[0], new(weir.MemStore), fleet.LeaseOptions{MaxAge: 40 * time.Millisecond})
		granted := 0
		for range 200 {
			if l.Allow("k") {
				granted++
			}
			time.Sleep(time.Millisecond)
		}
		asked := l.behind.asked.Load()
		for range 200 {
			if l.Allow("k") {
				granted++
			}
			time.Sleep(15 * time.Millisecond)
		}
		time.Sleep(time.Second)
		assert.Equal(t, 1000-granted, l.look(t).Remaining)
		assert.Less(t, l.behind.asked.Load()-asked, int64(2*200))
	})
}

func TestLease_Release(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := l.busy(t)
		require.NoError(t, l.lease.Release(context.Background()))
		assert.Equal(t, 1000-granted, l.look(t).Remaining)
		keys, timer := l.lease.Watched()
		assert.True(t, keys == 0 && !timer)
		asked := l.behind.asked.Load()
		for i := range 100 {
			require.True(t, l.Allow("k"))
			require.Equal(t, asked+int64(i)+1, l.behind.asked.Load(), "all goes to the store")
		}
		require.NoError(t, l.lease.Release(context.Background()))
		assert.Equal(t, 900-granted, l.look(t).Remaining)
	})
}

// Release waits for what is under way, but no longer than its context.
func TestLease_ReleaseOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, slow := new(weir.MemStore), time.Duration(0)
		l := newLeased(windows[0], kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			time.Sleep(slow)
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{})
		l.busy(t)
		slow = 300 * time.Millisecond
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, l.lease.Release(ctx), context.DeadlineExceeded)
		start := time.Now()
		require.NoError(t, l.lease.Release(context.Background()))
		assert.Equal(t, 200*time.Millisecond, time.Since(start))
		assert.Zero(t, l.lease.Held(l.plan, "k"))
	})
}

// Many keys do not crowd the store: each give-back has its time.
func TestLease_ReleaseOfManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 1000
		store, connections, takes := new(weir.MemStore), make(chan struct{}, 4), time.Duration(0)
		l := newLeased(windows[0], kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			select {
			case connections <- struct{}{}:
				defer func() { <-connections }()
			case <-ctx.Done():
				return weir.Answer{}, ctx.Err()
			}
			time.Sleep(takes)
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{MaxAge: time.Minute, Report: func(err error) { t.Error(err) }})
		for range 30 {
			for i := range keys {
				require.True(t, l.Allow(kit.KeyName(i)))
			}
			time.Sleep(time.Millisecond)
		}
		takes = 10 * time.Millisecond
		require.NoError(t, l.lease.Release(context.Background()))
		takes = 0
		for i := range keys {
			require.Equal(t, 970, kit.Take(t, l.KeyedLimiter, kit.KeyName(i), 0).Remaining)
		}
	})
}

// Events that cannot be given back are reported, and stay charged.
func TestLease_ReportsGiveBacksThatFail(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var away atomic.Bool
			reports := make(chan error, 10)
			store := new(weir.MemStore)
			l := newLeased(windows[0], kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				switch {
				case away.Load() && panics:
					panic("oh")
				case away.Load():
					return weir.Answer{}, kit.ErrStore
				}
				return store.Do(ctx, r)
			}), fleet.LeaseOptions{Report: func(err error) { reports <- err }})
			l.busy(t)
			away.Store(true)
			time.Sleep(3 * time.Second)
			require.Len(t, reports, 1)
			assert.Equal(t, panics, !errors.Is(<-reports, kit.ErrStore))
			away.Store(false)
			assert.True(t, l.Allow("k"))
		})
	}
}

// A reset drops the events that are held, and those that were counted before.
func TestLease_Reset(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		l.busy(t)
		require.NoError(t, l.Reset(context.Background(), "k"))
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		assert.Equal(t, 1000, l.look(t).Remaining)
		require.NoError(t, l.lease.Release(context.Background()))
		assert.Equal(t, 1000, l.look(t).Remaining, "nothing was given back that was forgotten")
	})
}

// Events that callers give back, settle and cancel go to the store. A denial from memory ends then.
func TestLease_Returns(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		ctx := context.Background()
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := l.busy(t)
		reservation, err := l.Reserve(ctx, "k", 100)
		require.NoError(t, err)
		require.True(t, reservation.Allowed && reservation.Delay() == 0)
		require.NoError(t, reservation.Settle(ctx, 70))
		require.NoError(t, l.Return(ctx, "k", 1))
		require.NoError(t, l.Wait(ctx, "k", 3))
		assert.InDelta(t, 1000-granted-72, kit.Take(t, l.KeyedLimiter, "k", 0).Remaining, 2)

		for l.Allow("k") {
		}
		require.NoError(t, l.Return(ctx, "k", 50))
		n := 0
		for l.Allow("k") {
			n++
		}
		assert.InDelta(t, 50, n, 2)
		require.NoError(t, l.lease.Release(ctx))
	})
}

// Of a long window, no more is taken than is used within MaxAge.
func TestLease_OfALongWindowGivesNothingBackInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backs := 0
		store := new(weir.MemStore)
		l := newLeased(weir.FixedWindow{Limit: 1e6, Per: time.Hour}, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N < 0 {
				backs++
			}
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{})
		for range 5000 {
			require.True(t, l.Allow("k"))
			time.Sleep(time.Millisecond)
		}
		assert.Zero(t, backs)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}
