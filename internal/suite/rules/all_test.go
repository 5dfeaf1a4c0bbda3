package rules

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R10: 16 goroutines with 2,000 takes each, at a frozen clock, get exactly what the tightest of
// five parts allows, in one step on the default store and on one that compares and sets.
func TestR10_AllOfEqualAndOtherParts(t *testing.T) {
	const limit, century = 10_000, 100 * 365 * 24 * time.Hour
	window := weir.FixedWindow{Limit: limit, Per: century}
	for name, p := range map[string]weir.Policy{
		"equal":  weir.All(window, window, window, window, window),
		"others": weir.All(weir.SlidingLog{Limit: limit + 3, Per: century}, window, weir.SlidingLog{Limit: limit + 5, Per: century}, weir.TokenBucket{Limit: limit + 1, Per: century}),
		"tiers":  weir.Tiers(weir.FixedWindow{Limit: limit / 2, Per: century}, weir.TokenBucket{Limit: limit / 2, Per: century}),
		"nested": weir.Tiers(weir.All(weir.FixedWindow{Limit: limit / 2, Per: century}, window), weir.TokenBucket{Limit: limit / 2, Per: century}),
	} {
		for store, s := range map[string]weir.Store{"MemStore": new(weir.MemStore), "compare and set": new(kit.CASStore)} {
			t.Run(name+" in "+store, func(t *testing.T) {
				l := weir.Must(weir.New(p, weir.WithStore(s), weir.WithClock(&kit.HandClock{Time: time.Unix(0, kit.T0)})))
				var granted atomic.Int64
				var all sync.WaitGroup
				for g := range 16 {
					all.Go(func() {
						for i := range 2000 {
							n := 1 - (g+i)%2
							if n == 1 && l.Allow("key") {
								granted.Add(1)
							}
							if r, err := l.Take(context.Background(), "key", n); err == nil && r.Allowed {
								granted.Add(int64(n))
							}
						}
					})
				}
				all.Wait()
				assert.EqualValues(t, limit, granted.Load())
			})
		}
	}
}

func TestP16_TwoEqualLimitsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1}
		l := weir.Must(weir.New(weir.All(bucket, bucket)))
		start := time.Now()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { assert.NoError(t, l.Wait(t.Context(), "key", 1)) })
		}
		all.Wait()
		assert.Equal(t, 99*100*time.Millisecond, time.Since(start))
	})
}

// Two limiters of one name take the same limits in two orders, from many goroutines at once.
func TestP16_LimitsInAnyOrderDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1}, weir.FixedWindow{Limit: 100, Per: time.Minute}
		store := new(weir.MemStore)
		ls := []*weir.KeyedLimiter{
			weir.Must(weir.New(weir.All(a, b), weir.WithStore(store), weir.WithName("shared"))),
			weir.Must(weir.New(weir.All(b, a), weir.WithStore(store), weir.WithName("shared"))),
		}
		var granted atomic.Int64
		var all sync.WaitGroup
		for g := range 16 {
			all.Go(func() {
				for range 20 {
					ls[g%2].Allow("key")
					if assert.NoError(t, ls[g%2].Wait(t.Context(), "key", 1)) {
						granted.Add(1)
					}
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 320, granted.Load())
	})
}

// A part that can never grant n makes that plain at once; it does not wait until ctx ends.
func TestP16_AllNeverFits(t *testing.T) {
	l := weir.Must(weir.New(weir.All(weir.TokenBucket{Limit: 10, Per: time.Second}, weir.SlidingLog{Limit: 3, Per: time.Second})))
	require.ErrorIs(t, l.Wait(t.Context(), "key", 4), weir.ErrNeverFits)
}

// R20: All books nothing ahead, be all its parts queues.
func TestR20_AllOfQueuesBooksNothing(t *testing.T) {
	k := kit.NewKey(t, weir.All(
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 3},
		weir.TokenBucket{Limit: 1, Per: 2 * time.Second, Burst: 2},
	))
	book := weir.Ask{N: 1, MaxWait: time.Hour}
	for i, wait := range []time.Duration{time.Second, time.Second, 2 * time.Second} {
		now := kit.T0 + int64(i)*int64(time.Second)
		a := k.Ask(now, book)
		require.True(t, a.Allowed)
		require.Zero(t, a.Delay)
		before := k.Copy()
		a = k.Ask(now, book)
		require.Equal(t, wait, a.RetryAfter)
		require.Zero(t, a.Delay)
		require.False(t, a.QueueFull)
		require.Equal(t, before.State, k.State, "booked by none")
	}
}

