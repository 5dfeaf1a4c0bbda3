package waiting

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Two bookings may end in the same nanosecond. The waiter follows the second, and so stays where it
// is when the first is cancelled. It once took the first for the one before it, and moved up. The
// next booking then was for 5 ns, in the middle of the second.
func TestR17_ABookingIsSeenThatEndsInTheSameNanosecond(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 6, Per: 1, Capacity: 105}, func(c *crowd) {
		first, second := kit.Reserve(t, c.l, 33), kit.Reserve(t, c.l, 3) // to 5.5 ns, and to 6 ns
		require.Equal(t, time.Duration(6), second.Delay())
		waits := c.come("waits", 24)
		require.NoError(t, first.Cancel(background))
		assert.Equal(t, time.Duration(10), kit.Reserve(t, c.l, 12).Delay())
		c.end()
		assert.Equal(t, "waits 6ns", waits.String())
	})
}

// A booking that is not the last is not undone, even if the last ends in the same nanosecond. Each
// of the cancelled ones once freed what the one behind it keeps: the next then came after 4 ns.
func TestR17_ABookingThatEndsInTheSameNanosecondIsNotTheLast(t *testing.T) {
	l, _ := kit.Frozen(weir.LeakyBucket{Limit: 10, Per: 1, Capacity: 100})
	require.True(t, kit.Reserve(t, l, 11).Allowed) // to 1.1 ns
	for range 20 {
		cancelled, stays := kit.Reserve(t, l, 1), kit.Reserve(t, l, 1)
		require.True(t, stays.Allowed)
		require.NoError(t, cancelled.Cancel(background))
	}
	assert.Equal(t, time.Duration(6), kit.Reserve(t, l, 1).Delay()) // after 5.1 ns
}

// Those who move up have the instants of their slots, rounded up. Each moves from its own slot. If
// it were found from the end of the line, a place that was left there would move it to another
// nanosecond.
func TestR17_ThoseWhoMoveUpKeepTheirSlots(t *testing.T) {
	bubble(t, weir.LeakyBucket{Limit: 7, Per: time.Second, Capacity: 90}, func(c *crowd) {
		require.True(t, c.l.Allow("k"))
		first, second, third := c.come("first", 2), c.come("second", 5), c.come("third", 4)
		r := kit.Reserve(t, c.l, 1)
		c.cancel(third) // its place stays booked
		require.NoError(t, r.Cancel(background))
		c.cancel(first)
		c.end()
		assert.Equal(t, "second 142.857143ms", second.String()) // a seventh of a second
	})
}

// Whatever is booked and cancelled at one instant, by two limiters of one name or by two policies
// of one rate: between any two instants that were told, no more events go than the larger bucket
// holds and earns. Once, 6 went at one instant where 4 may go.
func TestR17_BookingsOfOneInstantKeepToTheBucket(t *testing.T) {
	for _, rate := range []weir.TokenBucket{
		{Limit: 7, Per: 3, Burst: 2}, {Limit: 50, Per: 1, Burst: 20}, {Limit: 3, Per: 7, Burst: 2}, {Limit: 1, Per: 365 * 24 * time.Hour, Burst: 2},
	} {
		large := rate
		large.Burst++
		for seed := range uint64(runs.Long(2000, 200)) {
			random, store := rand.New(rand.NewPCG(seed, 17)), new(weir.MemStore)
			var limiters []*weir.KeyedLimiter
			for range 2 {
				l, _ := kit.Frozen(rate, weir.WithStore(store), weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
					own, _ := ctx.Value(ownPolicy{}).(weir.Policy)
					return own
				}))
				limiters = append(limiters, l)
			}
			type booked struct {
				*weir.Reservation
				n int64
			}
			var made []booked
			for range 30 {
				if i := random.IntN(2 * (len(made) + 1)); i < len(made) {
					require.NoError(t, made[i].Cancel(background))
					made = slices.Delete(made, i, i+1)
					continue
				}
				n := 1 + random.Int64N(2)
				ctx := context.WithValue(background, ownPolicy{}, []weir.Policy{rate, large}[random.IntN(2)])
				r, err := limiters[random.IntN(2)].Reserve(ctx, "k", int(n))
				require.NoError(t, err)
				require.True(t, r.Allowed)
				made = append(made, booked{r, n})
			}
			slices.SortFunc(made, func(a, b booked) int { return cmp.Compare(a.Delay(), b.Delay()) })
			for i, first := range made {
				n, from := int64(0), max(first.Delay()-1, 0) // instants are rounded up
				for _, last := range made[i:] {
					n += last.n
					earned := int64(last.Delay()-from) * int64(rate.Limit) / int64(rate.Per)
					if n > int64(large.Burst)+earned {
						t.Fatalf("%v, seed %d: %d events from %v to %v", rate, seed, n, from, last.Delay())
					}
				}
			}
		}
	}
}
