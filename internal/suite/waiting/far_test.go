package waiting

import (
	"context"
	"strconv"
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
