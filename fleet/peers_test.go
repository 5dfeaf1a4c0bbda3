package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// P13: elsewhere a local cache in front of Redis grants on its own and never reports: 5050 of 100,
// where 50 processes have one. Here it only denies on its own, and 50 of them grant exactly 100.
func TestP13_ACacheNeverGrants(t *testing.T) {
	const processes = 50
	shared := &counting{Store: new(weir.MemStore)}
	var granted atomic.Int64
	var all sync.WaitGroup
	for range processes {
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 100, Per: 24 * time.Hour},
			weir.WithStore(fleet.DenyCache(shared, fleet.DenyCacheOptions{}))))
		all.Go(func() {
			for range 200 {
				if l.Allow("k") {
					granted.Add(1)
				}
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 100, granted.Load())
	assert.LessOrEqual(t, shared.asked.Load(), int64(100+processes), "each process is denied once by the shared store")
}

// P22: elsewhere an outage of the store adds 10 s to every request. Here it adds the budget to
// those that were under way, and to one request per cool-down.
func TestP22_AnOutageDelaysFewRequestsByTheBudget(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.hang()
		var delayed, requests atomic.Int64
		for range 3000 { // for half a minute, a hundred a second
			go func() {
				requests.Add(1)
				d, r := taking(t, l)
				assert.True(t, r.Degraded)
				assert.LessOrEqual(t, d, 100*time.Millisecond)
				if d > 0 {
					delayed.Add(1)
				}
			}()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		assert.EqualValues(t, 3000, requests.Load())
		assert.LessOrEqual(t, delayed.Load(), int64(10+30))
		assert.LessOrEqual(t, len(n.all), 31)
	})
}

// P22: elsewhere one mutex is held across the calls of the store, which so has one at a time: 511
// requests a second in all. Here a store that takes 50 ms serves 500 callers of a key in 50 ms.
func TestP22_NoLockIsHeldAcrossACall(t *testing.T) {
	for name, wrap := range map[string]func(weir.Store) weir.Store{
		"FailOpen":  func(s weir.Store) weir.Store { return fleet.FailOpen(s, fleet.FailOpenOptions{}) },
		"Fallback":  func(s weir.Store) weir.Store { return fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{}) },
		"DenyCache": func(s weir.Store) weir.Store { return fleet.DenyCache(s, fleet.DenyCacheOptions{MaxKeys: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := new(shared)
				slow.takes.Store(int64(50 * time.Millisecond))
				l := weir.Must(weir.New(weir.SlidingLog{Limit: 100, Per: time.Hour}, weir.WithStore(wrap(slow))))
				began := time.Now()
				var granted atomic.Int64
				var all sync.WaitGroup
				for range 500 {
					all.Go(func() {
						if l.Allow("k") {
							granted.Add(1)
						}
					})
				}
				all.Wait()
				assert.Equal(t, 50*time.Millisecond, time.Since(began))
				assert.EqualValues(t, 100, granted.Load())
				assert.EqualValues(t, 500, slow.most.Load())
			})
		})
	}
}

// P22: elsewhere a loop that reconnects outlives Close. Here nothing is left under way when the
// calls have returned, or a test in a bubble would not end; and there is nothing to close.
func TestP22_NothingIsLeftUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := new(shared)
		first.fail(fmt.Errorf("no route to host"))
		store := fleet.DenyCache(fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{}), fleet.DenyCacheOptions{})
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second}, weir.WithStore(store)))
		for i := range 100 {
			if i == 50 {
				first.work()
			}
			_, err := l.Take(context.Background(), "k", 1)
			assert.NoError(t, err)
			time.Sleep(50 * time.Millisecond)
		}
	})
}
