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

// A key that makes room for another has nothing left to give back.
func TestLease_MakesNoRoomWithEventsThatAreToBeGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := kit.HandClock{Time: time.Now()}
		store := new(weir.MemStore)
		lease := fleet.Lease(store, fleet.LeaseOptions{MaxKeys: 1})
		l := weir.Must(weir.New(windows[0], weir.WithStore(lease), weir.WithClock(&now)))
		for range 50 {
			require.True(t, l.Allow("k"))
		}
		now.Time = now.Time.Add(1001 * time.Millisecond) // MaxAge is over, but the timer has not ended
		require.True(t, l.Allow("another"))
		require.NoError(t, lease.Release(context.Background()))
		assert.Equal(t, 950, kit.Take(t, l, "k", 0).Remaining)
	})
}

// Events of two grants are given back each, if a request for more than both was denied.
func TestLease_ReleaseGivesBackTwoGrants(t *testing.T) {
	kit.EachInBubble(t, append(windows, leasedPolicies[6]), func(t *testing.T, p weir.Policy) {
		ctx := context.Background()
		shared := new(weir.MemStore)
		var take atomic.Int64 // by another process, before each call of the store
		other := weir.Must(weir.New(p, weir.WithStore(shared)))
		l := newLeased(p, kit.StoreFunc(func(c context.Context, r weir.Request) (weir.Answer, error) {
			if n := take.Load(); n > 0 && r.N > 0 {
				_, _, err := other.TakeUpTo(ctx, "k", int(n))
				require.NoError(t, err)
			}
			return shared.Do(c, r)
		}), fleet.LeaseOptions{})
		for range 100 {
			require.True(t, l.Allow("k"))
		}
		l.busy(t)
		held := l.lease.Held(l.plan, "k")
		require.Positive(t, held)
		remaining := l.look(t).Remaining
		take.Store(int64(remaining - 5)) // the store has 5 left then
		r := kit.Take(t, l.KeyedLimiter, "k", held+20)
		take.Store(0)
		require.False(t, r.Allowed, "%+v", r)
		require.NoError(t, l.lease.Release(ctx))
		parts := l.parts(t)
		window := parts[len(parts)-1]
		if len(parts) == 1 {
			assert.Equal(t, 5+held, window.Remaining)
		} else {
			assert.Equal(t, window.Limit-1000+5+held, window.Remaining)
		}
	})
}

// Events that were granted for a request, but came too late for it, are given back where they count
// for longer.
func TestLease_EventsThatComeTooLateAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon, quota := weir.SlidingWindow{Limit: 1000, Per: time.Second, Buckets: 40}, weir.FixedWindow{Limit: 5000, Per: time.Hour}
		store := new(weir.MemStore)
		var takes atomic.Int64 // a call of the store
		l := newLeased(weir.All(soon, quota), kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := store.Do(ctx, r)
			time.Sleep(time.Duration(takes.Load()))
			return a, err
		}), fleet.LeaseOptions{})
		granted, held := l.busy(t), l.lease.Held(l.plan, "k")
		takes.Store(int64(30 * time.Millisecond)) // longer than an event may be held
		require.True(t, kit.Take(t, l.KeyedLimiter, "k", held+20).Allowed)
		granted += held + 20
		takes.Store(0)
		require.NoError(t, l.lease.Release(context.Background()))
		parts := l.parts(t)
		assert.Equal(t, 5000-granted, parts[1].Remaining)
	})
}

// If the store fails or panics on the second call for a request, the first call loses no events.
func TestLease_SecondCallThatFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			soon, quota := weir.SlidingWindow{Limit: 1000, Per: time.Second, Buckets: 40}, weir.FixedWindow{Limit: 5000, Per: time.Hour}
			store := new(weir.MemStore)
			var calls atomic.Int64 // until one fails, but for those that give back, at any time
			l := newLeased(weir.All(soon, quota), kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.N < 0 {
					return store.Do(ctx, r)
				}
				switch left := calls.Add(-1); {
				case left != 0:
					a, err := store.Do(ctx, r)
					if left == 1 {
						time.Sleep(30 * time.Millisecond) // longer than an event may be held
					}
					return a, err
				case panics:
					panic("oh")
				}
				return weir.Answer{}, kit.ErrStore
			}), fleet.LeaseOptions{})
			granted, held := l.busy(t), l.lease.Held(l.plan, "k")
			calls.Store(2)
			_, err := l.Take(context.Background(), "k", held+20)
			require.Error(t, err)
			require.NoError(t, l.lease.Release(context.Background()))
			assert.Equal(t, 5000-granted, l.parts(t)[1].Remaining)
		})
	}
}

