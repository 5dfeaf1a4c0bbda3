package waiting

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// Four come at once; a is granted. The policy changes while b, c and d (for two events) wait. A
// bucket of another rate books nothing while what the first one granted is charged to it (R20):
// they ask one after the other then.
func TestSetPolicy_GivesThoseWhoWaitNewTurns(t *testing.T) {
	oneASecond := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2}
	for _, test := range []struct {
		name     string
		from, to weir.Policy
		want     []string
	}{
		{
			"a faster bucket", oneASecond,
			weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 2},
			[]string{"a 0s", "b 0s", "c 700ms", "d 800ms"},
		},
		{
			"a slower bucket", oneASecond,
			weir.TokenBucket{Limit: 1, Per: 2 * time.Second, Burst: 2},
			[]string{"a 0s", "b 0s", "c 1s", "d 3s"},
		},
		{
			"one that one of them never fits", oneASecond,
			weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1},
			[]string{"a 0s", "b 0s", "c 600ms", "d 600ms never-fits"},
		},
		{
			"a faster queue",
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
			weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 9},
			[]string{"a 0s", "b 1s", "c 1.1s", "d 1.2s"},
		},
		{
			"a shorter queue",
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 2},
			[]string{"a 0s", "d 500ms queue-full", "b 1s", "c 2s"},
		},
		{
			"windows of a bucket", oneASecond,
			weir.FixedWindow{Limit: 2, Per: 10 * time.Second},
			[]string{"a 0s", "b 0s", "c 1s", "d 10s"},
		},
		{
			"a bucket of windows",
			weir.FixedWindow{Limit: 2, Per: 10 * time.Second},
			oneASecond,
			[]string{"a 0s", "b 0s", "c 2.5s", "d 3.5s"},
		},
		{
			"larger windows",
			weir.FixedWindow{Limit: 2, Per: 10 * time.Second},
			weir.FixedWindow{Limit: 20, Per: 10 * time.Second},
			[]string{"a 0s", "b 0s", "c 500ms", "d 500ms"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.from, func(c *crowd) {
				c.come("a", 1)
				c.come("b", 1)
				c.come("c", 1)
				c.come("d", 2)
				c.until(500 * ms)
				require.NoError(c.t, c.l.SetPolicy(background, test.to))
				c.end()
				c.want(test.want...)
			})
		})
	}
}

// A caller that comes after the change stands behind those that came before it. A caller that
// leaves after the change gives back what it had booked by the new policy.
func TestSetPolicy_ComingAndLeavingAfterIt(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 2}, func(c *crowd) {
		c.come("a", 1)
		b := c.come("b", 1)
		c.come("c", 1)
		require.NoError(c.t, c.l.SetPolicy(background, weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 3}))
		c.come("d", 1)
		c.come("e", 1)
		c.until(500 * ms)
		c.cancel(b)
		c.end()
		c.want("a 0s", "e 0s queue-full", "b 500ms cancelled", "c 1s", "d 2s")
	})
}

// A key's own policy changes: those who have booked keep their turns, until SetPolicy or Reset
// gives new ones.
func TestWithPolicyFor_ThoseWhoHaveBookedKeepTheirTurns(t *testing.T) {
	var plan atomic.Value
	plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 5})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		c.come("c", 1)
		plan.Store(weir.LeakyBucket{Limit: 10, Per: time.Second})
		c.come("d", 1)
		c.until(time.Second)
		c.want("a 0s", "b 1s")
		require.NoError(c.t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 1, Per: time.Second}))
		c.end()
		c.want("a 0s", "b 1s", "c 2s", "d 2.1s")
	}, weir.WithPolicyFor(func(context.Context, string) weir.Policy { return plan.Load().(weir.Policy) }))
}

