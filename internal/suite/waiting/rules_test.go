package waiting

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// R18, R20: callers of All of two buckets come and give up at random. Those who stay are granted in
// their order, and in no span more than each of the buckets allows.
func TestR20_AllOfTwoBucketsAfterCancels(t *testing.T) {
	for seed := range uint64(runs.Long(300, runs.InCI(300, 100))) {
		random := rand.New(rand.NewPCG(seed, 20))
		buckets := []weir.TokenBucket{{Limit: 2, Per: time.Second, Burst: 3}, {Limit: 30, Per: 20 * time.Second, Burst: 6}}
		bubble(t, weir.All(buckets[0], buckets[1]), func(c *crowd) {
			n := map[*visitor]int{}
			for i := range 40 {
				many := 1 + random.IntN(3)
				n[c.come(fmt.Sprint(i), many)] = many
				if random.IntN(3) == 0 {
					c.cancel(c.callers[random.IntN(len(c.callers))])
				}
				c.until(time.Since(c.start) + time.Duration(random.IntN(int(500*ms))))
			}
			c.end()
			var went []*visitor
			for _, w := range c.callers {
				if w.err == nil {
					went = append(went, w)
				}
			}
			for i, first := range went {
				events := 0
				for _, w := range went[i:] {
					if w.at < first.at {
						require.GreaterOrEqual(c.t, w.at, first.at, "seed %d: %s before %s", seed, w, first)
					}
					events += n[w]
					for _, b := range buckets {
						span := w.at - first.at
						if most := b.Burst + int(span*time.Duration(b.Limit)/b.Per); events > most {
							require.LessOrEqual(c.t, events, most, "seed %d: from %s to %s", seed, first, w)
						}
					}
				}
			}
		})
	}
}

// R17: the reservations that stay have instants of their own, whichever others are cancelled.
func TestR17_CancelledReservationsDoNotPileUpThoseThatStay(t *testing.T) {
	for _, p := range bookable {
		l, _ := kit.Frozen(p)
		var stay []*weir.Reservation
		for range 8 {
			var cancelled []*weir.Reservation
			for range 50 {
				if r := kit.Reserve(t, l, 1); r.Allowed {
					cancelled = append(cancelled, r)
				}
			}
			for range 5 {
				if r := kit.Reserve(t, l, 1); r.Allowed {
					stay = append(stay, r)
				}
			}
			for _, r := range cancelled {
				require.NoError(t, r.Cancel(background))
			}
		}
		require.NotEmpty(t, stay)
		at := map[time.Duration]int{}
		soon := 0
		for _, r := range stay {
			at[r.Delay()]++
			assert.Equal(t, 1, at[r.Delay()], "at %v", r.Delay())
			if r.Delay() <= 5*time.Second {
				soon++
			}
		}
		assert.LessOrEqual(t, soon, 6)
	}
}

// R16: mock clocks start at the Unix epoch. A grant of that instant is known as well as any other.
func TestR16_AtTheUnixEpoch(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, policy := range []weir.Policy{p, weir.All(p, p), weir.Tiers(p, p)} {
			mock := clock.NewMock()
			l := weir.Must(weir.New(policy, weir.WithClock(mock)))
			fresh := kit.Take(t, l, "k", 0)
			require.NoError(t, kit.Reserve(t, l, 3).Cancel(background))
			assert.Equal(t, fresh, kit.Take(t, l, "k", 0), "%#v", policy)

			r := kit.Reserve(t, l, 3)
			mock.Add(time.Hour)
			kit.Take(t, l, "k", fresh.Limit)
			before := kit.Take(t, l, "k", 0)
			require.NoError(t, r.Cancel(background))
			assert.Equal(t, before, kit.Take(t, l, "k", 0), "%#v", policy)
		}
	})
}

