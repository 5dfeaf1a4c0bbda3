package waiting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A slow store answers late: after the time that the context names, if it names one. It decides at
// once, though, as a server does whose answer is under way.
func slow(s weir.Store) weir.Store {
	return kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		a, err := s.Do(ctx, r)
		if late, ok := ctx.Value(lateness{}).(time.Duration); ok && r.N > 0 {
			time.Sleep(late)
		}
		return a, err
	})
}

type lateness struct{}

// decidesAfter is a store that decides on a request after a time that takes returns.
func decidesAfter(takes func(weir.Request) time.Duration) weir.Store {
	mem := new(weir.MemStore)
	return kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		time.Sleep(takes(r))
		return mem.Do(ctx, r)
	})
}

// slowOnce is a store that takes a time to decide on the next booking after slow was set, and none for
// all else.
func slowOnce(takes time.Duration) (store weir.Store, slow *bool) {
	slow = new(bool)
	return decidesAfter(func(r weir.Request) time.Duration {
		if *slow && r.MaxWait > 0 {
			*slow = false
			return takes
		}
		return 0
	}), slow
}

// backAfter decides on what is given back after a time, and on all else at once.
func backAfter(takes time.Duration) weir.Store {
	return decidesAfter(func(r weir.Request) time.Duration {
		if r.N < 0 {
			return takes
		}
		return 0
	})
}

func (c *crowd) comeSlowly(late time.Duration, name string, n int) *visitor {
	return c.comeFor("k", name, n, context.WithValue(context.Background(), lateness{}, late))
}

var slowPolicies = []weir.Policy{
	weir.TokenBucket{Limit: 1, Per: time.Second},
	weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 99},
}

// The answer to c is under way while b, ahead of it, gives its place back. c must move up all the
// same: its slot is the next caller's.
func TestCancel_MovesUpThoseWhoseAnswerIsUnderWay(t *testing.T) {
	for _, p := range slowPolicies {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.come("b", 1)
			c.comeSlowly(100*ms, "c", 1)
			c.cancel(c.callers[1])
			c.until(200 * ms)
			c.come("d", 1)
			c.end()
			require.NoError(c.t, c.callers[2].err)
			assert.Less(c.t, c.callers[2].at, 1200*ms)
			assert.Equal(c.t, "d 2s", c.callers[3].String())
		}, weir.WithStore(slow(new(weir.MemStore))))
	}
}

// Requests and answers overtake each other on the way to the store and back. Still, no two events
// come at once, and no place stays booked for a caller that has left.
func TestCancel_WithASlowStore(t *testing.T) {
	const latency = 20 * ms // at most, each way
	for _, p := range slowPolicies {
		for seed := range uint64(30) {
			random, mem := rand.New(rand.NewPCG(seed, 10)), new(weir.MemStore)
			var mu sync.Mutex
			hop := func() {
				mu.Lock()
				d := time.Duration(random.Int64N(int64(latency)))
				mu.Unlock()
				time.Sleep(d)
			}
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				hop()
				defer hop()
				return mem.Do(ctx, r)
			})
			bubble(t, p, func(c *crowd) {
				for i := range 60 {
					w := c.come(fmt.Sprint(i), 1)
					mu.Lock()
					pause := time.Duration(random.Int64N(int64(600 * ms)))
					if random.IntN(2) == 0 {
						time.AfterFunc(time.Duration(random.Int64N(int64(3*time.Second))), w.cancel)
					}
					if random.IntN(3) == 0 {
						pause = time.Duration(random.Int64N(int64(latency)))
					}
					mu.Unlock()
					time.Sleep(pause)
				}
				c.end()
				c.apart(900 * ms)
				assert.LessOrEqual(c.t, c.look("k").ResetAfter, time.Second, "booked for nobody")
			}, weir.WithStore(store))
		}
	}
}

// apart requires that no two were granted in less than d.
func (c *crowd) apart(d time.Duration) {
	c.t.Helper()
	var granted []time.Duration
	for _, w := range c.callers {
		if w.err == nil {
			granted = append(granted, w.at)
		} else {
			require.ErrorIs(c.t, w.err, context.Canceled)
		}
	}
	slices.Sort(granted)
	for i, at := range granted[1:] {
		require.GreaterOrEqual(c.t, at-granted[i], d, "at %s", at)
	}
}

// A caller that hears of its instant late still goes before callers that come after it. It goes at
// once if the instant has passed meanwhile.
func TestWait_LateAnswersKeepTheOrder(t *testing.T) {
	for _, p := range slowPolicies {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.comeSlowly(5*time.Second, "b", 1) // its instant is 1 s, and it hears of it at 5 s
			c.until(5500 * ms)
			c.come("c", 1)
			c.come("d", 1)
			c.end()
			c.want("a 0s", "b 5s", "c 5.5s", "d 6.5s")
		}, weir.WithStore(slow(new(weir.MemStore))))
	}
}
