package waiting

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The store is 20 ms away, and ten callers come in that time, half of what the policy grants. They
// wait while events are given back, and then ask in their order. Those who come meanwhile do not wait
// for that for ever. Once all asked one after the other from then on, and the last came 36 s late.
func TestWait_OneReturnOverAFarStoreHoldsUpFew(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 1},
		weir.TokenBucket{Limit: 1000, Per: time.Second},
		weir.LeakyBucket{Limit: 1000, Per: time.Second},
		weir.FixedWindow{Limit: 1000, Per: time.Second},
	} {
		bubble(t, p, func(c *crowd) {
			const callers = 1000
			for i := range callers {
				c.come(strconv.Itoa(i), 1)
				if i == callers/2 {
					c.inside.Go(func() { kit.NoError(t, c.l.Return(background, "k", 1)) })
				}
				c.until(time.Duration(2*(i+1)) * ms)
			}
			c.end()
			for i, w := range c.callers {
				kit.NoError(t, w.err)
				took, most := w.at-time.Duration(2*i)*ms, 20*ms
				if i >= callers/2 && i < callers/2+50 {
					most = 100 * ms
				}
				assert.LessOrEqual(t, took, most, "%d of %v", i, p)
			}
		}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { return 20 * ms })))
	}
}

// The store is 20 ms away. In a second, 500 callers wait, and 100 reservations are cancelled by callers
// whose contexts have ended. Each Cancel waits for the others only as long as somebody has booked. Once
// all of a batch did so one after the other. Half of them failed after a second, and where contexts did
// not end, ever more callers waited.
func TestCancel_ManyOverAFarStore(t *testing.T) {
	bubble(t, weir.TokenBucket{Limit: 700, Per: time.Second, Burst: 1}, func(c *crowd) {
		ended, cancel := context.WithCancel(background)
		cancel()
		for i := range 5000 {
			c.come(strconv.Itoa(i), 1)
			if i%5 == 0 {
				c.inside.Go(func() {
					r, err := c.l.Reserve(background, "k", 1)
					kit.NoError(t, err)
					time.Sleep(10 * ms)
					kit.NoError(t, r.Cancel(ended))
				})
			}
			c.until(time.Duration(2*(i+1)) * ms)
		}
		c.end()
		for i, w := range c.callers {
			kit.NoError(t, w.err)
			assert.Less(t, w.at-time.Duration(2*i)*ms, 1500*ms, i)
		}
	}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { return 20 * ms })))
}

// The store is 20 ms away. A thousand callers come during a Return, and nobody later. Once they asked one
// after the other, and the last was served after 20 s. By the policy it is its turn after one second.
func TestWait_ManyThatComeDuringAReturnOverAFarStore(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 1},
		weir.LeakyBucket{Limit: 1000, Per: time.Second},
	} {
		bubble(t, p, func(c *crowd) {
			c.inside.Go(func() { kit.NoError(t, c.l.Return(background, "k", 1)) })
			c.until(ms)
			for i := range 1000 {
				c.come(strconv.Itoa(i), 1)
			}
			c.end()
			for _, w := range c.callers {
				kit.NoError(t, w.err)
				assert.LessOrEqual(t, w.at, 2100*ms, p)
			}
		}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { return 20 * ms })))
	}
}

// Callers with plans of their own come while the key is reset. y wants more than its plan has left,
// and z, behind it, does not overtake it, although the plan of x has enough left for both.
func TestR18_PlansThatHaveLessLeftThanTheFirst(t *testing.T) {
	type name struct{}
	big, small := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 6}, weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 3}
	of := func(p weir.Policy) context.Context { return context.WithValue(background, name{}, p) }
	slow := false
	plans := weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
		if slow {
			slow = false
			time.Sleep(500 * ms)
		}
		p, _ := ctx.Value(name{}).(weir.Policy)
		return p
	})
	for range 20 { // those who ask at once do so in any order
		bubble(t, weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 5}, func(c *crowd) {
			_, err := c.l.Take(of(big), "k", 6)
			kit.NoError(t, err)
			c.comeFor("k", "a", 1, of(big))
			slow = true
			c.inside.Go(func() { kit.NoError(t, c.l.Reset(background, "k")) })
			for i, caller := range []struct {
				name string
				n    int
				plan weir.Policy
			}{{"x", 1, big}, {"y", 3, small}, {"z", 1, big}} {
				c.until(time.Duration(10+10*i) * ms)
				c.comeFor("k", caller.name, caller.n, of(caller.plan))
			}
			c.end()
			assert.LessOrEqual(t, c.callers[2].at, c.callers[3].at)
		}, plans)
	}
}

