package waiting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// After a change the waiters of a queue ask again, while 20 a second come and 10 a second go: the
// line never empties. As soon as nothing else charges the queue they book. Its room is then full,
// and Allow can overtake nobody.
func TestR20_ALineThatNeverEmptiesBooksAgain(t *testing.T) {
	queue := weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 3}
	log := weir.SlidingLog{Limit: 1, Per: time.Second}
	for _, test := range []struct {
		name  string
		usual weir.Policy
		first context.Context
	}{
		{"the policy was changed", log, background},
		{"the first waiter has another plan", queue, context.WithValue(background, ownPolicy{}, log)},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.usual, func(c *crowd) {
				require.NoError(t, c.l.Wait(test.first, "k", 1))
				c.comeFor("k", "first", 1, test.first)
				require.NoError(t, c.l.SetPolicy(background, queue))
				refused := 0
				for i := range 200 {
					w := c.come(fmt.Sprint(i), 1)
					if time.Since(c.start) >= 3*time.Second {
						assert.False(t, c.l.Allow("k"), "overtook those who wait at %v", time.Since(c.start))
						if !w.waits() {
							assert.ErrorIs(t, w.err, weir.ErrQueueFull)
							refused++
						}
					}
					c.until(time.Duration(i+1) * 50 * ms)
				}
				assert.GreaterOrEqual(t, refused, 65)
			}, weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
				own, _ := ctx.Value(ownPolicy{}).(weir.Policy)
				return own
			}))
		})
	}
}

// The store takes its time for the denial of the first waiter. The second one comes later, is
// denied sooner, and goes later all the same.
func TestR18_ALateDenialKeepsItsPlace(t *testing.T) {
	mem, late := new(weir.MemStore), map[any]time.Duration{"a": 300 * ms, "b": 100 * ms, "c": 400 * ms}
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		defer time.Sleep(late[ctx.Value(nameOfVisitor{})])
		return mem.Do(ctx, r)
	})
	threeCome(t, store, "a 1.3s", "b 2.1s", "c 3.4s")
}

// The denial of a is so late that b, who came later, has asked again meanwhile. The events of b are
// counted, so b goes first.
func TestR18_ADenialThatComesWhileTheNextAsksAgain(t *testing.T) {
	mem, asked := new(weir.MemStore), sync.Map{}
	first := map[any]time.Duration{"a": 1200 * ms, "b": 100 * ms, "c": 100 * ms}
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		name := ctx.Value(nameOfVisitor{})
		late := first[name]
		if _, again := asked.LoadOrStore(name, true); again {
			late = 500 * ms
		}
		defer time.Sleep(late)
		return mem.Do(ctx, r)
	})
	threeCome(t, store, "b 1.5s", "a 2.5s", "c 3.5s")
}

// threeCome lets a, b and c wait for a window that is used up, in this order.
func threeCome(t *testing.T, store weir.Store, want ...string) {
	bubble(t, weir.FixedWindow{Limit: 1, Per: time.Second}, func(c *crowd) {
		require.True(t, c.l.Allow("k"))
		c.come("a", 1)
		c.come("b", 1)
		c.come("c", 1)
		c.end()
		c.want(want...)
	}, weir.WithStore(store))
}

// Several events take a nanosecond, or each takes a part of one. All who wait give up, in any
// order: nothing of them is left.
func TestR16_ThoseWhoGiveUpLeaveNoDebt(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 16))
		limit, per, room := 1+random.IntN(9), time.Duration(1+random.IntN(7)), 1+random.IntN(3)
		p := []weir.Policy{
			weir.TokenBucket{Limit: limit, Per: per, Burst: room}, weir.LeakyBucket{Limit: limit, Per: per, Capacity: 20},
		}[seed%2]
		bubble(t, p, func(c *crowd) {
			kit.Take(t, c.l, "k", room)
			before := c.look("k")
			for range 2 + random.IntN(4) {
				c.come("w", 1+random.IntN(room))
			}
			for _, i := range random.Perm(len(c.callers)) {
				c.cancel(c.callers[i])
				require.Error(t, c.callers[i].err)
			}
			require.Equal(t, before, c.look("k"), "seed %d: %#v", seed, p)
		})
	}
}

// While the store is busy with a Return, nobody can join the line. Callers that come meanwhile join
// it afterwards, in the order in which they came. Once, they asked the store all at once, which
// granted the places of buckets in any order.
func TestR18_ThoseWhoComeDuringAReturnKeepTheirOrder(t *testing.T) {
	names := []string{"b", "c", "d", "e", "f", "g"}
	for _, p := range append(bookable, weir.FixedWindow{Limit: 1, Per: time.Second}) {
		_, frees := p.(weir.FixedWindow)
		bubble(t, p, func(c *crowd) {
			require.True(t, c.l.Allow("k"))
			c.come("a", 1)
			go func() { _ = c.l.Return(background, "k", 1) }()
			synctest.Wait()
			for i, name := range names {
				c.come(name, 1)
				c.until(time.Duration(i+1) * 50 * ms)
			}
			c.end()
			if frees {
				c.want("a 500ms", "b 1s", "c 2s", "d 3s", "e 4s", "f 5s", "g 6s")
			} else {
				c.want("a 1s", "b 2s", "c 3s", "d 4s", "e 5s", "f 6s", "g 7s")
			}
		}, weir.WithStore(busyReturns(nil)))
	}
}

// busyReturns is a store that takes half a second for a give-back. All others ask it after before.
func busyReturns(before func() error) weir.Store {
	mem := new(weir.MemStore)
	return kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if r.N < 0 {
			time.Sleep(500 * ms)
		} else if before != nil {
			if err := before(); err != nil {
				return weir.Answer{}, err
			}
		}
		return mem.Do(ctx, r)
	})
}

// Callers that come during a Return ask one after the other, but only while their order matters. It
// does not if there is enough for all, or if the store fails.
func TestWait_TogetherWhereOrderIsOfNoMatter(t *testing.T) {
	for _, test := range []struct {
		err   error
		burst int
		last  time.Duration
	}{
		{nil, 99, 700 * ms},
		{errors.New("down"), 99, 700 * ms},
		{nil, 3, 900 * ms}, // the fourth would be too late
	} {
		busy := false
		bubble(t, weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: test.burst}, func(c *crowd) {
			go func() { _ = c.l.Return(background, "k", 1) }()
			synctest.Wait()
			busy = true
			for range 4 {
				c.comeUntil(time.Minute, "a", 1)
			}
			c.end()
			var last time.Duration
			for _, w := range c.callers {
				last = max(last, w.at)
			}
			assert.Equal(c.t, test.last, last)
		}, weir.WithStore(busyReturns(func() error {
			if !busy {
				return nil
			}
			time.Sleep(100 * ms)
			return test.err
		})))
	}
}
