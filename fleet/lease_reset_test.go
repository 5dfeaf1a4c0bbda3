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
)

// If the store fails, it may have forgotten the key, and what was held must not be given back. The
// loss is reported.
func TestLease_ResetThatFails(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		var reports []error
		shared := new(weir.MemStore)
		l := newLeased(p, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.Forget {
				return weir.Answer{}, kit.ErrStore
			}
			return shared.Do(ctx, r)
		}), fleet.LeaseOptions{Report: func(err error) { reports = append(reports, err) }})
		l.busy(t)
		require.ErrorIs(t, l.Reset(context.Background(), "k"), kit.ErrStore)
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		assert.Equal(t, []error{kit.ErrStore}, reports)
		require.ErrorIs(t, l.Reset(context.Background(), "k"), kit.ErrStore)
		assert.Len(t, reports, 1, "nothing was held")
	})
}

// A Reset that ends before it asks the store drops nothing.
func TestLease_ResetThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, takes := new(weir.MemStore), new(atomic.Int64)
		l := newLeased(windows[0], kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			time.Sleep(time.Duration(takes.Load()))
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{Report: func(err error) { t.Error(err) }})
		granted := l.busy(t)
		takes.Store(int64(900 * time.Millisecond))
		for l.lease.Held(l.plan, "k") > 0 {
			time.Sleep(time.Millisecond) // until a give-back is under way
		}
		synctest.Wait()
		takes.Store(0)
		granted += l.busy(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		held := l.lease.Held(l.plan, "k")
		require.ErrorIs(t, l.Reset(ctx, "k"), context.DeadlineExceeded)
		assert.Equal(t, held, l.lease.Held(l.plan, "k"))
		time.Sleep(2 * time.Second)
		assert.Equal(t, 1000-granted, l.look(t).Remaining)
	})
}

// A give-back that begins while a Reset waits for another may hold it up until its context ends.
// What the Reset has dropped by then is given back, because the store was not asked.
func TestLease_ResetThatWaitsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := context.Background(), new(weir.MemStore)
		var resets, reports atomic.Int64
		small, large := weir.FixedWindow{Limit: 1000, Per: time.Hour}, weir.FixedWindow{Limit: 2000, Per: time.Hour}
		var plan atomic.Pointer[weir.Plan]
		l := newLeased(small, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			switch {
			case r.N < 0: // of the other plan, perhaps
				time.Sleep(985 * time.Millisecond)
			case r.N == 0:
				plan.Store(r.Plan)
			}
			if r.Forget {
				resets.Add(1)
			}
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{Report: func(error) { reports.Add(1) }})
		lease := func(p weir.Policy) {
			require.NoError(t, l.SetPolicy(ctx, p))
			kit.Take(t, l.KeyedLimiter, "k", 0)
			l.plan = plan.Load()
			l.busy(t)
		}
		kit.Take(t, l.KeyedLimiter, "k", 1)
		lease(large)
		for l.lease.Held(l.plan, "k") > 0 { // until its give-back is under way
			time.Sleep(time.Millisecond)
		}
		lease(small) // given back while the Reset waits
		lease(large)

		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		failed := make(chan error, 1)
		go func() { failed <- l.Reset(soon, "k") }()
		for i := range 1100 {
			if i < 960 && i%40 == 39 {
				l.lease.TakeQuickly(l.plan, "k", 1) // so that the large one is not given back
			}
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		require.ErrorIs(t, <-failed, context.DeadlineExceeded)
		assert.Zero(t, resets.Load())
		assert.Zero(t, reports.Load())
		time.Sleep(5 * time.Second)
		require.NoError(t, l.lease.Release(ctx))
	})
}
