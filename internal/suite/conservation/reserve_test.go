package conservation

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
)

// Of 16 that settle and cancel at once, one counts: what is charged in the end is what one of
// them said.
func TestR10_OneOfManySettles(t *testing.T) {
	for _, p := range append(kit.AllPolicies(1000, time.Hour), weir.TokenBucket{Limit: 1000, Per: time.Hour, Burst: 999}) {
		l, _ := kit.Frozen(p)
		limit := kit.Take(t, l, "k", 0).Limit
		for range 200 {
			r := kit.Reserve(t, l, 8)
			require.True(t, r.Allowed)
			var all sync.WaitGroup
			start := make(chan struct{})
			for g := range 16 {
				all.Go(func() {
					<-start
					if g%2 == 0 {
						assert.NoError(t, r.Cancel(context.Background()))
					} else {
						assert.NoError(t, r.Settle(context.Background(), g))
					}
				})
			}
			close(start)
			all.Wait()
			after := kit.Take(t, l, "k", 0)
			used := limit - after.Remaining
			if _, isQueue := p.(weir.LeakyBucket); isQueue {
				used = int(after.ResetAfter / (time.Hour / 1000))
			}
			require.True(t, used == 0 || used%2 == 1 && used < 16, "%#v: %d", p, used)
			require.NoError(t, l.Reset(context.Background(), "k"))
		}
	}
}

// A store that returns an error may have counted before. The call is not repeated, because the
// second one might give back or charge the same events again.
func TestReservation_AnErrorOfTheStoreIsFinal(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, actual := range []int{0, 2, 9} {
			for _, counts := range []bool{false, true} {
				mem, fail := new(weir.MemStore), false
				store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
					if !fail {
						return mem.Do(ctx, r)
					}
					if counts {
						_, _ = mem.Do(ctx, r)
					}
					return weir.Answer{Result: weir.Result{Allowed: true}, Delay: time.Hour}, kit.ErrStore
				})
				l, _ := kit.Frozen(p, weir.WithStore(store))
				r := kit.Reserve(t, l, 5)
				fail = true
				first := r.Settle(context.Background(), actual)
				require.ErrorIs(t, first, kit.ErrStore)
				fail = false
				before := kit.Take(t, l, "k", 0)
				require.Equal(t, first, r.Settle(context.Background(), actual))
				require.ErrorIs(t, r.Settle(context.Background(), 7), kit.ErrStore)
				require.ErrorIs(t, r.Cancel(context.Background()), kit.ErrStore)
				require.Equal(t, before, kit.Take(t, l, "k", 0))
			}
		}
	})
}

// An error from before the store was asked is known to have counted nothing. A reservation is
// settled by the policy that booked it, whatever is wrong with the plan since (R16).
func TestReservation_AnErrorBeforeTheStoreCanBeMended(t *testing.T) {
	var fault atomic.Bool
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 10, Per: time.Second}, weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		if fault.Load() {
			return weir.TokenBucket{}
		}
		return nil
	}))
	for _, actual := range []int{1, 9} {
		r := kit.Reserve(t, l, 4)
		fault.Store(true)
		assert.ErrorContains(t, l.Return(context.Background(), "k", 1), "Limit is 0")
		assert.ErrorContains(t, l.Reset(context.Background(), "k"), "Limit is 0")
		_, err := l.Reserve(context.Background(), "k", 1)
		assert.ErrorContains(t, err, "Limit is 0")
		_, _, err = l.TakeUpTo(context.Background(), "k", 1)
		assert.ErrorContains(t, err, "Limit is 0")
		require.NoError(t, r.Settle(context.Background(), actual))
		fault.Store(false)
		assert.Equal(t, 10-actual, kit.Take(t, l, "k", 0).Remaining)
		require.NoError(t, l.Reset(context.Background(), "k"))
	}
}

