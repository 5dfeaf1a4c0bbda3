package waiting

import (
	"cmp"
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
	"github.com/weir-go/weir/internal/suite/runs"
)

// The store decides so late on what a gives back that the slots of a have passed. It frees none of
// those of b, which stays. Once b and the next caller went in one slot.
func TestR17_ALateGiveBackFreesNothingOfThoseWhoStay(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 20}, func(c *crowd) {
		require.True(t, kit.Take(t, c.l, "k", 1).Allowed)
		a := c.come("a", 3)
		c.come("b", 1)
		c.until(60 * ms)
		c.cancel(a)
		c.until(360 * ms)
		assert.False(t, c.l.Allow("k"))
		c.until(459 * ms)
		assert.False(t, c.l.Allow("k"))
		c.until(460 * ms)
		assert.True(t, c.l.Allow("k"))
		c.end()
		assert.Equal(t, "b 360ms", c.callers[1].String())
	}, weir.WithStore(backAfter(300*ms)))
}

// The same for a reservation that is cancelled, alone and where another policy counts for the key.
func TestR17_ALateCancelFreesNothingOfThoseWhoStay(t *testing.T) {
	for _, others := range []bool{false, true} {
		store := backAfter(400 * ms)
		log := weir.Must(weir.New(weir.SlidingLog{Limit: 1000, Per: 420 * ms}, weir.WithStore(store), weir.WithName("l")))
		bubble(t, weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 20}, func(c *crowd) {
			other := kit.Reserve(t, log, 1)
			c.until(500 * ms)
			require.True(t, kit.Take(t, c.l, "k", 1).Allowed)
			a := kit.Reserve(t, c.l, 3)
			require.Equal(t, 100*ms, a.Delay())
			b := c.come("b", 1)
			c.until(560 * ms)
			if others {
				require.NoError(t, other.Settle(background, 2))
			}
			c.inside.Go(func() { assert.NoError(t, a.Cancel(background)) })
			c.until(960 * ms)
			assert.Equal(t, "b 900ms", b.String())
			c.until(999 * ms)
			assert.False(t, c.l.Allow("k"))
			c.until(1000 * ms)
			assert.True(t, c.l.Allow("k"))
		}, weir.WithStore(store), weir.WithName("l"))
	}
}

// While a change of policy waits for a booking that takes long, a gives up, and b goes. The change frees
// nothing of b's slot. Once c went 50 ms after b.
func TestR17_AChangeFreesNothingOfThoseWhoHaveGone(t *testing.T) {
	store, slow := slowOnce(240 * ms)
	bubble(t, weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 20}, func(c *crowd) {
		require.True(t, kit.Take(t, c.l, "k", 1).Allowed)
		a := c.come("a", 1)
		c.come("b", 1)
		c.come("c", 1)
		c.until(10 * ms)
		*slow = true
		c.come("d", 1)
		c.inside.Go(func() {
			assert.NoError(t, c.l.SetPolicy(background, weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 19}))
		})
		c.until(30 * ms)
		c.cancel(a)
		c.end()
		c.want("b 200ms", "a 250ms cancelled", "c 300ms", "d 400ms")
	}, weir.WithStore(store))
}

// While a booking takes long, the first and the fifteenth of a queue give up, and those between them
// begin to go. What the first could have given back has passed. Those behind the fifteenth move up all
// the same.
func TestR17_WhoGaveUpBeforeThoseWhoHaveGoneHoldsUpNobody(t *testing.T) {
	store, slow := slowOnce(100 * ms)
	bubble(t, weir.LeakyBucket{Limit: 100, Per: time.Second, Capacity: 100}, func(c *crowd) {
		require.True(t, c.l.Allow("k"))
		for i := range 17 {
			c.come(fmt.Sprint(1+i), 1) // at 10 ms, 20 ms and so on
		}
		*slow = true
		c.come("late", 1)
		c.until(5 * ms)
		c.cancel(c.callers[0])
		c.until(50 * ms)
		c.cancel(c.callers[14])
		c.end()
		assert.Equal(t, "14 140ms", c.callers[13].String())
		assert.Equal(t, "16 150ms", c.callers[15].String())
		assert.Equal(t, "17 160ms", c.callers[16].String())
		assert.Equal(t, "late 170ms", c.callers[17].String())
	}, weir.WithStore(store))
}

// A went is n events that went ahead at an instant.
type went struct {
	at time.Duration
	n  int
}

// lateBack decides on what is given back after a time that late returns, and on all else at once.
func lateBack(late func() time.Duration) weir.Store {
	mem := new(weir.MemStore)
	return kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if r.N < 0 {
			time.Sleep(late())
		}
		return mem.Do(ctx, r)
	})
}

// However late a store decides on what waiters give back: what goes ahead keeps to the policy, and
// those who stay go in their order. Those who gave up have not gone ahead, even if their instants
// passed before the store decided.
func TestR17_LateGiveBacks(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 40},
		weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 6},
	} {
		for seed := range uint64(runs.Long(2000, 60)) {
			random := rand.New(rand.NewPCG(seed, 17))
			var mu sync.Mutex // guards random
			var all []went
			upTo := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return random.IntN(n)
			}
			wants := map[*visitor]int{}
			store := lateBack(func() time.Duration { return time.Duration(upTo(700)) * ms })
			bubble(t, p, func(c *crowd) {
				for i := range 100 {
					switch upTo(8) {
					case 0, 1, 2:
						if kit.Take(t, c.l, "k", 1).Allowed {
							all = append(all, went{time.Since(c.start), 1})
						}
					case 3:
						if waiting := c.waiting(); len(waiting) > 0 {
							c.cancel(waiting[upTo(len(waiting))])
						}
					case 4, 5, 6:
						c.until(time.Since(c.start) + time.Duration(upTo(300))*ms)
					default:
						n := 1 + upTo(4)
						wants[c.come(fmt.Sprint(i), n)] = n
					}
				}
				c.end()
				last := time.Duration(0)
				for _, w := range c.callers {
					if w.err == nil {
						require.GreaterOrEqual(t, w.at, last, "%s overtook, seed %d", w.name, seed)
						last = w.at
						all = append(all, went{w.at, wants[w]})
					}
				}
			}, weir.WithStore(store))
			requireKept(t, p, all, seed)
		}
	}
}

// requireKept requires that what went ahead keeps to a policy of 10 a second, in every span.
func requireKept(t *testing.T, p weir.Policy, all []went, seed uint64) {
	slices.SortStableFunc(all, func(a, b went) int { return cmp.Compare(a.at, b.at) })
	bucket, tokens := p.(weir.TokenBucket)
	for i, first := range all {
		events := 0
		for _, w := range all[i:] {
			least := events // of a queue each goes after the slots of those before it
			if events += w.n; tokens {
				least = events - bucket.Burst
			}
			require.GreaterOrEqual(t, w.at-first.at, time.Duration(least)*100*ms, "%T, seed %d: %v", p, seed, all)
		}
	}
}

// waiting is those who wait and have not given up.
func (c *crowd) waiting() (waiting []*visitor) {
	for _, w := range c.callers {
		if w.waits() && w.ctx.Err() == nil {
			waiting = append(waiting, w)
		}
	}
	return waiting
}
