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
)

var bookable = []weir.Policy{
	weir.TokenBucket{Limit: 1, Per: time.Second},
	weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 99},
}

// reserve is a caller that books and does not wait.
func (c *crowd) reserve(n int) *weir.Reservation {
	r, err := c.l.Reserve(background, "k", n)
	require.NoError(c.t, err)
	require.True(c.t, r.Allowed)
	return r
}

// When a reservation is cancelled, those who wait behind it move up, if no other reservation was
// made behind it.
func TestR17_ThoseBehindAReservationMoveUp(t *testing.T) {
	for _, p := range bookable {
		bubble(t, p, func(c *crowd) {
			c.come("a", 1)
			first := c.reserve(1)
			c.come("b", 1)
			middle := c.reserve(1)
			c.come("c", 1)
			last := c.reserve(1)
			c.until(500 * ms)
			require.NoError(c.t, first.Cancel(background))  // the others keep what was told
			require.NoError(c.t, last.Cancel(background))   // nobody is behind
			require.NoError(c.t, middle.Cancel(background)) // c moves from 4 s to 3 s
			c.come("d", 1)
			c.end()
			c.want("a 0s", "b 2s", "c 3s", "d 4s")
		})
	}
}

// One who came when all before it had gone ahead keeps its instant. Where the reservation ends is
// no longer known by then.
func TestR17_OneBehindThoseWhoHaveGoneDoesNotMoveUp(t *testing.T) {
	for came, goes := range map[time.Duration]string{500 * ms: "b 1.2s", 1100 * ms: "b 2s"} {
		bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 4}, func(c *crowd) {
			r := c.reserve(4)
			c.come("a", 1)
			c.until(came)
			c.come("b", 1)
			c.until(1200 * ms)
			require.NoError(c.t, r.Cancel(background))
			c.end()
			c.want("a 1s", goes)
		})
	}
}

// R17: they do so, too, if the policy's numbers have changed since the reservation was made. They
// stayed where they were.
func TestR17_ThoseBehindMoveUpAfterAChange(t *testing.T) {
	for _, test := range []struct {
		was, is weir.Policy
		want    []string
	}{
		{
			weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2},
			weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3},
			[]string{"a 100ms", "b 1s", "c 2s"}, // not 2 s, 3 s, 4 s
		}, {
			weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3},
			weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2},
			[]string{"a 1s", "b 2s", "c 3s"},
		}, {
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 8},
			[]string{"a 2s", "b 3s", "c 4s"},
		},
	} {
		bubble(t, test.was, func(c *crowd) {
			c.reserve(2)
			r := c.reserve(2)
			require.NoError(c.t, c.l.SetPolicy(background, test.is))
			for _, name := range []string{"a", "b", "c"} {
				c.come(name, 1)
			}
			c.until(100 * ms)
			require.NoError(c.t, r.Cancel(background))
			c.end()
			c.want(test.want...)
		})
	}
}

// When its instant has passed, a reservation gives back no more than counts still (R16).
func TestR16_AReservationWhoseInstantHasPassed(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 4},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 99},
	} {
		bubble(t, p, func(c *crowd) {
			r := c.reserve(4)
			c.come("a", 4)
			c.come("b", 1)
			c.until(1500 * ms)
			require.NoError(c.t, r.Cancel(background)) // two and a half of four
			c.end()
			if _, isQueue := p.(weir.LeakyBucket); isQueue {
				c.want("a 2s", "b 6s")
			} else {
				c.want("a 2s", "b 3s")
			}
		})
	}
}

// Settled for less, it gives back the rest, but not before its turn if that is of tokens (R17); for
// more, those behind keep their turns and those who come later pay.
func TestReserve_SettledWhileOthersWait(t *testing.T) {
	tokens := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 5}
	for _, test := range []struct {
		weir.Policy
		at   time.Duration
		want []string
	}{
		{bookable[1], 0, []string{"a 7s", "b 10s"}},
		{tokens, 0, []string{"a 6s", "b 9s"}},
		{tokens, 5*time.Second - 1, []string{"a 6s", "b 9s"}},
		{tokens, 5 * time.Second, []string{"a 5s", "b 6s"}},
	} {
		bubble(t, test.Policy, func(c *crowd) {
			require.True(c.t, c.reserve(5).Allowed)
			more, less := c.reserve(1), c.reserve(4)
			c.come("a", 1)
			c.until(test.at)
			require.NoError(c.t, less.Settle(background, 1))
			require.NoError(c.t, more.Settle(background, 3))
			c.come("b", 1)
			c.end()
			c.want(test.want...)
		})
	}
}

