package fleet_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// drain uses up a key, and returns how many events it got.
func (l *leased) drain() (granted int) {
	for denied := 0; denied < 3; {
		if l.Allow("k") {
			granted++
			continue
		}
		denied++
		time.Sleep(1100 * time.Millisecond) // until the first store of a Fallback is tried
	}
	return granted
}

// A store that is late gave back what was not used, after the second store had done the same. Each
// such give-back let the second store grant as many events again.
func TestLease_AFallbackGivesBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		first, shares := new(shared), fleet.NewShares(new(weir.MemStore))
		require.NoError(t, shares.Set(fleet.Membership{Members: 1}))
		store := fleet.Fallback(first, shares, fleet.FallbackOptions{})
		l := newLeased(weir.FixedWindow{Limit: 1000, Per: day}, store, fleet.LeaseOptions{})
		time.Sleep(day) // until the share counts

		first.fail(kit.ErrStore)
		granted := l.drain()
		for range 10 {
			first.work()
			granted += l.busy(t)
			first.hang()
			first.takes.Store(int64(150 * time.Millisecond))
			time.Sleep(3 * time.Second) // nobody asks
			first.fail(kit.ErrStore)
			granted += l.drain()
		}
		first.work()
		assert.LessOrEqual(t, granted+l.drain(), 2000)
	})
}

// Requests that the second store has denied got answers that were not Degraded, if another request
// had asked for them.
func TestLease_DenialsOfASecondStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := new(shared), new(weir.MemStore)
		l := newLeased(weir.FixedWindow{Limit: 2000, Per: time.Hour},
			fleet.Fallback(first, second, fleet.FallbackOptions{}), fleet.LeaseOptions{})
		_, err := second.Do(context.Background(), weir.Request{Plan: l.plan, Key: "k", Ask: weir.Ask{N: 2000}})
		require.NoError(t, err)
		l.busy(t)

		first.takes.Store(int64(10 * time.Millisecond))
		denied := 0
		var callers sync.WaitGroup
		var mu sync.Mutex
		start := func() {
			for range 1000 {
				callers.Go(func() {
					r, err := l.Take(context.Background(), "k", 1)
					mu.Lock()
					defer mu.Unlock()
					assert.NoError(t, err)
					assert.Equal(t, !r.Allowed, r.Degraded)
					if !r.Allowed {
						denied++
					}
				})
			}
		}
		start()
		time.Sleep(15 * time.Millisecond)
		first.fail(kit.ErrStore)
		start() // of the first ones, the call before may have got events for all
		callers.Wait()
		assert.Greater(t, denied, 100)
	})
}

// They are left out once, although the second store of a Fallback may be a Fallback, too.
func TestLease_NothingAheadOfNeedOfAThirdStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := new(shared), new(shared)
		var asked []int
		third := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			asked = append(asked, r.N)
			return new(weir.MemStore).Do(ctx, r)
		})
		store := fleet.Fallback(first, fleet.Fallback(second, third, fleet.FallbackOptions{}), fleet.FallbackOptions{})
		l := newLeased(weir.FixedWindow{Limit: 10_000, Per: 24 * time.Hour}, store, fleet.LeaseOptions{})
		l.busy(t)
		first.fail(kit.ErrStore)
		second.fail(kit.ErrStore)
		for !kit.Take(t, l, "k", 1).Degraded {
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, []int{1}, asked)
	})
}

// A store between a Lease and a Fallback may ask for fewer events than were asked of it. The second
// store then was asked to give events back.
func TestLease_NothingAheadOfNeedThroughAStoreThatAsksForLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := new(shared)
		var asked []int
		second := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			asked = append(asked, r.N)
			return new(weir.MemStore).Do(ctx, r)
		})
		store := fleet.Fallback(first, second, fleet.FallbackOptions{})
		half := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.Mode == weir.UpTo {
				r.N = (r.N + 1) / 2
			}
			return store.Do(ctx, r)
		})
		l := newLeased(weir.FixedWindow{Limit: 10_000, Per: 24 * time.Hour}, half, fleet.LeaseOptions{})
		l.busy(t)
		first.fail(kit.ErrStore)
		for !kit.Take(t, l, "k", 1).Degraded {
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, []int{1}, asked)
	})
}

// A call that takes events ahead of need took as many from a second store. They were granted beyond
// the limit, or lost.
func TestLease_NothingAheadOfNeedOfASecondStore(t *testing.T) {
	day := weir.FixedWindow{Limit: 10_000, Per: 24 * time.Hour}
	memory := func(*testing.T) weir.Store { return new(weir.MemStore) }
	member := func(of int) func(t *testing.T) weir.Store {
		return func(t *testing.T) weir.Store {
			shares := fleet.NewShares(new(weir.MemStore))
			require.NoError(t, shares.Set(fleet.Membership{Members: of}))
			return shares
		}
	}
	for name, c := range map[string]struct {
		second func(t *testing.T) weir.Store
		share  int
	}{
		"a MemStore":      {memory, 10_000},
		"the only member": {member(1), 10_000},
		"a member of two": {member(2), 5000},
		"none":            {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := new(shared)
				store := fleet.FailOpen(first, fleet.FailOpenOptions{})
				if c.second != nil {
					store = fleet.Fallback(first, c.second(t), fleet.FallbackOptions{})
				}
				l := newLeased(day, store, fleet.LeaseOptions{})
				time.Sleep(day.Per) // until the share counts
				degraded := 0
				for range 20 {
					l.busy(t)
					first.fail(kit.ErrStore)
					for before := degraded; degraded == before; time.Sleep(time.Millisecond) {
						if kit.Take(t, l, "k", 1).Degraded {
							degraded++
						}
					}
					first.work()
					for range 10 {
						require.False(t, kit.Take(t, l, "k", 1).Degraded, "a single answer failed")
					}
					time.Sleep(time.Second)
				}
				first.fail(kit.ErrStore)
				time.Sleep(2 * time.Second) // until nothing is held
				if c.share > 0 {
					assert.Equal(t, c.share, degraded+l.drain())
				}
			})
		})
	}
}

// Held events for a part of a request may become invalid during a call. The request was then denied,
// although the second store had enough: it had been asked for no more than what was needed at first.
func TestLease_SecondStoreIsAskedForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10 * time.Second
		first := new(shared)
		l := newLeased(weir.FixedWindow{Limit: 10_000, Per: window},
			fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{}), fleet.LeaseOptions{})
		time.Sleep(window - 200*time.Millisecond)
		l.busy(t)
		time.Sleep(time.Until(time.Now().Truncate(window).Add(window - 50*time.Millisecond)))
		held := l.lease.Held(l.plan, "k")
		require.Positive(t, held)
		first.takes.Store(int64(time.Hour))
		r := kit.Take(t, l, "k", held+5)
		assert.True(t, r.Allowed && r.Degraded, "%+v", r)
		assert.Equal(t, 10_000-held-5, r.Remaining)
	})
}
