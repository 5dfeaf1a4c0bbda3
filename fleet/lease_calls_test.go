package fleet_test

import (
	"context"
	"sync"
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
)

// A slowStore takes its time, and may fail.
type slowStore struct {
	weir.MemStore
	takes    time.Duration
	err      error
	panics   bool
	degraded bool
	inFlight atomic.Int64
	most     atomic.Int64 // in flight at a time
}

func (s *slowStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	n := s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	s.most.Store(max(s.most.Load(), n))
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return weir.Answer{}, ctx.Err()
	}
	if s.panics {
		panic("oh")
	}
	if s.err != nil {
		return weir.Answer{}, s.err
	}
	a, err := s.MemStore.Do(ctx, r)
	a.Degraded = s.degraded
	return a, err
}

// slow is a limiter of a busy key on a store that takes a while.
func slow(t *testing.T) (*leased, *slowStore) {
	store := new(slowStore)
	l := newLeased(windows[0], store, fleet.LeaseOptions{})
	l.busy(t)
	for l.lease.Held(l.plan, "k") > 0 {
		require.True(t, l.Allow("k"))
	}
	store.takes = 10 * time.Millisecond
	store.most.Store(0)
	return l, store
}

// Callers that come while the store is asked wait, and share what the next call brings.
func TestLease_OneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		asked, start := l.behind.asked.Load(), time.Now()
		var all sync.WaitGroup
		var granted atomic.Int64
		for range 300 {
			all.Go(func() {
				if l.Allow("k") {
					granted.Add(1)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 300, granted.Load())
		assert.EqualValues(t, 1, store.most.Load())
		assert.LessOrEqual(t, l.behind.asked.Load()-asked, int64(3))
		assert.LessOrEqual(t, time.Since(start), 30*time.Millisecond)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// If the store fails, all who wait for it get the error. A call for which nobody waits any more is
// called off, and those who have come since ask again.
func TestLease_CallsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		store.err = kit.ErrStore
		asked := l.behind.asked.Load()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_, err := l.Take(context.Background(), "k", 1)
				assert.ErrorIs(t, err, kit.ErrStore)
			})
		}
		all.Wait()
		assert.Equal(t, asked+1, l.behind.asked.Load())

		store.err = nil
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		all.Go(func() {
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		for i := range 50 {
			all.Go(func() {
				asking := ctx
				if i%2 == 0 {
					asking = context.Background()
				}
				_, err := l.Take(asking, "k", 1)
				assert.Equal(t, i%2 == 0, err == nil)
			})
		}
		all.Wait()
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// A store that panics leaves nobody waiting.
func TestLease_StoreThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		store.panics = true
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				_, err := l.Take(context.Background(), "k", 1)
				assert.ErrorContains(t, err, "panicked")
			})
		}
		all.Wait()
		store.panics = false
		assert.True(t, l.Allow("k"))
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// Events that were granted without the shared store are used, but not given back to it. Nothing is
// taken ahead of need.
func TestLease_Degraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		store.degraded = true
		r := kit.Take(t, l.KeyedLimiter, "k", 1)
		assert.True(t, r.Allowed && r.Degraded)
		for l.lease.Held(l.plan, "k") > 0 {
			r := kit.Take(t, l.KeyedLimiter, "k", 1)
			require.True(t, r.Allowed && r.Degraded)
		}
		time.Sleep(3 * time.Second)
		keys, timer := l.lease.Watched()
		assert.True(t, keys == 0 && !timer)
		asked := l.behind.asked.Load()
		for i := range int64(100) {
			require.True(t, kit.Take(t, l.KeyedLimiter, "k", 1).Degraded)
			require.Equal(t, asked+i+1, l.behind.asked.Load())
		}
		store.degraded = false
		l.busy(t)
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// If all places are taken by keys that are leased, other keys go to the store. Keys that are not
// leased make room.
func TestLease_MaxKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(windows[0], new(weir.MemStore), fleet.LeaseOptions{MaxKeys: 3})
		for i := range 100 {
			l.Allow(kit.KeyName(i))
		}
		assert.Equal(t, 3, l.lease.Keys())
		l.busy(t)
		for i := range 1000 {
			l.Allow(kit.KeyName(i))
		}
		assert.Equal(t, 3, l.lease.Keys())
		assert.Positive(t, l.lease.Held(l.plan, "k"), "it keeps its lease")
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// R10: many goroutines in several processes use up a limit, while others give back, and nothing is
// granted twice or lost.
func TestR10_Lease(t *testing.T) {
	const limit = 20_000
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: limit, Per: 24 * time.Hour * 365 * 100},
		weir.SlidingWindow{Limit: limit, Per: 24 * time.Hour * 365 * 100},
	} {
		store := new(weir.MemStore)
		var granted atomic.Int64
		var all sync.WaitGroup
		var leases []*fleet.LeaseStore
		for range 4 {
			lease := fleet.Lease(store, fleet.LeaseOptions{MaxAge: 20 * time.Millisecond})
			leases = append(leases, lease)
			l := weir.Must(weir.New(p, weir.WithStore(lease)))
			for g := range 4 {
				all.Go(func() {
					for i := range runs.Long(20_000, 1000) {
						switch {
						case g == 0 && i%100 == 0:
							n, _, err := l.TakeUpTo(context.Background(), "k", 5)
							assert.NoError(t, err)
							granted.Add(int64(n))
						case g == 1 && i%100 == 0:
							r, err := l.Take(context.Background(), "k", 7)
							assert.NoError(t, err)
							if r.Allowed {
								granted.Add(7)
							}
						case l.Allow("k"):
							granted.Add(1)
						}
					}
				})
			}
		}
		all.Wait()
		for _, lease := range leases {
			require.NoError(t, lease.Release(context.Background()))
		}
		left := kit.Take(t, weir.Must(weir.New(p, weir.WithStore(store))), "k", 0).Remaining
		assert.EqualValues(t, limit, granted.Load()+int64(left), "%v", p)
	}
}