// A clock that panics while its key might make room for another blocks nobody.
func TestLease_ClockThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &panickyClock{}
		lease := fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{MaxKeys: 1})
		l := weir.Must(weir.New(windows[0], weir.WithStore(lease), weir.WithClock(clock)))
		for range 50 {
			require.True(t, l.Allow("k"))
		}
		clock.panics = true
		another := weir.Must(weir.New(windows[0], weir.WithStore(lease)))
		assert.Panics(t, func() { another.Allow("another") })
		clock.panics = false
		assert.True(t, kit.Take(t, l, "k", 500).Allowed)
		require.NoError(t, lease.Release(context.Background()))
	})
}

// The same holds for a Reset and a Release: the next Reset of the key returns.
func TestLease_ClockThatPanicsInAReset(t *testing.T) {
	for name, call := range map[string]func(*weir.KeyedLimiter, *fleet.LeaseStore){
		"reset":   func(l *weir.KeyedLimiter, _ *fleet.LeaseStore) { _ = l.Reset(context.Background(), "k") },
		"release": func(_ *weir.KeyedLimiter, s *fleet.LeaseStore) { _ = s.Release(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			clock, lease := &panickyClock{}, fleet.Lease(new(weir.MemStore), fleet.LeaseOptions{})
			l := weir.Must(weir.New(windows[0], weir.WithStore(lease), weir.WithClock(clock)))
			for range 50 {
				require.True(t, l.Allow("k"))
			}
			returned := make(chan error, 1)
			go func() {
				clock.panics = true
				func() {
					defer func() { _ = recover() }()
					call(l, lease)
				}()
				clock.panics = false
				returned <- l.Reset(context.Background(), "k")
			}()
			select {
			case err := <-returned:
				require.NoError(t, err)
			case <-time.After(30 * time.Second):
				t.Fatal("the key is blocked")
			}
			require.NoError(t, lease.Release(context.Background()))
		})
	}
}

type panickyClock struct{ panics bool }

func (c *panickyClock) Now() time.Time {
	if c.panics {
		panic("oh")
	}
	return time.Unix(1e9, 0)
}

func (*panickyClock) After(time.Duration) <-chan time.Time { return nil }

// A reset by any limiter of the name drops what is held for all of them.
func TestLease_ResetByAnotherLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeased(windows[0], new(weir.MemStore), fleet.LeaseOptions{})
		another := weir.Must(weir.New(windows[0], weir.WithStore(l.lease)))
		l.busy(t)
		require.NoError(t, another.Reset(context.Background(), "k"))
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		assert.Equal(t, 1000, l.look(t).Remaining)
	})
}

// R16: a give-back that is under way when its key is reset frees nothing that is counted after it.
func TestR16_LeaseResetWhileItGivesBack(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		store, backs := new(weir.MemStore), make(chan struct{}, 1)
		l := newLeased(p, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N < 0 {
				backs <- struct{}{}
				time.Sleep(100 * time.Millisecond)
			}
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{})
		l.busy(t)
		<-backs
		require.NoError(t, l.Reset(context.Background(), "k"))
		require.True(t, kit.Take(t, l.KeyedLimiter, "k", 1000).Allowed)
		time.Sleep(150 * time.Millisecond)
		assert.Zero(t, l.look(t).Remaining)
	})
}

// R16: a reset waits for the give-backs of Release, too.
func TestR16_LeaseResetDuringRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(weir.MemStore)
		l := newLeased(weir.FixedWindow{Limit: 1000, Per: time.Hour}, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N < 0 {
				time.Sleep(100 * time.Millisecond)
			}
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{})
		l.busy(t)
		released := make(chan error)
		go func() { released <- l.lease.Release(context.Background()) }()
		synctest.Wait()
		require.NoError(t, l.Reset(context.Background(), "k"))
		granted := 0
		for range 1100 {
			if l.Allow("k") {
				granted++
			}
		}
		require.NoError(t, <-released)
		for l.Allow("k") {
			granted++
		}
		assert.Equal(t, 1000, granted)
	})
}

// R16: a reset leaves no lease that began meanwhile, neither by its own policy nor by one that asks
// for the key for the first time.
func TestR16_LeaseThatBeginsDuringAReset(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		store := new(weir.MemStore)
		l := newLeased(p, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.Forget {
				time.Sleep(100 * time.Millisecond)
			}
			return store.Do(ctx, r)
		}), fleet.LeaseOptions{})
		another := weir.Must(weir.New(p, weir.WithStore(l.lease)))
		for _, resets := range []*weir.KeyedLimiter{another, l.KeyedLimiter} {
			reset := make(chan error)
			go func() { reset <- resets.Reset(context.Background(), "k") }()
			synctest.Wait()
			for range 90 {
				go l.Allow("k")
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, <-reset)
			synctest.Wait() // a call may be under way again
			assert.LessOrEqual(t, l.look(t).Remaining+l.lease.Held(l.plan, "k"), 1000)
		}
		require.NoError(t, l.lease.Release(context.Background()))
	})
}
