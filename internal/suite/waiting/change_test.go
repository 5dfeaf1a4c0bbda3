package waiting

import (
	"context"
	"strconv"
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

// The policy changes while a caller is on its way into the line, after it has asked by the old
// policy. Neither this caller nor those behind it may keep a turn that is a day away.
func TestSetPolicy_WhileOneJoins(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: 24 * time.Hour},
		weir.SlidingLog{Limit: 1, Per: 24 * time.Hour},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.comeSlowly(100*ms, "b", 1)
			require.NoError(t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 1, Per: time.Second}))
			c.until(200 * ms)
			c.come("c", 1)
			c.end()
			require.Equal(t, []string{"a", "b", "c"}, []string{c.callers[0].name, c.callers[1].name, c.callers[2].name})
			assert.LessOrEqual(t, c.callers[1].at, 1200*ms)
			assert.LessOrEqual(t, c.callers[2].at, 2200*ms)
			assert.Less(t, c.callers[1].at, c.callers[2].at)
		}, weir.WithStore(slow(new(weir.MemStore))))
	}
}

// New turns for many take longer together than a Fallback gives one request. They stay in one
// store, and in order.
func TestSetPolicy_StaysInOneStore(t *testing.T) {
	mem, late := new(weir.MemStore), new(atomic.Bool)
	first := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if late.Load() {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return weir.Answer{}, ctx.Err()
			}
		}
		return mem.Do(ctx, r)
	})
	never := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
		t.Error("the second store was asked")
		return weir.Answer{}, kit.ErrStore
	})
	const n = 150
	store := fleet.Fallback(first, never, fleet.FallbackOptions{})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Hour}, func(c *crowd) {
		c.come("first", 1)
		for i := range n {
			c.come(strconv.Itoa(i), 1)
		}
		late.Store(true)
		require.NoError(t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 1, Per: time.Second}))
		late.Store(false)
		c.end()
		for i, w := range c.callers[1:] {
			assert.NoError(t, w.err)
			assert.InDelta(t, time.Duration(i+1)*time.Second, w.at, float64(time.Second), w.name)
		}
		time.Sleep(time.Second)
	}, weir.WithStore(store))
}

// The deadline of a call passes while the store decides. The context of the request to the store
// may then end a moment before that of the call, which learns of it from a timer of its own. The
// error comes when both have ended: callers look at theirs. If the call is Reset or SetPolicy,
// which ask for new turns, those who wait have contexts of their own: they do not fail, and ask for
// themselves.
func TestWait_TheTimerOfAContextIsLate(t *testing.T) {
	for name, call := range map[string]func(context.Context, *weir.KeyedLimiter) error{
		"Reset": func(ctx context.Context, l *weir.KeyedLimiter) error { return l.Reset(ctx, "k") },
		"SetPolicy": func(ctx context.Context, l *weir.KeyedLimiter) error {
			return l.SetPolicy(ctx, weir.SlidingLog{Limit: 2, Per: time.Hour})
		},
		"Wait": func(ctx context.Context, l *weir.KeyedLimiter) error { return l.Wait(ctx, "other", 1) },
		"Reserve": func(ctx context.Context, l *weir.KeyedLimiter) error {
			_, err := l.Reserve(ctx, "other", 1)
			return err
		},
		"ReserveNow": func(ctx context.Context, l *weir.KeyedLimiter) error {
			return l.ReserveNow(ctx, "other", 1, new(weir.Reservation), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem, hangs := new(weir.MemStore), new(atomic.Bool)
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if hangs.Load() && r.N > 0 {
					<-ctx.Done()
					return weir.Answer{}, ctx.Err()
				}
				return mem.Do(ctx, r)
			})
			bubble(t, weir.SlidingLog{Limit: 1, Per: time.Hour}, func(c *crowd) {
				c.come("a", 1)
				b := c.come("b", 1)
				hangs.Store(true)
				ctx, cancel := context.WithTimeout(background, time.Second+ms)
				defer cancel()
				err := call(dueContext{ctx, c.start.Add(time.Second)}, c.l)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, time.Second+ms, time.Since(c.start))
				assert.Error(t, ctx.Err())
				hangs.Store(false)
				synctest.Wait()
				assert.NoError(t, b.err)
				c.cancel(b)
			}, weir.WithStore(store))
		})
	}
}

