package waiting

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// newMockCrowd is a crowd whose limiter, and whose instants, are of the mock clock. The
// clock is to be driven in the bubble.
func newMockCrowd(t *testing.T, mock *clock.Mock, p weir.Policy) *crowd {
	l := weir.Must(weir.New(p, weir.WithClock(mock)))
	return &crowd{t: t, l: l, now: mock.Now, start: mock.Now()}
}

func TestMock_DrivesThoseWhoWait(t *testing.T) {
	for _, p := range policiesToWaitFor {
		synctest.Test(t, func(t *testing.T) {
			mock := clock.NewMock() // at the Unix epoch
			c := newMockCrowd(t, mock, p)
			for i := range 5 {
				c.come(fmt.Sprint(i), 1)
			}
			mock.Add(900 * ms)
			require.Equal(c.t, 1, len(c.returned()))
			for i := range 10 {
				mock.Add(500 * ms)
				synctest.Wait()
				require.Equal(c.t, 1+min(4, (900+500*(i+1))/1000), len(c.returned()))
			}
			c.end()
			c.wantMock("0 0s", "1 1s", "2 2s", "3 3s", "4 4s")
		})
	}
}

// One long step of the clock serves all, at the instants in between.
func TestMock_OneLongStep(t *testing.T) {
	for _, p := range policiesToWaitFor {
		synctest.Test(t, func(t *testing.T) {
			mock := clock.NewMock()
			c := newMockCrowd(t, mock, p)
			for i := range 4 {
				c.come(fmt.Sprint(i), 1)
			}
			c.cancel(c.callers[2])
			mock.Add(time.Hour)
			c.end()
			c.wantMock("0 0s", "2 0s cancelled", "1 1s", "3 2s")
		})
	}
}

// After a step back of the clock, waiters go when it has caught up. Each takes one timer, however
// soon its turn would have come.
func TestMock_StepBack(t *testing.T) {
	for _, p := range policiesToWaitFor {
		synctest.Test(t, func(t *testing.T) {
			mock := &counted{Mock: clock.NewMock()}
			mock.Add(time.Hour)
			c := &crowd{t: t, l: weir.Must(weir.New(p, weir.WithClock(mock))), now: mock.Now, start: mock.Now()}
			c.come("a", 1)
			mock.Add(time.Second - time.Microsecond)
			c.l.Allow("another key")
			mock.Set(c.start.Add(990 * ms))
			c.come("b", 1)
			mock.Add(9 * ms)
			assert.Len(c.t, c.returned(), 1)
			mock.Add(2 * time.Second)
			c.end()
			c.wantMock("a 0s", "b 1s")
			assert.LessOrEqual(c.t, mock.timers, 2) // SlidingWindow is asked once more
		})
	}
}

// counted is a mock that counts its timers.
type counted struct {
	*clock.Mock
	timers int
}

func (c *counted) After(d time.Duration) <-chan time.Time {
	c.timers++
	return c.Mock.After(d)
}

// Deadlines are told in the mock's time, if the mock made the context.
func TestMock_Deadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		c := newMockCrowd(t, mock, weir.TokenBucket{Limit: 1, Per: time.Second})
		within := func(d time.Duration, name string) {
			ctx, cancel := mock.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			c.comeFor("k", name, 1, ctx)
		}
		within(time.Second, "a")
		within(time.Second-1, "b")
		within(time.Second, "c")
		within(time.Second, "d")
		mock.Add(time.Minute)
		c.end()
		c.wantMock("a 0s", "b 0s too-late", "d 0s too-late", "c 1s")
	})
}

// wantMock is want, to the microsecond: SlidingWindow's estimate falls a nanosecond later.
func (c *crowd) wantMock(rows ...string) {
	c.t.Helper()
	for _, w := range c.callers {
		w.at = w.at.Truncate(time.Microsecond)
	}
	assert.Equal(c.t, rows, c.returned())
}