// Where the store fails in the course of it, SetPolicy says so; nobody is granted twice or hangs.
func TestSetPolicy_WhenTheStoreFails(t *testing.T) {
	for fails := range 5 {
		t.Run(fmt.Sprint("at step ", fails), func(t *testing.T) {
			store, step := new(weir.MemStore), 0
			failing := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if step++; step == 4+fails {
					return weir.Answer{}, kit.ErrStore
				}
				return store.Do(ctx, r)
			})
			bubble(t, weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 5}, func(c *crowd) {
				c.come("a", 1)
				c.come("b", 1)
				c.come("c", 1)
				err := c.l.SetPolicy(background, weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 6})
				c.end()
				switch fails {
				case 0: // what was booked could not be given back: all keep their turns
					assert.ErrorIs(c.t, err, kit.ErrStore)
					c.want("a 0s", "b 1s", "c 2s")
				case 1:
					assert.ErrorIs(c.t, err, kit.ErrStore)
					c.want("a 0s", "b 0s store-fails", "c 1s")
				case 2:
					assert.ErrorIs(c.t, err, kit.ErrStore)
					c.want("a 0s", "c 0s store-fails", "b 1s")
				default:
					assert.NoError(c.t, err)
					c.want("a 0s", "b 1s", "c 2s")
				}
			}, weir.WithStore(failing))
		})
	}
}

// P16: callers come, leave and are granted while the policy changes all the time. Nobody hangs, and
// no more are granted than the fastest policy allows.
func TestP16_SetPolicyWhileManyWait(t *testing.T) {
	policies := []weir.Policy{
		weir.TokenBucket{Limit: 100, Per: time.Second, Burst: 1},
		weir.LeakyBucket{Limit: 50, Per: time.Second, Capacity: 1000},
		weir.FixedWindow{Limit: 1, Per: 20 * ms},
		weir.TokenBucket{Limit: 20, Per: time.Second, Burst: 1},
	}
	bubble(t, policies[0], func(c *crowd) {
		for i := range 200 {
			c.comeUntil(time.Duration(i)*5*ms+time.Duration(i%7)*40*ms, fmt.Sprint(i), 1)
			if i%3 == 0 {
				require.NoError(c.t, c.l.SetPolicy(background, policies[i/3%len(policies)]))
			}
			c.until(time.Duration(i) * 5 * ms)
		}
		c.end()
		granted := 0
		for _, w := range c.callers {
			if w.err == nil {
				granted++
			}
		}
		assert.GreaterOrEqual(c.t, granted, 10)
		assert.LessOrEqual(c.t, granted, 1+125) // 1.25 s at 100 a second
	})
}

// R16: a waiter whose context ends while SetPolicy asks the store for its new turn has its events,
// or leaves no trace: by a composed policy, too.
func TestR16_CancelledWhileItGetsANewTurn(t *testing.T) {
	window := func(n int) weir.Policy { return weir.FixedWindow{Limit: n, Per: time.Hour, FromFirst: true} }
	log := func(n int) weir.Policy { return weir.SlidingLog{Limit: n, Per: time.Hour} }
	bucket := func(n int) weir.Policy { return weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: n} }
	for _, of := range []func(n int) weir.Policy{
		window, log, bucket,
		func(n int) weir.Policy { return weir.All(window(n), log(n)) },
		func(n int) weir.Policy { return weir.All(bucket(n), weir.Tiers(log(n))) },
	} {
		var b *visitor
		mem, renews := new(weir.MemStore), false
		store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if renews && r.N > 0 {
				renews = false
				b.cancel()
				synctest.Wait()
			}
			return mem.Do(ctx, r)
		})
		bubble(t, of(1), func(c *crowd) {
			c.come("a", 1)
			b = c.come("b", 1)
			renews = true
			require.NoError(t, c.l.SetPolicy(background, of(2)))
			synctest.Wait()
			require.False(t, renews || b.waits())
			want := 0
			if b.err != nil {
				want = 1
			}
			assert.Equal(t, want, c.look("k").Remaining, "%v: b was told %v", of(2), b.err)
		}, weir.WithStore(store))
	}
}