// P22: while the store hangs, each call returns within its own context, also one that waits for
// another.
func TestP22_SettlingReturnsWhenTheStoreHangs(t *testing.T) {
	for _, actual := range []int{0, 9} {
		synctest.Test(t, func(t *testing.T) {
			mem, hang := new(weir.MemStore), false
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if hang {
					<-ctx.Done()
					return weir.Answer{}, ctx.Err()
				}
				return mem.Do(ctx, r)
			})
			l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(store)))
			r := kit.Reserve(t, l, 5)
			hang = true
			start := time.Now()
			within := func(d time.Duration, call func(ctx context.Context) error) func() {
				return func() {
					ctx, cancel := context.WithTimeout(context.Background(), d)
					defer cancel()
					assert.ErrorIs(t, call(ctx), context.DeadlineExceeded)
					assert.Equal(t, min(d, 9*time.Second), time.Since(start))
				}
			}
			var all sync.WaitGroup
			settle := func(ctx context.Context) error { return r.Settle(ctx, actual) }
			all.Go(within(9*time.Second, settle))
			synctest.Wait()
			all.Go(within(5*time.Second, settle))
			all.Go(within(time.Minute, r.Cancel)) // returns with the first, and what it returned
			all.Go(within(3*time.Second, func(ctx context.Context) error { return l.Return(ctx, "k", 1) }))
			all.Wait()

			ended, end := context.WithCancel(context.Background())
			end()
			start = time.Now()
			assert.ErrorIs(t, l.Return(ended, "k", 1), context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(start), "one that had ended gets a second")
		})
	}
}

// P22: a caller whose context ends while it gives back loses nothing by that.
func TestP22_ACallerThatGoesWhileItGivesBack(t *testing.T) {
	for name, giveBack := range map[string]func(context.Context, *weir.KeyedLimiter, *weir.Reservation) error{
		"Cancel": func(ctx context.Context, _ *weir.KeyedLimiter, r *weir.Reservation) error { return r.Cancel(ctx) },
		"Settle": func(ctx context.Context, _ *weir.KeyedLimiter, r *weir.Reservation) error { return r.Settle(ctx, 0) },
		"Return": func(ctx context.Context, l *weir.KeyedLimiter, _ *weir.Reservation) error {
			return l.Return(ctx, "k", 5)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			mem, onTheWay := new(weir.MemStore), func() {}
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				onTheWay()
				if ctx.Err() != nil {
					return weir.Answer{}, ctx.Err()
				}
				return mem.Do(ctx, r)
			})
			l, _ := kit.Frozen(weir.SlidingLog{Limit: 10, Per: time.Hour}, weir.WithStore(store))
			for end, goes := range map[string]func(cancel func()){
				"cancelled": func(cancel func()) { cancel(); synctest.Wait() },
				"late":      func(func()) { time.Sleep(time.Second / 2) },
			} {
				r := kit.Reserve(t, l, 5)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second/4)
				onTheWay = func() { goes(cancel) }
				assert.NoError(t, giveBack(ctx, l, r), "%s, %s", name, end)
				cancel()
				onTheWay = func() {}
				assert.Equal(t, 10, kit.Take(t, l, "k", 0).Remaining, "%s, %s", name, end)
			}
		})
	}
}

// P3: what was granted while the shared store was down it has not booked. When it is back, nothing
// of that is given back to it; more is charged.
func TestP3_ADegradedReservationGivesNothingBack(t *testing.T) {
	for name, front := range map[string]func(shared weir.Store) weir.Store{
		"FailOpen": func(shared weir.Store) weir.Store { return fleet.FailOpen(shared, fleet.FailOpenOptions{}) },
		"Fallback": func(shared weir.Store) weir.Store {
			return fleet.Fallback(shared, new(weir.MemStore), fleet.FallbackOptions{CoolDown: time.Second})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := new(kit.Faulty)
			l, _ := kit.Frozen(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(front(shared)))
			kit.Take(t, l, "k", 6)
			shared.Down.Store(true)
			cancelled, less, more := kit.Reserve(t, l, 2), kit.Reserve(t, l, 2), kit.Reserve(t, l, 2)
			require.True(t, cancelled.Degraded && less.Degraded && more.Degraded, name)
			shared.Down.Store(false)
			time.Sleep(time.Second) // the cool-down
			require.NoError(t, cancelled.Cancel(context.Background()))
			require.NoError(t, less.Settle(context.Background(), 1))
			assert.Equal(t, 4, kit.Take(t, l, "k", 0).Remaining, name)
			require.NoError(t, more.Settle(context.Background(), 3))
			assert.Equal(t, 3, kit.Take(t, l, "k", 0).Remaining, name)
		})
	}
}

// A store that panics does so in the call; the others are told.
func TestReservation_WhenTheStorePanics(t *testing.T) {
	mem, broken := new(weir.MemStore), false
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if broken {
			panic("broken")
		}
		return mem.Do(ctx, r)
	})
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(store))
	for _, actual := range []int{0, 9} {
		r := kit.Reserve(t, l, 5)
		broken = true
		assert.PanicsWithValue(t, "broken", func() { _ = r.Settle(context.Background(), actual) })
		broken = false
		assert.ErrorContains(t, r.Cancel(context.Background()), "panicked")
		require.NoError(t, l.Reset(context.Background(), "k"))
	}
}