// However the requests of a key come, there are no more than 1.05 calls of the store for each.
func TestLease_CallsOfKeysInBursts(t *testing.T) {
	for burst := 1; burst <= 8; burst++ {
		for _, several := range []int{1, 7} {
			kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
				decisions := runs.Long(840, 420)
				l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
				for range decisions / burst {
					for range burst {
						kit.Take(t, l.KeyedLimiter, "k", several)
					}
					time.Sleep(10 * time.Second)
				}
				assert.LessOrEqual(t, float64(l.behind.asked.Load()), 1.05*float64(decisions), "bursts of %d of %d", burst, several)
			})
		}
	}
}

// A key that is busy from its first request costs 20 calls, and then at most one in 20 decisions.
func TestLease_CallsOfANewKey(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		for n := 1; n <= 900; n++ {
			l.Allow("k")
			require.LessOrEqual(t, l.behind.asked.Load(), int64(20+3+n/20), "after %d decisions", n)
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// The events that are held must be used within a sub-window. Each sub-window may therefore cost two
// calls more than one in 20 decisions.
func TestLease_CallsOfSubWindows(t *testing.T) {
	const per = 6 * time.Second
	for _, buckets := range []int{1, 5, 20, 60} {
		for _, load := range []float64{0.5, 0.95, 1.05, 3} {
			synctest.Test(t, func(t *testing.T) {
				gap := per / 32 / 30 // a lease lasts for 30 decisions
				limit := int(float64(per/gap) / load)
				l := newLeased(weir.SlidingWindow{Limit: limit, Per: per, Buckets: buckets}, new(weir.MemStore), fleet.LeaseOptions{})
				decisions := 0
				for begin := time.Now(); time.Since(begin) < 4*per; decisions++ {
					l.Allow("k")
					time.Sleep(gap)
				}
				most := decisions/20 + 2*4*buckets + 20 // and the first decisions on a key
				assert.LessOrEqual(t, int(l.behind.asked.Load()), most, "%d sub-windows, %v times the limit", buckets, load)
			})
		}
	}
}
