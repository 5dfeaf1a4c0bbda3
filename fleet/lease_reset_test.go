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