// Other callers leave the line around a reservation, in every way. The reservation always gives
// back to callers behind it, and not to callers ahead. When callers ahead leave, their places stay
// booked, because the reservation has been promised its instant (R17).
func TestReserve_ItsPlaceWhenOthersLeave(t *testing.T) {
	for _, p := range bookable {
		for _, test := range []struct {
			leave string
			want  []string
		}{
			{"", []string{"a 0s", "b 1s", "c 2s", "d 3s", "e 4s", "f 5s"}},
			{"c", []string{"a 0s", "b 1s", "d 3s", "e 4s", "f 5s"}},
			{"cb", []string{"a 0s", "d 3s", "e 4s", "f 5s"}},
			{"bc", []string{"a 0s", "d 3s", "e 4s", "f 5s"}},
			{"cd", []string{"a 0s", "b 1s", "e 3s", "f 4s"}},
			{"dc", []string{"a 0s", "b 1s", "e 3s", "f 4s"}},
			{"bcd", []string{"a 0s", "e 3s", "f 4s"}},
			{"def", []string{"a 0s", "b 1s", "c 2s"}},
			{"cdef", []string{"a 0s", "b 1s"}},
			{"bcdef", []string{"a 0s"}},
		} {
			bubble(t, p, func(c *crowd) {
				for _, name := range []string{"a", "b", "c"} {
					c.come(name, 1)
				}
				r := c.reserve(1)
				for _, name := range []string{"d", "e", "f"} {
					c.come(name, 1)
				}
				for _, name := range test.leave {
					c.cancel(c.callers[name-'a'])
				}
				require.NoError(c.t, r.Cancel(background))
				c.end()
				for _, name := range test.leave {
					c.callers[name-'a'] = c.callers[0]
				}
				slices.SortFunc(c.callers, func(a, b *visitor) int { return cmp.Compare(a.name, b.name) })
				c.callers = slices.Compact(c.callers)
				c.want(test.want...)
				time.Sleep(2 * time.Second) // until the places of b and c are over
				assert.LessOrEqual(c.t, c.look("k").ResetAfter, time.Second)
			})
		}
	}
}

// When it is cancelled after the policy has changed, those behind it do not move up: their turns
// are of another policy. Their order is kept, and they wait no longer than the reservation, and
// what could not be freed because of it, take.
func TestReserve_ItsPlaceWhenThePolicyChanges(t *testing.T) {
	bubble(t, bookable[1], func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		r := c.reserve(1)
		c.come("c", 1)
		require.NoError(c.t, c.l.SetPolicy(background, weir.LeakyBucket{Limit: 1, Per: 2 * time.Second, Capacity: 99}))
		require.NoError(c.t, r.Cancel(background))
		c.end()
		b, behind := c.callers[1], c.callers[2]
		require.NoError(c.t, b.err)
		require.NoError(c.t, behind.err)
		assert.LessOrEqual(c.t, b.at, 6*time.Second)
		assert.GreaterOrEqual(c.t, behind.at, b.at+2*time.Second)
		assert.LessOrEqual(c.t, behind.at, 8*time.Second)
	})
}

// Requests and answers overtake each other on the way to the store and back. Callers behind a
// reservation still move up when it does. No two events come at once, and no place stays booked for
// nobody.
func TestReserve_WithASlowStore(t *testing.T) {
	const latency = 20 * ms // at most, each way
	for _, p := range bookable {
		for seed := range uint64(30) {
			random, mem := rand.New(rand.NewPCG(seed, 13)), new(weir.MemStore)
			var mu sync.Mutex
			upTo := func(d time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(random.Int64N(int64(d)))
			}
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				time.Sleep(upTo(latency))
				defer func() { time.Sleep(upTo(latency)) }()
				return mem.Do(ctx, r)
			})
			bubble(t, p, func(c *crowd) {
				c.inside.Go(func() { // one at a time, so that its turn does not come earlier than it was told
					for time.Since(c.start) < time.Minute {
						r, err := c.l.Reserve(background, "k", 1)
						assert.NoError(c.t, err)
						if early := r.Delay() - 10*latency; early > 0 {
							time.Sleep(upTo(early))
							assert.NoError(c.t, r.Cancel(background))
						}
						time.Sleep(upTo(2 * latency))
					}
				})
				for i := range 60 {
					c.come(fmt.Sprint(i), 1)
					time.Sleep(upTo(2 * time.Second))
				}
				c.end()
				c.apart(900 * ms)
				assert.LessOrEqual(c.t, c.look("k").ResetAfter, time.Second, "booked for nobody")
			}, weir.WithStore(store))
		}
	}
}

// The events of a cancelled reservation do, too, where waiters ask again.
func TestReserve_CancelledWhileOthersAskAgain(t *testing.T) {
	for _, p := range policiesToWaitFor[2:] {
		bubble(t, p, func(c *crowd) {
			r := c.reserve(1)
			c.come("a", 1)
			c.come("b", 1)
			c.until(300 * ms)
			require.NoError(c.t, r.Cancel(background))
			c.end()
			assert.Equal(c.t, "a 300ms", c.callers[0].String())
			assert.GreaterOrEqual(c.t, c.callers[1].at, time.Second)
			assert.LessOrEqual(c.t, c.callers[1].at, 1300*ms, "when the next window starts, or a leaves the last")
		})
	}
}
