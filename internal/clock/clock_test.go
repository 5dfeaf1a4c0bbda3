package clock

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A stopped clock shows what the test sets.
type stopped struct{ time.Time }

func (c *stopped) Now() time.Time                       { return c.Time }
func (c *stopped) After(time.Duration) <-chan time.Time { return nil }

// R7: an instant is never earlier than one before, and never outside of the range.
func TestNanos(t *testing.T) {
	c := new(stopped)
	n := &Nanos{Clock: c}
	for _, test := range []struct {
		shows time.Time
		want  int64
	}{
		{time.Time{}, 0},
		{time.Unix(-1, 999_999_999), 0},
		{time.Unix(0, 1), 1},
		{time.Unix(5, 7), 5_000_000_007},
		{time.Unix(4, 0), 5_000_000_007},
		{time.Unix(math.MaxInt64/1_000_000_000-1, 999_999_999), (math.MaxInt64/1_000_000_000)*1_000_000_000 - 1},
		{time.Unix(math.MaxInt64/1_000_000_000, 0), math.MaxInt64},
		{time.Unix(6, 0), math.MaxInt64},
	} {
		c.Time = test.shows
		assert.Equal(t, test.want, n.Now(), "%v", test.shows)
	}
	assert.Zero(t, n.Until(time.Unix(10, 0)), "from the latest instant")
	assert.Same(t, c, n.OrSystem())
}

func TestNanos_Until(t *testing.T) {
	n := &Nanos{Clock: &stopped{time.Unix(10, 0)}}
	assert.Equal(t, 3*time.Second, n.Until(time.Unix(13, 0)))
	assert.Zero(t, n.Until(time.Unix(9, 0)))
}

// A waiting caller need not look again until the Clock has caught up.
func TestNanos_At(t *testing.T) {
	c := &waited{stopped: stopped{time.Unix(10, 0)}}
	n := &Nanos{Clock: c}
	n.At(n.Now() + 5)
	assert.Equal(t, time.Duration(5), c.d)
	c.Time = time.Unix(7, 0)
	n.At(n.Now() + 5)
	assert.Equal(t, 3*time.Second+5, c.d)
	n.At(0)
	assert.Zero(t, c.d)
	c.Time = time.Unix(-60, 0)
	n.At(5)
	assert.Equal(t, time.Minute+5, c.d)
}

// A waited clock notes for how long it was waited.
type waited struct {
	stopped
	d time.Duration
}

func (c *waited) After(d time.Duration) <-chan time.Time {
	c.d = d
	return nil
}

// Without a Clock it is the system's, which is the bubble's in a bubble.
func TestNanos_System(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n Nanos
		start, deadline := n.Now(), time.Now().Add(time.Minute)
		assert.Equal(t, time.Now().UnixNano(), start)
		assert.Equal(t, start, n.OrSystem().Now().UnixNano())
		<-n.At(start + int64(time.Minute))
		assert.Equal(t, start+int64(time.Minute), n.Now())
		assert.Zero(t, n.Until(deadline))
		assert.Equal(t, time.Minute, n.Until(deadline.Add(time.Minute)))
	})
}

// Callers at the same time see no step back.
func TestNanos_Concurrent(t *testing.T) {
	n := &Nanos{Clock: jumping{}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			before := int64(0)
			for range 1000 {
				now := n.Now()
				if now < before {
					t.Errorf("%d after %d", now, before)
				}
				before = now
			}
		})
	}
	all.Wait()
}

// A jumping clock shows any time.
type jumping struct{ *stopped }

func (jumping) Now() time.Time { return time.Unix(0, rand.Int64()) }