// Callers that wait by policies of their own cost joining callers nothing: a caller behind others
// asks the store only when it has become the first.
func TestWithPolicyFor_JoiningAsksNoOneElse(t *testing.T) {
	var asked atomic.Int64
	mem := new(weir.MemStore)
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		asked.Add(1)
		return mem.Do(ctx, r)
	})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		const joiners = 1000
		for i := range joiners {
			ctx := context.WithValue(background, ownPolicy{}, weir.TokenBucket{Limit: 1 + i%3, Per: time.Second})
			c.comeFor("k", fmt.Sprint(i), 1, ctx)
		}
		assert.LessOrEqual(t, asked.Load(), int64(2), "the one that goes at once, and the first in the line")
		for _, w := range c.callers {
			w.cancel()
		}
		c.end()
		assert.LessOrEqual(t, asked.Load(), int64(2*joiners))
	}, weir.WithStore(store), weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
		return ctx.Value(ownPolicy{}).(weir.Policy)
	}))
}

// Places of those who leave at the same time are given back together, so that a slow store can take
// all of them within a second.
func TestCancel_ManyAtOnceWithASlowStore(t *testing.T) {
	var returns atomic.Int64
	mem := new(weir.MemStore)
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if r.N < 0 {
			returns.Add(1)
			time.Sleep(100 * ms)
		}
		return mem.Do(ctx, r)
	})
	for _, p := range bookable {
		bubble(t, p, func(c *crowd) {
			returns.Store(0)
			c.come("a", 1)
			ctx, cancel := context.WithCancel(background)
			var stay []*visitor
			for i := range 90 {
				if i%3 == 0 {
					stay = append(stay, c.come("stays", 1))
				} else {
					c.comeFor("k", "goes", 1, ctx)
				}
			}
			cancel()
			synctest.Wait()
			time.Sleep(250 * ms)
			assert.LessOrEqual(t, returns.Load(), int64(2))
			assert.Equal(t, 31*time.Second-250*ms, c.look("k").ResetAfter)
			c.end()
			for i, w := range stay {
				require.NoError(c.t, w.err)
				require.Equal(c.t, time.Duration(i+1)*time.Second, w.at)
			}
		}, weir.WithStore(store))
		mem = new(weir.MemStore)
	}
}

// A clock that panics while one waits takes its caller along, and nobody else.
func TestWait_ClockThatPanics(t *testing.T) {
	for _, p := range []weir.Policy{bookable[0], weir.SlidingLog{Limit: 1, Per: time.Second}} {
		clock := new(brokenClock)
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.inside.Go(func() {
				assert.PanicsWithValue(t, "the clock panics", func() { _ = c.l.Wait(background, "k", 1) })
			})
			synctest.Wait()
			c.come("c", 1)
			clock.breaks.Store(true)
			c.until(time.Second)
			clock.breaks.Store(false)
			c.end()
			require.NoError(c.t, c.callers[1].err)
			assert.LessOrEqual(c.t, c.callers[1].at, 2*time.Second)
		}, weir.WithClock(clock))
	}
}

// A policy that panics when a caller comes to the line takes that caller along, and nobody else.
func TestWait_PolicyThatPanics(t *testing.T) {
	p := brokenPolicy{weir.SlidingLog{Limit: 1, Per: time.Second}, new(atomic.Bool)}
	bubble(t, p, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		p.breaks.Store(true)
		c.inside.Go(func() {
			assert.PanicsWithValue(t, "the policy panics", func() { _ = c.l.Wait(background, "k", 1) })
		})
		synctest.Wait()
		c.come("d", 1)
		c.end()
		c.want("a 0s", "b 1s", "d 2s")
	})
}

// brokenPolicy breaks once when it is asked.
type brokenPolicy struct {
	weir.Policy
	breaks *atomic.Bool
}

type brokenDecider struct {
	weir.Decider
	breaks *atomic.Bool
}

func (p brokenPolicy) Decider() (weir.Decider, error) {
	d, err := p.Policy.Decider()
	return brokenDecider{d, p.breaks}, err
}

func (d brokenDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	if d.breaks.CompareAndSwap(true, false) {
		panic("the policy panics")
	}
	return d.Decider.Decide(state, now, ask)
}

// brokenClock is the bubble's clock, which breaks once when it is read.
type brokenClock struct {
	onTime
	breaks atomic.Bool
}

func (c *brokenClock) Now() time.Time {
	if c.breaks.CompareAndSwap(true, false) {
		panic("the clock panics")
	}
	return c.onTime.Now()
}
