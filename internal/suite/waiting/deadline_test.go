package waiting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// turns tells when the second caller of one event is granted under each policy of one a second.
var turns = []struct {
	policy weir.Policy
	turn   time.Duration
}{
	{weir.TokenBucket{Limit: 1, Per: time.Second}, time.Second},
	{weir.TokenBucket{Limit: 7, Per: 7 * time.Second, Burst: 1}, time.Second},
	{weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 1}, 142_857_143},
	{weir.LeakyBucket{Limit: 1, Per: time.Second}, time.Second},
	{weir.LeakyBucket{Limit: 7, Per: time.Second}, 142_857_143},
	{weir.FixedWindow{Limit: 1, Per: time.Second}, time.Second},
	{weir.FixedWindow{Limit: 1, Per: time.Second, FromFirst: true}, time.Second},
	{weir.SlidingWindow{Limit: 1, Per: time.Second}, time.Second + 1},
	{weir.SlidingLog{Limit: 1, Per: time.Second}, time.Second},
}

func TestDeadline_AtTheTurnIsInTime(t *testing.T) {
	for _, test := range turns {
		bubble(t, test.policy, func(c *crowd) {
			c.come("a", 1)
			c.comeUntil(test.turn, "b", 1)
			c.end()
			c.want("a 0s", "b "+test.turn.String())
		})
	}
}

func TestDeadline_BeforeTheTurnFailsAtOnceAndCountsNothing(t *testing.T) {
	for _, test := range turns {
		for _, deadline := range []time.Duration{test.turn - 1, test.turn / 2, 1} {
			bubble(t, test.policy, func(c *crowd) {
				c.come("a", 1)
				before := c.look("k")
				b := c.comeUntil(deadline, "b", 1)
				assert.Equal(c.t, "b 0s too-late", b.String())
				assert.False(c.t, errors.Is(b.err, context.DeadlineExceeded), "the deadline has not passed")
				assert.Equal(c.t, before, c.look("k"))
				c.until(test.turn)
				assert.True(c.t, c.l.Allow("k"))
			})
		}
	}
}

// Each of those behind has its own deadline. One who would be too late is no burden to the others.
func TestDeadline_OfThoseBehind(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.comeUntil(1*time.Second, "b", 1)
			c.comeUntil(2*time.Second-1, "too late", 1)
			c.comeUntil(2*time.Second, "c", 1)
			c.come("d", 1)
			c.comeUntil(3*time.Second, "no room", 1)
			c.comeUntil(4*time.Second, "e", 1)
			c.end()
			c.want("a 0s", "too late 0s too-late", "no room 0s too-late", "b 1s", "c 2s", "d 3s", "e 4s")
		})
	}
}

// Under a window's policy it shows when one is the first how long it has to wait. It fails then,
// not at its deadline.
func TestDeadline_OfThoseBehindInALineThatAsksAgain(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 1, Per: time.Second},
		weir.SlidingLog{Limit: 1, Per: time.Second},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.come("b", 1)
			c.comeUntil(1*time.Second-1, "before b", 1)
			c.comeUntil(2*time.Second-1, "before c", 1)
			c.comeUntil(2*time.Second, "c", 1)
			c.end()
			c.want("a 0s", "before b 0s too-late", "b 1s", "before c 1s too-late", "c 2s")
		})
	}
}

// Those who were refused for their deadlines move nobody back.
func TestDeadline_ManyTooLate(t *testing.T) {
	for _, test := range turns {
		bubble(t, test.policy, func(c *crowd) {
			c.come("a", 1)
			c.come("b", 1)
			for i := range 100 {
				c.comeUntil(test.turn/2, fmt.Sprint(i), 1)
			}
			c.end()
			assert.Equal(c.t, test.turn, c.callers[1].at)
		})
	}
}

// A window cannot tell callers behind the first when their turn comes. Their deadline can pass
// while they wait.
func TestDeadline_PassesWhileOneWaits(t *testing.T) {
	bubble(t, weir.FixedWindow{Limit: 1, Per: time.Second}, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		c.come("c", 1)
		c.comeUntil(1500*ms, "d", 1) // its turn would be at 3 s; c is before it until 2 s
		c.come("e", 1)
		c.end()
		c.want("a 0s", "b 1s", "d 1.5s deadline", "c 2s", "e 3s")
	})
}

// steppedClock is a Clock that a test sets.
type steppedClock struct{ time.Time }

func (c *steppedClock) Now() time.Time                         { return c.Time }
func (c *steppedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// dueContext is a context with a deadline by a Clock of the test.
type dueContext struct {
	context.Context
	due time.Time
}

func (c dueContext) Deadline() (time.Time, bool) { return c.due, true }

// R7: when the Clock has stepped back, a deadline counts from the latest instant, as decisions do.
func TestR7_ADeadlineAfterAStepBack(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	clock := &steppedClock{start}
	k := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithClock(clock)))
	require.True(t, k.Allow("k"))
	clock.Time = start.Add(-30 * time.Minute)
	ctx := dueContext{context.Background(), start.Add(45 * time.Minute)}
	r, err := k.Reserve(ctx, "k", 1) // the next token is there in an hour
	require.NoError(t, err)
	assert.False(t, r.Allowed)
	assert.ErrorIs(t, k.Wait(ctx, "k", 1), weir.ErrTooLate)
}

// R9: no clock shows an instant after 2262. A turn that would come then never comes: a caller that
// waited for it would ask over and over.
func TestR9_ATurnAfterTheEndIsTooLate(t *testing.T) {
	end := time.Unix(0, math.MaxInt64)
	for _, test := range turns[5:] { // buckets tell the end as the instant of such a booking
		for _, now := range []time.Time{end.AddDate(5000, 0, 0), end, end.Add(-test.turn / 2)} {
			l := weir.Must(weir.New(test.policy, weir.WithClock(&kit.HandClock{Time: now})))
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(5*time.Second, cancel).Stop() // else it would ask for ever if this fails
			require.NoError(t, l.Wait(ctx, "k", 1))
			assert.ErrorIs(t, l.Wait(ctx, "k", 1), weir.ErrTooLate, "%v at %v", test.policy, now)
		}
	}
}

// A new turn is told as the first one is: b would keep c waiting for nothing.
func TestDeadline_BeforeTheNewTurnFailsAtOnce(t *testing.T) {
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3}, func(c *crowd) {
		c.come("a", 3)
		c.comeUntil(2500*ms, "b", 1)
		c.come("c", 1)
		c.until(500 * ms)
		require.NoError(c.t, c.l.SetPolicy(background, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1}))
		c.end()
		c.want("a 0s", "b 500ms too-late", "c 3s")
	})
}

// The policy stays the same, but another caller has taken what b waits for.
func TestDeadline_BeforeTheNewTurnOfTheSamePolicyFailsAtOnce(t *testing.T) {
	log := weir.SlidingLog{Limit: 3, Per: 2 * time.Second}
	bubble(t, log, func(c *crowd) {
		c.come("a", 3)
		c.comeUntil(2200*ms, "b", 3)
		c.come("c", 1)
		c.until(500 * ms)
		require.NoError(c.t, c.l.Return(background, "k", 1))
		assert.True(c.t, c.l.Allow("k"))
		require.NoError(c.t, c.l.SetPolicy(background, log))
		c.end()
		c.want("a 0s", "b 500ms too-late", "c 2s")
	})
}
