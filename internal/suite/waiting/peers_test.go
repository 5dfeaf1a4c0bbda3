package waiting

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

var atMostFive = []weir.Policy{
	weir.TokenBucket{Limit: 10, Per: time.Hour, Burst: 5},
	weir.LeakyBucket{Limit: 10, Per: time.Hour, Capacity: 5},
	weir.FixedWindow{Limit: 5, Per: time.Hour},
	weir.FixedWindow{Limit: 5, Per: time.Hour, FromFirst: true},
	weir.SlidingWindow{Limit: 5, Per: time.Hour},
	weir.SlidingLog{Limit: 5, Per: time.Hour},
}

// Elsewhere a wait for more than the burst loops until the context ends.
func TestP16_MoreThanEverFitsIsToldAtOnce(t *testing.T) {
	for _, p := range atMostFive {
		for _, n := range []int{6, math.MaxInt32, math.MaxInt} {
			t.Run(fmt.Sprintf("%T of %d", p, n), func(t *testing.T) {
				bubble(t, p, func(c *crowd) {
					c.come("while the key is fresh", n)
					c.come("fits", 5)
					c.come("while it is used up", n)
					c.comeUntil(time.Minute, "with a deadline", n)
					c.want("while the key is fresh 0s never-fits", "fits 0s",
						"while it is used up 0s never-fits", "with a deadline 0s never-fits")
				})
			})
		}
	}
}

// Elsewhere a limit of 0 blocks for ever. Here there is no such limiter.
func TestP16_NoLimiterOfNothing(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Per: time.Second},
		weir.LeakyBucket{Per: time.Second, Capacity: 1},
		weir.FixedWindow{Per: time.Second},
		weir.SlidingWindow{Per: time.Second},
		weir.SlidingLog{Per: time.Second},
	} {
		l, err := weir.New(p)
		assert.Nil(t, l)
		assert.ErrorContains(t, err, "Limit")
	}
}

// Elsewhere two equal limits deadlock, and so do two taken in two orders.
func TestP16_TwoLimitersInTwoOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1}
		a, b := weir.Must(weir.New(p)), weir.Must(weir.New(p))
		done := make(chan error)
		for _, order := range [][]*weir.KeyedLimiter{{a, b}, {b, a}, {a, a}} {
			go func() {
				var err error
				for range 10 {
					for _, l := range order {
						if err == nil {
							err = l.Wait(context.Background(), "k", 1)
						}
					}
				}
				done <- err
			}()
		}
		for range 3 {
			require.NoError(t, <-done)
		}
	})
}

// Elsewhere a rate beyond one a nanosecond divides by zero.
func TestP17_RatesBeyondOneANanosecond(t *testing.T) {
	for _, limit := range []int{2_000_000_000, math.MaxInt32, math.MaxInt} {
		bubble(t, weir.TokenBucket{Limit: limit, Per: time.Second, Burst: 1}, func(c *crowd) {
			for i := range 100 {
				c.come(fmt.Sprint(i), 1)
			}
			c.end()
			for i, w := range c.callers {
				require.NoError(c.t, w.err)
				require.Equal(c.t, time.Duration(math.Ceil(float64(i)*1e9/float64(limit))), w.at)
			}
		})
	}
}

// Elsewhere a wall clock that is set back one hour makes Take sleep one hour. Here Take never
// sleeps, and one who waits is held up by the step, at most.
func TestP19_TheClockIsSetBack(t *testing.T) {
	for _, p := range policiesToWaitFor {
		synctest.Test(t, func(t *testing.T) {
			mock := clock.NewMock()
			mock.Set(time.Unix(7200, 0))
			c := newMockCrowd(t, mock, p)
			c.come("a", 1)
			mock.Add(-time.Hour)
			r, err := c.l.Take(context.Background(), "k", 1)
			require.NoError(c.t, err)
			assert.Equal(c.t, time.Second, r.RetryAfter.Truncate(10), "not for the step")
			waits := c.come("b", 1)
			mock.Add(time.Hour - 1)
			synctest.Wait()
			assert.True(c.t, waits.waits())
			mock.Add(2 * time.Second)
			c.end()
			c.wantMock("a 0s", "b 1s")
		})
	}
}

// Elsewhere ten cancelled waits on 1/h push the next grant to 11 h.
func TestP20_CancelledWaitsPushNobodyBack(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Hour},
		weir.LeakyBucket{Limit: 1, Per: time.Hour, Capacity: 99},
		weir.FixedWindow{Limit: 1, Per: time.Hour},
		weir.FixedWindow{Limit: 1, Per: time.Hour, FromFirst: true},
		weir.SlidingWindow{Limit: 1, Per: time.Hour},
		weir.SlidingLog{Limit: 1, Per: time.Hour},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			var ten []*visitor
			for i := range 10 {
				ten = append(ten, c.come(fmt.Sprint(i), 1))
			}
			waits := c.come("b", 1)
			for _, w := range ten {
				c.cancel(w)
			}
			r := c.look("k")
			c.end()
			assert.Equal(c.t, time.Hour, waits.at.Truncate(time.Millisecond))
			if _, books := p.(weir.TokenBucket); books {
				assert.Equal(c.t, 2*time.Hour, r.ResetAfter, "what a used and b booked")
			}
		})
	}
}

// Elsewhere cancelling gives back the wrong number.
func TestP20_CancellingGivesBackWhatWasTaken(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		bubble(t, weir.TokenBucket{Limit: 5, Per: 5 * time.Hour}, func(c *crowd) {
			c.come("a", 5)
			before := c.look("k")
			w := c.come("b", n)
			c.come("c", 3)
			c.cancel(w)
			after := c.look("k")
			assert.Equal(c.t, before.ResetAfter+3*time.Hour, after.ResetAfter)
			c.cancel(c.callers[2])
			assert.Equal(c.t, before, c.look("k"))
		})
	}
}

// Elsewhere a window of 30 days overflows a timer, and is forgotten after a millisecond.
func TestP21_ThirtyDays(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: month},
		weir.LeakyBucket{Limit: 1, Per: month},
		weir.FixedWindow{Limit: 1, Per: month, FromFirst: true},
		weir.SlidingLog{Limit: 1, Per: month},
	} {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			c.come("b", 1)
			for day := range 30 {
				c.until(time.Duration(day) * 24 * time.Hour)
				require.False(c.t, c.l.Allow("k"), "day %d", day)
			}
			c.end()
			c.want("a 0s", "b 720h0m0s")
		})
	}
}

// A turn generations away is a turn too. (What is paid for only after 2262, the end of time here,
// is not given back.)
func TestP21_Generations(t *testing.T) {
	const generation = 50 * 365 * 24 * time.Hour
	bubble(t, weir.TokenBucket{Limit: 1, Per: generation}, func(c *crowd) {
		c.come("a", 1)
		b, d := c.come("b", 1), c.come("d", 1)
		c.cancel(b)
		c.end()
		require.NoError(c.t, d.err)
		assert.Equal(c.t, generation, d.at)
	})
}

// Elsewhere maps of those who wait only grow. Here bubble requires after every test that none is
// left; this one has them come to an end in every way there is.
func TestP23_NothingIsKeptForThoseWhoHaveLeft(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			for i := range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Second)
				context.AfterFunc(ctx, cancel)
				for range 3 {
					c.comeFor(fmt.Sprint("key ", i), "w", 1, ctx)
				}
				if i%3 == 0 {
					cancel()
				}
			}
			assert.Positive(c.t, linesOf(c.l))
			time.Sleep(500 * time.Second)
			synctest.Wait()
			assert.Zero(c.t, linesOf(c.l))
		})
	}
}
