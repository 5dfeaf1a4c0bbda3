package waiting

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R16, R17: a waiter that is about to ask again is given a new turn first, and books. It keeps that
// turn, even if the function of WithPolicyFor then returns a policy by which it never fits, or one
// that is invalid.
func TestR17_BookedByARenewalJustBeforeItAsksAgain(t *testing.T) {
	for name, later := range map[string]weir.Policy{
		"never fits": weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1},
		"invalid":    weir.TokenBucket{},
	} {
		t.Run(name, func(t *testing.T) {
			var plan atomic.Value
			plan.Store(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10})
			mem, renews := new(weir.MemStore), false
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.N < 0 { // a slow Return, for which all others wait
					time.Sleep(200 * ms)
					return weir.Answer{}, nil
				}
				a, err := mem.Do(ctx, r)
				if renews && r.N == 2 {
					plan.Store(later)
				}
				return a, err
			})
			bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
				require.True(t, kit.Take(t, c.l, "k", 10).Allowed)
				c.come("a", 1)
				plan.Store(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 11})
				c.come("b", 2) // by another policy than a, and so it asks when a has gone
				c.until(900 * ms)
				c.inside.Go(func() { assert.NoError(t, c.l.Return(background, "k", 1)) })
				c.until(950 * ms)
				renews = true
				c.inside.Go(func() {
					assert.NoError(t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 2, Per: time.Second}))
				})
				c.end()
				c.want("a 1s", "b 2s")
			}, weir.WithStore(store), weir.WithPolicyFor(func(context.Context, string) weir.Policy { return plan.Load().(weir.Policy) }))
		})
	}
}

// a asks a slow store while the policy changes, and is granted before the others are asked for. It
// returns then, before b, and does not wait until all have their turns.
func TestR18_WhoIsGrantedDuringASetPolicyReturns(t *testing.T) {
	store := decidesAfter(func(weir.Request) time.Duration { return time.Second })
	bubble(t, weir.FixedWindow{Limit: 3, Per: 10 * time.Second}, func(c *crowd) {
		kit.Take(t, c.l, "k", 3) // at 1 s
		for _, name := range []string{"a", "b", "c"} {
			c.until(2 * time.Second)
			c.come(name, 1)
		}
		c.until(10500 * ms) // a asks at 10 s
		kit.SetPolicy(t, c.l, weir.FixedWindow{Limit: 10, Per: 6 * time.Second})
		c.end()
		c.want("a 11s", "b 12s", "c 13s")
	}, weir.WithStore(store))
}

// a joins while the policy is set to what it was. It goes at its instant, although a Return that takes
// long begins before. Once a waited for that Return, to ask for a new turn.
func TestR17_WhoJoinsDuringASetPolicyGoesAtItsInstant(t *testing.T) {
	store := decidesAfter(func(r weir.Request) time.Duration {
		switch {
		case r.MaxWait > 0:
			return 40 * ms
		case r.N < 0:
			return 300 * ms
		}
		return 0
	})
	queue := weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 20}
	bubble(t, queue, func(c *crowd) {
		require.True(t, c.l.Allow("k"))
		c.until(10 * ms)
		a := c.come("a", 1)
		c.until(20 * ms)
		c.inside.Go(func() { kit.SetPolicy(t, c.l, queue) })
		c.until(30 * ms)
		c.inside.Go(func() { kit.NoError(t, c.l.Return(background, "k", 1)) })
		c.end()
		assert.Equal(t, "a 100ms", a.String())
	}, weir.WithStore(store))
}

// Six are joining while the policy changes, and two come after it. They go in the order in which they
// came.
func TestR18_WhoJoinsDuringASetPolicyKeepsItsPlace(t *testing.T) {
	store := decidesAfter(func(weir.Request) time.Duration { return 20 * ms })
	bubble(t, weir.LeakyBucket{Limit: 100, Per: time.Second, Capacity: 100}, func(c *crowd) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			c.come(name, 1)
		}
		c.until(5 * ms)
		c.inside.Go(func() {
			kit.SetPolicy(t, c.l, weir.LeakyBucket{Limit: 100, Per: time.Second, Capacity: 99})
		})
		c.come("v", 1)
		c.come("w", 1)
		c.end()
		for i, name := range []string{"v", "w"} {
			late := c.callers[6+i]
			require.Equal(t, name, late.name)
			for _, early := range c.callers[:6+i] {
				assert.Less(t, early.at, late.at, "%s before %s", early.name, name)
			}
		}
	}, weir.WithStore(store))
}

// b comes while a change takes long. The caller of the change comes at the very moment when it ends,
// before b asks. Once that one booked before b.
func TestR18_WhoComesAtTheEndOfAChangeIsBehindThoseWhoCameInIt(t *testing.T) {
	slow := false
	policyFor := weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		if slow {
			slow = false
			time.Sleep(100 * ms)
		}
		return nil
	})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		require.True(t, c.l.Allow("k"))
		c.come("a", 1)
		b := &visitor{}
		c.inside.Go(func() {
			time.Sleep(50 * ms)
			b.err = c.l.Wait(background, "k", 1)
			b.at = time.Since(c.start)
		})
		slow = true
		kit.SetPolicy(t, c.l, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2})
		require.NoError(t, c.l.Wait(background, "k", 1))
		assert.Equal(t, 2*time.Second, time.Since(c.start))
		c.end()
		require.NoError(t, b.err)
		assert.Equal(t, time.Second, b.at)
	}, policyFor)
}
