package waiting

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// tenASecond is a queue that one event leaves each 100 ms, with room for three.
var tenASecond = weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 3}

func TestQueue_IsBoundedAndRefusesAtOnce(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.come(name, 1)
		}
		c.until(100 * ms) // b goes, and leaves room for one
		c.come("f", 1)
		c.come("g", 1)
		c.end()
		c.want("a 0s", "e 0s queue-full", "b 100ms", "g 100ms queue-full", "c 200ms", "d 300ms", "f 400ms")
	})
}

// A place is free when the slot lies Capacity slots ahead, and not a nanosecond earlier.
func TestQueue_CapacityIsExact(t *testing.T) {
	for _, test := range []struct {
		policy weir.LeakyBucket
		fit    int           // how many come at once and are not refused
		room   time.Duration // when one more would not be
	}{
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 1}, 2, 100 * ms},
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 3}, 4, 100 * ms},
		{weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 1}, 2, 142_857_143},
		{weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 2}, 3, 142_857_143},
		{weir.LeakyBucket{Limit: 3, Per: 1000}, 4, 334}, // Capacity zero means Limit
	} {
		bubble(t, test.policy, func(c *crowd) {
			for i := range test.fit {
				c.come(fmt.Sprint(i), 1)
			}
			for _, at := range []time.Duration{0, 1, test.room - 1} {
				c.until(at)
				before := c.look("k")
				assert.Equal(c.t, "too early "+at.String()+" queue-full", c.come("too early", 1).String())
				assert.Equal(c.t, before, c.look("k"), "a refusal was counted")
			}
			c.until(test.room)
			assert.True(c.t, c.come("in time", 1).waits())
		})
	}
}

// The room is told in slots ahead, so that a large ask can join as the last.
func TestQueue_ALargeAskTakesOnePlace(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		c.come("a", 3)
		c.come("b", 3) // 300 ms ahead: the last place
		c.come("c", 1)
		c.end()
		c.want("a 0s", "c 0s queue-full", "b 300ms")
	})
}

func TestQueue_IsEvenlySpacedHoweverTheyCome(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 3, Per: time.Second, Capacity: 100}, func(c *crowd) {
		for i := range 60 {
			c.until(time.Duration(i*i%17) * time.Millisecond * time.Duration(i))
			c.come(fmt.Sprint(i), 1)
		}
		c.end()
		for i, w := range c.callers {
			require.NoError(c.t, w.err)
			slot := (time.Duration(i)*time.Second + 2) / 3 // rounded up to the nanosecond
			require.Equal(c.t, slot, w.at)
		}
	})
}

// However long the outlet was idle, it lets one go at once, and the next a slot later.
func TestQueue_SavesNothingWhileIdle(t *testing.T) {
	for _, idle := range []time.Duration{time.Second, time.Hour, 365 * 24 * time.Hour} {
		bubble(t, tenASecond, func(c *crowd) {
			c.come("a", 1)
			c.until(idle)
			c.start = c.start.Add(idle)
			for _, name := range []string{"b", "c", "d"} {
				c.come(name, 1)
			}
			c.end()
			c.want("a 0s", "b 0s", "c 100ms", "d 200ms")
		})
	}
}

// A slot that starts between two is as long as the others.
func TestQueue_SlotsStartWhenTheyAreUsed(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		c.come("a", 1)
		c.until(130 * ms)
		c.come("b", 1)
		c.until(131 * ms)
		c.come("c", 2)
		c.until(400 * ms)
		c.come("d", 1)
		c.end()
		c.want("a 0s", "b 130ms", "c 230ms", "d 430ms")
	})
}

func TestQueue_RefusesAllowAndTakeWhileOthersWait(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		for _, test := range []struct {
			at, retry time.Duration
		}{
			{0, 200 * ms},
			{99 * ms, 101 * ms},
			{100 * ms, 100 * ms}, // b goes
			{200*ms - 1, 1},
		} {
			c.until(test.at)
			assert.False(c.t, c.l.Allow("k"))
			r, err := c.l.Take(context.Background(), "k", 1)
			require.NoError(c.t, err)
			assert.Equal(c.t, weir.Result{Limit: 3, RetryAfter: test.retry, ResetAfter: test.retry}, r)
		}
		c.until(200 * ms)
		assert.True(c.t, c.l.Allow("k"))
		c.want("a 0s", "b 100ms")
	})
}

// Of many who ask with Allow all the time, one passes per slot.
func TestQueue_OneAllowPerSlot(t *testing.T) {
	bubble(t, tenASecond, func(c *crowd) {
		c.until(time.Hour)
		for at := range 1000 {
			granted := 0
			for range 3 {
				if c.l.Allow("k") {
					granted++
				}
			}
			require.Equal(c.t, at%100 == 0, granted == 1, "%d ms: %d", at, granted)
			time.Sleep(1 * ms)
		}
	})
}

func TestQueue_FullIsNotTooLateNorNeverFits(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 1}, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		err := c.come("c", 1).err
		assert.ErrorIs(c.t, err, weir.ErrQueueFull)
		assert.False(c.t, errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrNeverFits))
		assert.ErrorIs(c.t, c.come("d", 2).err, weir.ErrNeverFits)
		assert.ErrorIs(c.t, c.comeUntil(500*ms, "e", 1).err, weir.ErrQueueFull)
	})
}
