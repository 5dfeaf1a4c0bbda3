package weir_test

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
)

// The policy changes while one is on its way into the line, who has asked by the old one. It must not keep a
// turn that is a day away, nor those who come behind it.
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
			assert.LessOrEqual(t, c.callers[1].at, 1100*ms)
			assert.LessOrEqual(t, c.callers[2].at, 2100*ms)
			assert.Less(t, c.callers[1].at, c.callers[2].at)
		}, weir.WithStore(slow(new(weir.MemStore))))
	}
}

// New turns for many take longer together than a Fallback gives one request. They stay in one store, and in order.
func TestSetPolicy_StaysInOneStore(t *testing.T) {
	first := new(shared)
	never := storeFunc(func(context.Context, weir.Request) (weir.Answer, error) {
		t.Error("the second store was asked")
		return weir.Answer{}, errStore
	})
	const n = 150
	store := weir.Fallback(first, never, weir.FallbackOptions{})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Hour}, func(c *crowd) {
		c.come("first", 1)
		for i := range n {
			c.come(strconv.Itoa(i), 1)
		}
		first.takes.Store(int64(time.Millisecond))
		require.NoError(t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 1, Per: time.Second}))
		first.work()
		c.end()
		for i, w := range c.callers[1:] {
			assert.NoError(t, w.err)
			assert.InDelta(t, time.Duration(i+1)*time.Second, w.at, float64(time.Second), w.name)
		}
		time.Sleep(time.Second)
	}, weir.WithStore(store))
}

// One who joins finds that the plan has changed, and asks for new turns for all. It has little time; that is not
// the fault of those who wait.
func TestWithPolicyFor_JoinerInAHurry(t *testing.T) {
	var plan atomic.Value
	plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Hour, Capacity: 99})
	var late atomic.Bool
	mem := new(weir.MemStore)
	store := storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if late.Load() {
			select {
			case <-time.After(ms):
			case <-ctx.Done():
				return weir.Answer{}, ctx.Err()
			}
		}
		return mem.Do(ctx, r)
	})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Hour}, func(c *crowd) {
		for i := range 20 {
			c.come(strconv.Itoa(i), 1)
		}
		plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 99})
		late.Store(true)
		hasty := c.comeUntil(5*ms+ms/2, "hasty", 1)
		c.until(10 * ms)
		late.Store(false)
		assert.ErrorIs(t, hasty.err, context.DeadlineExceeded)
		c.end()
		for i, w := range c.callers[1:20] {
			assert.NoError(t, w.err)
			assert.InDelta(t, time.Duration(i+1)*time.Second, w.at, float64(time.Second/2), w.name)
		}
	}, weir.WithStore(store), weir.WithPolicyFor(func(context.Context, string) weir.Policy { return plan.Load().(weir.Policy) }))
}

// The first of the line gives its place back to a store that does not answer. Those behind have booked, and need
// no store; their turns come in time.
func TestCancel_DoesNotHoldUpThoseBehind(t *testing.T) {
	for _, leave := range [][]string{{"b"}, {"b", "c"}, {"c", "b"}, {"c"}} {
		mem := new(weir.MemStore)
		store := storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
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

// The store panics when the first of a line asks again. An HTTP server survives that, and so does the line.
func TestWait_StoreThatPanics(t *testing.T) {
	var panics atomic.Bool
	mem := new(weir.MemStore)
	store := storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
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

// A policy that can't be compared is made ready for each call. It is the same all the same: those who wait move up.
func TestReturn_WithAPolicyThatIsNotComparable(t *testing.T) {
	type tagged struct {
		weir.TokenBucket
		tags []string
	}
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		for _, name := range []string{"a", "b", "c"} {
			c.come(name, 1)
		}
		c.until(500 * ms)
		require.NoError(t, c.l.Return(background, "k", 1))
		c.end()
		c.want("a 0s", "b 500ms", "c 1s")
	}, weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		return tagged{weir.TokenBucket{Limit: 1, Per: time.Second}, []string{"gold"}}
	}))
}
