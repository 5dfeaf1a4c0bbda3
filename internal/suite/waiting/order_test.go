package waiting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// No caller is granted before one that came earlier, under any policy, and for any number of
// events.
func TestWait_GrantsInTheOrderOfArrival(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 5},
		weir.TokenBucket{Limit: 3_000_000, Per: time.Millisecond, Burst: 5}, // a third of a nanosecond each
		weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 2000},
		weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 2000},
		weir.FixedWindow{Limit: 5, Per: time.Second},
		weir.FixedWindow{Limit: 5, Per: time.Second, FromFirst: true},
		weir.SlidingWindow{Limit: 5, Per: time.Second},
		weir.SlidingWindow{Limit: 50, Per: time.Second, Buckets: 10},
		weir.SlidingLog{Limit: 5, Per: time.Second},
	} {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			bubble(t, p, func(c *crowd) {
				random := rand.New(rand.NewPCG(1, 2))
				for i := range 300 {
					c.come(fmt.Sprint(i), 1+random.IntN(5))
					if random.IntN(10) == 0 {
						c.until(time.Since(c.start) + time.Duration(random.IntN(1e9)))
					}
				}
				c.end()
				for i, w := range c.callers {
					require.NoError(c.t, w.err)
					require.GreaterOrEqual(c.t, w.at, c.callers[max(i-1, 0)].at, "caller %d overtook", i)
				}
			})
		})
	}
}

// Those whom a window lets through at one instant are counted in the order in which they came.
func TestWait_CountsInTheOrderOfArrivalWithinAnInstant(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 5, Per: time.Second},
		weir.SlidingWindow{Limit: 5, Per: time.Second},
		weir.SlidingLog{Limit: 5, Per: time.Second},
	} {
		var came, counted []string
		mem := new(weir.MemStore)
		store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := mem.Do(ctx, r)
			if a.Allowed {
				counted = append(counted, ctx.Value(nameOfVisitor{}).(string))
			}
			return a, err
		})
		bubble(t, p, func(c *crowd) {
			for i := range 50 {
				came = append(came, fmt.Sprint(i))
				c.come(came[i], 1)
			}
			c.end()
		}, weir.WithStore(store))
		assert.Equal(t, came, counted)
	}
}

// A caller that waits for many events is not starved by callers behind it that want few.
func TestWait_FewDoNotOvertakeMany(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		want   []string
	}{
		{weir.TokenBucket{Limit: 5, Per: time.Second}, []string{"first 0s", "many 200ms", "few 400ms"}},
		{weir.LeakyBucket{Limit: 5, Per: time.Second, Capacity: 9}, []string{"first 0s", "many 200ms", "few 1.2s"}},
		{weir.FixedWindow{Limit: 5, Per: time.Second}, []string{"first 0s", "many 1s", "few 2s"}},
		{weir.SlidingLog{Limit: 5, Per: time.Second}, []string{"first 0s", "many 1s", "few 2s"}},
		{weir.SlidingWindow{Limit: 5, Per: time.Second}, []string{"first 0s", "many 1.000000001s", "few 2.000000001s"}},
	} {
		bubble(t, test.policy, func(c *crowd) {
			c.come("first", 1)
			c.come("many", 5)
			c.come("few", 1)
			c.end()
			c.want(test.want...)
		})
	}
}

// With buckets a waiter has its place against callers of Take and Allow too.
func TestWait_TakeDoesNotOvertakeABooking(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 2},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 2)
			c.come("b", 1)
			for c.callers[1].waits() {
				require.False(c.t, c.l.Allow("k"), "at %s", time.Since(c.start))
				c.until(time.Since(c.start) + 100*ms)
			}
		})
	}
}

// Another limiter resets the key, and a keeps its late instant. Those that come at the same time then have
// earlier ones, but go behind a, in the order in which the store decided. Once each stood before the
// last one.
func TestR18_ThoseBehindALaterInstantKeepTheirOrder(t *testing.T) {
	store := weir.WithStore(backAfter(50 * ms))
	queue := weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}
	bubble(t, queue, func(c *crowd) {
		kit.Reserve(t, c.l, 20)
		c.come("a", 1) // at 2 s
		require.NoError(t, weir.Must(weir.New(queue, store)).Reset(background, "k"))
		c.inside.Go(func() { kit.NoError(t, c.l.Return(background, "k", 1)) })
		synctest.Wait()
		for _, name := range []string{"b", "c", "d"} {
			c.come(name, 1)
		}
		c.until(100 * ms)
		kit.SetPolicy(t, c.l, weir.LeakyBucket{Limit: 9, Per: time.Second, Capacity: 50})
		c.end()
		for i, w := range c.callers[1:] {
			assert.Less(t, c.callers[i].at, w.at, "%s before %s", c.callers[i].name, w.name)
		}
	}, store)
}