// With a part that keeps no queue, nothing is booked for later: a window would count it in the
// wrong place.
func TestAllWithAWindowCountsWhenEventsGoAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(weir.All(
			weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1},
			weir.FixedWindow{Limit: 100, Per: time.Minute},
		)))
		time.Sleep(55 * time.Second) // of the minute, in which 50 more can go
		start := time.Now()
		perMinute := map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 250 {
			all.Go(func() {
				assert.NoError(t, l.Wait(t.Context(), "key", 1))
				mu.Lock()
				defer mu.Unlock()
				perMinute[int((time.Since(start)+55*time.Second)/time.Minute)]++
			})
		}
		all.Wait()
		assert.Equal(t, map[int]int{0: 50, 1: 100, 2: 100}, perMinute)
	})
}

func TestAllUpTo(t *testing.T) {
	k := kit.NewKey(t, weir.All(weir.TokenBucket{Limit: 10, Per: time.Second}, weir.FixedWindow{Limit: 12, Per: time.Hour}))
	a := k.Ask(kit.T0, weir.Ask{N: 50, Mode: weir.UpTo})
	assert.True(t, a.Allowed)
	assert.Equal(t, 10, a.Granted)
	a = k.Ask(kit.T0, weir.Ask{N: 50, Mode: weir.UpTo})
	assert.False(t, a.Allowed)
	assert.Zero(t, a.Granted)
	assert.Equal(t, 100*time.Millisecond, a.RetryAfter, "until there is one")
	later := kit.T0 + int64(time.Second)
	a = k.Ask(later, weir.Ask{N: 50, Mode: weir.UpTo})
	assert.Equal(t, 2, a.Granted)
	assert.Equal(t, 1, a.DecidedBy)
}

// Events that have already happened are charged to all parts. Each part then delays later callers.
func TestAllRegardless(t *testing.T) {
	k := kit.NewKey(t, weir.All(weir.TokenBucket{Limit: 10, Per: time.Second}, weir.SlidingLog{Limit: 12, Per: time.Hour}))
	var charges []weir.Charge
	a := k.Ask(kit.T0, weir.Ask{N: 15, Mode: weir.Regardless, Charges: &charges})
	assert.True(t, a.Allowed)
	r := k.Take(kit.T0, 1)
	assert.Equal(t, time.Hour, r.RetryAfter)
	assert.Equal(t, 1, r.DecidedBy)
	k.Ask(kit.T0, weir.Ask{N: -4, GrantedAt: kit.T0, Charges: &charges})
	assert.Equal(t, weir.Result{Limit: 10, Remaining: 0, RetryAfter: 200 * time.Millisecond, ResetAfter: time.Hour}, k.Take(kit.T0, 1))
}

// R7: an older instant earns nothing in any part (P1). If the instants go back and forth, All
// grants no more than the strictest of its parts alone, and Tiers no more than all its parts
// together.
func TestR7_CompositionsAtOlderInstants(t *testing.T) {
	toAndFro := func(p weir.Policy) int {
		k, granted := kit.NewKey(t, p), 0
		for i := range int64(1000) {
			if k.Take(kit.T0+int64(5*time.Second)*(i%2), 1).Allowed {
				granted++
			}
		}
		return granted
	}
	parts := kit.AllPolicies(10, 10*time.Second)
	least, sum := math.MaxInt, 0
	for _, p := range parts {
		least, sum = min(least, toAndFro(p)), sum+toAndFro(p)
	}
	assert.Equal(t, 2, least, "of the queue, one at either instant")
	assert.Equal(t, least, toAndFro(weir.All(parts...)))
	assert.Equal(t, sum, toAndFro(weir.Tiers(parts...)))
}