// The store is 20 ms away. A hundred callers use up all events, and then 80 a second come, fewer than the
// policy grants. They wait, and ask again. Once they did so one after the other, and ever more waited.
func TestWait_ThoseWhoAskAgainOverAFarStore(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: time.Second},
		weir.SlidingWindow{Limit: 100, Per: time.Second},
		weir.SlidingLog{Limit: 100, Per: time.Second},
		weir.All(weir.TokenBucket{Limit: 100, Per: time.Second, Burst: 10}, weir.FixedWindow{Limit: 100_000, Per: time.Hour}),
	} {
		bubble(t, p, func(c *crowd) {
			for i := range 100 {
				c.come(strconv.Itoa(i), 1)
			}
			const every = time.Second / 80
			for i := range 800 {
				c.until(time.Duration(i) * every)
				c.come(strconv.Itoa(i), 1)
			}
			c.end()
			for i, w := range c.callers[100:] {
				kit.NoError(t, w.err)
				assert.LessOrEqual(t, w.at-time.Duration(i)*every, 1100*ms, "%d of %v", i, p)
			}
		}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { return 20 * ms })))
	}
}

// As many ask again as there are events left, and one more, who learns when that is next so. Their order
// may change within a window, and no further.
func TestWait_NoMoreAskAgainThanMayBeGranted(t *testing.T) {
	var asked atomic.Int64
	bubble(t, weir.FixedWindow{Limit: 10, Per: time.Second}, func(c *crowd) {
		kit.Take(t, c.l, "k", 10)
		for i := range 300 {
			c.come(strconv.Itoa(i), 1)
		}
		c.end()
		for i, w := range c.callers {
			kit.NoError(t, w.err)
			assert.Equal(t, time.Duration(i/10+1), w.at/time.Second, i)
		}
	}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { asked.Add(1); return 20 * ms })))
	assert.LessOrEqual(t, asked.Load(), int64(1+300+300+31)) // all ask once when they come
}

// When a is granted, b and c may ask along with it, because enough is left for both. Then the policy
// changes, and b is denied. c no longer asks before b, not even when its context ends.
func TestR18_ThoseWhoMightAskBeforeAChange(t *testing.T) {
	of := func(limit int) weir.Policy { return weir.SlidingLog{Limit: limit, Per: time.Second} }
	for name, change := range map[string]func(l *weir.KeyedLimiter) error{
		"SetPolicy": func(l *weir.KeyedLimiter) error { return l.SetPolicy(background, of(3)) },
		"SetPolicy after a Return": func(l *weir.KeyedLimiter) error {
			go func() { assert.NoError(t, l.Return(background, "k", 1)) }()
			time.Sleep(ms)
			return l.SetPolicy(background, of(3))
		},
	} {
		for _, cancels := range []bool{false, true} {
			bubble(t, of(6), func(c *crowd) {
				kit.Take(t, c.l, "k", 6)
				c.come("a", 2)
				c.until(100 * ms)
				c.come("b", 3)
				c.until(200 * ms)
				last := c.come("c", 1)
				c.until(1030 * ms) // while the store decides on a
				c.inside.Go(func() { assert.NoError(t, change(c.l)) })
				c.until(1500 * ms)
				if cancels {
					last.cancel()
				}
				c.end()
				b, end := c.callers[1], c.callers[2]
				kit.NoError(t, b.err)
				assert.LessOrEqual(t, b.at, 2100*ms, name)
				if cancels {
					assert.Equal(t, "c 1.5s cancelled", end.String(), name)
				} else {
					assert.LessOrEqual(t, b.at, end.at, name)
				}
			}, weir.WithStore(decidesAfter(func(weir.Request) time.Duration { return 20 * ms })))
		}
	}
}

// All may ask along with the first when the key is reset, and the store fails. They still do not ask one
// after the other.
func TestWait_ThoseWhoMightAskBeforeAResetThatFails(t *testing.T) {
	mem := new(weir.MemStore)
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		time.Sleep(20 * ms)
		if r.Forget {
			return weir.Answer{}, kit.ErrStore
		}
		return mem.Do(ctx, r)
	})
	bubble(t, weir.FixedWindow{Limit: 50, Per: time.Second}, func(c *crowd) {
		kit.Take(t, c.l, "k", 50)
		for i := range 50 {
			c.come(strconv.Itoa(i), 1)
		}
		c.until(1010 * ms) // while the store decides on the first
		c.inside.Go(func() { assert.ErrorIs(t, c.l.Reset(background, "k"), kit.ErrStore) })
		c.end()
		for _, w := range c.callers {
			kit.NoError(t, w.err)
			assert.LessOrEqual(t, w.at, 1100*ms, w.name)
		}
	}, weir.WithStore(store))
}
