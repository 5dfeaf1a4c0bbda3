package fleet_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/storetest"
)

// Two LeaseStores in front of one store, as in two processes.
func TestLease_Bounds(t *testing.T) {
	on := func(shared *weir.MemStore) weir.Store {
		return leasing{fleet.Lease(shared, fleet.LeaseOptions{}), shared}
	}
	storetest.Run(t,
		func(*testing.T) weir.Store { return on(new(weir.MemStore)) },
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store { return on(s.(leasing).shared) }),
		storetest.Bounds(5*time.Second),
		storetest.Bubble())
}

// leasing is a store, and what is behind it.
type leasing struct {
	*fleet.LeaseStore
	shared *weir.MemStore
}

// The requests of several callers do not add up to a number below zero. The store would take that
// for a give-back.
func TestR9_LeasesOfLargeLimits(t *testing.T) {
	for _, limit := range []int{math.MaxInt, math.MaxInt / 2} {
		kit.EachInBubble(t, []weir.Policy{
			weir.FixedWindow{Limit: limit, Per: time.Hour},
			weir.TokenBucket{Limit: limit, Per: time.Hour},
		}, func(t *testing.T, p weir.Policy) {
			store := &slowStore{takes: time.Millisecond}
			l := newLeased(p, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				assert.GreaterOrEqual(t, r.N, 0)
				return store.Do(ctx, r)
			}), fleet.LeaseOptions{MaxAge: time.Hour})
			for range 100 {
				require.True(t, l.Allow("k"))
			}
			var all sync.WaitGroup
			for riders := 1; riders <= 8; riders++ {
				for _, n := range []int{limit / 2, limit / 3, limit / 5} {
					for range riders {
						all.Go(func() {
							r := kit.Take(t, l.KeyedLimiter, "k", n)
							assert.True(t, r.Remaining >= 0 && r.Remaining <= limit, "Take(%d): %+v", n, r)
						})
					}
					all.Wait()
					require.NoError(t, l.Reset(context.Background(), "k"))
					for range 100 {
						require.True(t, l.Allow("k"))
					}
				}
			}
		})
	}
}

// Nobody fills the memory with long keys.
func TestLease_LongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(windows[0], new(weir.MemStore), fleet.LeaseOptions{})
		for range 100 {
			require.True(t, l.Allow(strings.Repeat("k", 1001)))
		}
		assert.Equal(t, int64(100), l.behind.asked.Load())
		assert.Zero(t, l.lease.Keys())
	})
}

// Of All, requests for several events that come one after another find as many as of its bucket
// alone: between two of them, the lease is not given back.
func TestLease_PartsOfAllAreKeptBetweenRequests(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 200, Per: 500 * time.Millisecond}
	granted := func(p weir.Policy) (n int) {
		l := weir.Must(weir.New(p, weir.WithStore(fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{}))))
		r := rand.New(rand.NewPCG(1, 1))
		for begin := time.Now(); time.Since(begin) < 10*time.Second; {
			time.Sleep(time.Duration(r.ExpFloat64() * float64(25*time.Millisecond)))
			if events := 1 + r.IntN(20); kit.Take(t, l, "k", events).Allowed {
				n += events
			}
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		assert.InEpsilon(t, granted(bucket), granted(weir.All(bucket, weir.FixedWindow{Limit: 10_000, Per: time.Hour})), 0.01)
	})
}