// A caller that joins behind callers of another plan stands behind them, and does not ask the
// store. It gets an error at once if the last of them goes too late for it, or if it can never be
// granted.
func TestWithPolicyFor_JoinerInAHurry(t *testing.T) {
	var plan atomic.Value
	plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 99})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Hour}, func(c *crowd) {
		for _, name := range []string{"a", "b", "c"} {
			c.come(name, 1)
		}
		plan.Store(weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 99})
		c.comeUntil(2*time.Second-1, "hasty", 1)
		c.come("d", 1)
		c.comeUntil(2*time.Second, "in time, as far as it can be told", 1)
		c.come("too many", 100)
		c.come("e", 1)
		c.end()
		c.want("a 0s", "hasty 0s too-late", "too many 0s never-fits", "b 1s", "c 2s", "in time, as far as it can be told 2s deadline", "d 3s", "e 3.1s")
	}, weir.WithPolicyFor(func(context.Context, string) weir.Policy { return plan.Load().(weir.Policy) }))
}

// The first of the line gives its place back to a store that does not answer. Those behind have
// booked, and need no store; their turns come in time.
func TestCancel_DoesNotHoldUpThoseBehind(t *testing.T) {
	for _, leave := range [][]string{{"b"}, {"b", "c"}, {"c", "b"}, {"c"}} {
		mem := new(weir.MemStore)
		store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N < 0 {
				<-ctx.Done()
				return weir.Answer{}, ctx.Err()
			}
			return mem.Do(ctx, r)
		})
		bubble(t, weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1}, func(c *crowd) {
			byName := map[string]*visitor{}
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				byName[name] = c.come(name, 1)
			}
			c.until(50 * ms)
			for _, name := range leave {
				c.cancel(byName[name])
			}
			c.until(1500 * ms)
			assert.Equal(t, "d 300ms", byName["d"].String(), "%v leave", leave)
			assert.Equal(t, "e 400ms", byName["e"].String(), "%v leave", leave)
			c.end()
		}, weir.WithStore(store))
	}
}

// The store panics when the first of a line asks again. An HTTP server survives that, and so does
// the line.
func TestWait_StoreThatPanics(t *testing.T) {
	var panics atomic.Bool
	mem := new(weir.MemStore)
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if panics.CompareAndSwap(true, false) {
			panic("the store panics")
		}
		return mem.Do(ctx, r)
	})
	bubble(t, weir.SlidingLog{Limit: 1, Per: time.Second}, func(c *crowd) {
		c.come("a", 1)
		c.inside.Go(func() {
			assert.PanicsWithValue(t, "the store panics", func() { _ = c.l.Wait(background, "k", 1) })
		})
		synctest.Wait()
		c.come("c", 1)
		panics.Store(true)
		c.end()
		c.want("a 0s", "c 1s")
	}, weir.WithStore(store))
}

// A policy that can't be compared is made ready for each call. It is the same all the same: those
// who wait move up.
func TestReserve_WithAPolicyThatIsNotComparable(t *testing.T) {
	type tagged struct {
		weir.TokenBucket
		tags []string
	}
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		c.come("a", 1)
		r := c.reserve(1)
		for _, name := range []string{"b", "c", "d"} {
			c.come(name, 1)
		}
		c.cancel(c.callers[1])
		c.until(500 * ms)
		require.NoError(t, r.Cancel(background))
		c.end()
		c.want("a 0s", "b 0s cancelled", "c 1s", "d 2s")
	}, weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		return tagged{weir.TokenBucket{Limit: 1, Per: time.Second}, []string{"gold"}}
	}))
}
