package waiting

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestWait_GrantsAtTheInstantThatThePolicyTells(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		n      []int  // what the callers, who come at once, wait for
		at     string // when they are granted
	}{
		{weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 2}, []int{1, 1, 1, 1}, "0s 0s 100ms 200ms"},
		{weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 3}, []int{3, 2, 3, 1}, "0s 200ms 500ms 600ms"},
		{weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 1}, []int{1, 1, 1, 1}, "0s 142.857143ms 285.714286ms 428.571429ms"},
		{weir.TokenBucket{Limit: 3, Per: 10, Burst: 1}, []int{1, 1, 1, 1, 1}, "0s 4ns 7ns 10ns 14ns"},
		{weir.LeakyBucket{Limit: 10, Per: time.Second}, []int{1, 1, 1, 1}, "0s 100ms 200ms 300ms"},
		{weir.LeakyBucket{Limit: 10, Per: time.Second}, []int{3, 2, 3, 1}, "0s 300ms 500ms 800ms"},
		{weir.LeakyBucket{Limit: 7, Per: time.Second}, []int{1, 2, 1, 1}, "0s 142.857143ms 428.571429ms 571.428572ms"},
		{weir.FixedWindow{Limit: 2, Per: time.Second}, []int{1, 1, 1, 1, 1}, "0s 0s 1s 1s 2s"},
		{weir.FixedWindow{Limit: 4, Per: time.Second}, []int{3, 2, 3, 1}, "0s 1s 2s 2s"},
		{weir.FixedWindow{Limit: 2, Per: 7, FromFirst: true}, []int{1, 1, 1, 1, 1}, "0s 0s 7ns 7ns 14ns"},
		{weir.SlidingLog{Limit: 2, Per: time.Second}, []int{1, 1, 1, 1, 1}, "0s 0s 1s 1s 2s"},
		{weir.SlidingLog{Limit: 4, Per: time.Second}, []int{3, 2, 3, 1}, "0s 1s 2s 2s"},
		{weir.SlidingWindow{Limit: 2, Per: 10}, []int{2, 1, 1, 1}, "0s 11ns 16ns 21ns"},
		{weir.SlidingWindow{Limit: 4, Per: 100, Buckets: 4}, []int{4, 1, 4}, "0s 101ns 201ns"},
	} {
		t.Run(fmt.Sprintf("%T%+v", test.policy, test.policy), func(t *testing.T) {
			bubble(t, test.policy, func(c *crowd) {
				var callers []*visitor
				for i, n := range test.n {
					callers = append(callers, c.come(fmt.Sprint(i), n))
				}
				c.end()
				at := ""
				for i, w := range callers {
					require.NoError(c.t, w.err)
					at += []string{"", " "}[min(i, 1)] + w.at.String()
				}
				assert.Equal(c.t, test.at, at)
			})
		})
	}
}

func TestWait_ForNothing(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			c.come("the only one", 1)
			c.come("next", 1)
			before := c.look("k")
			c.come("nothing", 0)
			assert.Equal(c.t, before, c.look("k"))
			assert.Equal(c.t, "nothing 0s", c.callers[2].String())
		})
	}
}

func TestWait_ForFewerThanNothing(t *testing.T) {
	for _, n := range []int{-1, math.MinInt} {
		bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
			require.True(c.t, c.l.Allow("k"))
			before := c.look("k")
			err := c.come("negative", n).err
			assert.EqualError(c.t, err, fmt.Sprintf("weir: Wait for %d events, must be at least 0", n))
			assert.Equal(c.t, before, c.look("k"))
		})
	}
}

func TestWait_WithAnEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range policiesToWaitFor {
		for _, n := range []int{0, 1} {
			bubble(t, p, func(c *crowd) {
				c.comeFor("k", "ended", n, ended)
				c.want("ended 0s cancelled")
				assert.Zero(c.t, c.look("k").ResetAfter, "it has counted")
			})
		}
	}
}

func TestWait_ErrorSaysWhatWasAskedFor(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 1, Per: time.Second}, func(c *crowd) {
		err := c.come("too many", 2).err
		assert.EqualError(c.t, err, "weir: Wait for 2 events: more events than the policy ever grants at once")
	})
}

func TestWait_KeysDoNotHoldEachOtherUp(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			for i := range 5 {
				c.come(fmt.Sprint("busy", i), 1)
			}
			w := c.comeFor("quiet", "quiet", 1, context.Background())
			assert.Equal(c.t, "quiet 0s", w.String())
			c.end()
			assert.Equal(c.t, 4*time.Second, c.callers[4].at.Truncate(time.Microsecond))
		})
	}
}

// One limiter's line is not another's, even on one store, if they have different names.
func TestWait_NamesDoNotHoldEachOtherUp(t *testing.T) {
	store := new(weir.MemStore)
	p := weir.TokenBucket{Limit: 1, Per: time.Second}
	bubble(t, p, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		other := weir.Must(weir.New(p, weir.WithStore(store), weir.WithName("other")))
		require.NoError(c.t, other.Wait(context.Background(), "k", 1))
		assert.Zero(c.t, time.Since(c.start))
	}, weir.WithStore(store), weir.WithName("one"))
}
