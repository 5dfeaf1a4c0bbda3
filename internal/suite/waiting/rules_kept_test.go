package waiting

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A promised instant stands, and a cancelled booking before it therefore frees nothing. Once, after
// eight rounds of "book up to 50 s ahead, book 5 more that stay, cancel the others", all bookings
// that stayed had the same 5 s. In these 40 events went, and not 6.
func TestR17_CancelledBookingsDoNotPileUp(t *testing.T) {
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1})
	var stay []*weir.Reservation
	for range 8 {
		var cancelled []*weir.Reservation
		for {
			r := kit.Reserve(t, l, 1)
			cancelled = append(cancelled, r)
			if r.Delay() >= 49*time.Second {
				break
			}
		}
		for range 5 {
			stay = append(stay, kit.Reserve(t, l, 1))
		}
		for _, r := range cancelled {
			require.NoError(t, r.Cancel(background))
		}
	}
	slices.SortFunc(stay, func(a, b *weir.Reservation) int { return cmp.Compare(a.Delay(), b.Delay()) })
	for i, r := range stay {
		if i > 0 {
			require.GreaterOrEqual(t, r.Delay()-stay[i-1].Delay(), time.Second, "reservation %d", i)
		}
	}
}

// The last booking is undone exactly.
func TestR17_TheLastBookingIsUndone(t *testing.T) {
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1})
	kit.Reserve(t, l, 1)
	first := kit.Reserve(t, l, 1)
	look := kit.Take(t, l, "k", 0)
	require.NoError(t, kit.Reserve(t, l, 7).Cancel(background))
	assert.Equal(t, look, kit.Take(t, l, "k", 0))
	assert.Equal(t, time.Second, first.Delay())
}

// Those behind move up also where each that leaves takes less than a nanosecond: five a nanosecond,
// of which four are held. The last went at 21 ns, as if the hundred that left one by one had
// stayed.
func TestR17_ThoseBehindMoveUpByLessThanANanosecond(t *testing.T) {
	bubble(t, weir.TokenBucket{Limit: 5, Per: 1, Burst: 4}, func(c *crowd) {
		c.come("all", 4)
		var leave []*visitor
		for range 100 {
			leave = append(leave, c.come("leaves", 1))
		}
		last := c.come("last", 1)
		for _, w := range leave {
			c.cancel(w)
		}
		c.end()
		assert.Equal(t, "last 1ns", last.String())
	})
}

// A booking that is settled for less keeps its instant, also when others give back before it has
// come. Of a bucket that holds 3, 4 went at once after Cancel; and of one that holds 7, 8 after
// Return.
func TestR17_ABookingSettledForLessKeepsItsInstant(t *testing.T) {
	l, clock := kit.Frozen(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 3})
	first, second := kit.Reserve(t, l, 3), kit.Reserve(t, l, 3)
	require.NoError(t, second.Settle(background, 2))
	clock.Time = clock.Add(2 * time.Second)
	require.NoError(t, first.Cancel(background))
	clock.Time = clock.Add(second.Delay())
	assert.LessOrEqual(t, 2+kit.Take(t, l, "k", 0).Remaining, 3)

	l, _ = kit.Frozen(weir.TokenBucket{Limit: 7, Per: time.Hour})
	kit.Take(t, l, "k", 6)
	delay := time.Duration(0)
	for range 8 {
		r := kit.Reserve(t, l, 2)
		require.Greater(t, r.Delay(), delay)
		delay = r.Delay()
		require.NoError(t, r.Settle(background, 1))
		require.NoError(t, l.Return(background, "k", 1))
	}
}

// When one waiting caller gives up, the events that go ahead keep to both buckets of All. Once, the
// two buckets moved callers up by different times.
func TestR17_AllOfTwoBucketsKeepsItsLimit(t *testing.T) {
	const rate = 2
	p := weir.All(weir.TokenBucket{Limit: rate, Per: time.Second}, weir.TokenBucket{Limit: 3, Per: 2 * time.Second})
	bubble(t, p, func(c *crowd) {
		c.come("a", 1)
		b := c.come("b", 2)
		d := c.come("c", 2)
		e := c.come("d", 2)
		c.cancel(b)
		c.cancel(d)
		f := c.come("e", 2)
		c.inside.Wait()
		require.NoError(t, e.err)
		require.NoError(t, f.err)
		assert.GreaterOrEqual(t, f.at-e.at, time.Second, "2 events of 2 a second, after 2")
	})
}

// Callers that wait for All of two buckets are served in the order in which they came, even after
// one of them gave up.
func TestR18_AllOfTwoBucketsKeepsTheOrder(t *testing.T) {
	p := weir.All(weir.TokenBucket{Limit: 2, Per: time.Second}, weir.TokenBucket{Limit: 20, Per: time.Second})
	bubble(t, p, func(c *crowd) {
		require.True(t, kit.Take(t, c.l, "k", 1).Allowed)
		a := c.come("a", 2)
		b := c.come("b", 1)
		c.cancel(a)
		d := c.come("c", 1)
		c.inside.Wait()
		assert.NoError(t, b.err)
		assert.NoError(t, d.err)
		assert.LessOrEqual(t, b.at, d.at)
	})
}

// Reset and SetPolicy one after the other, before those who wait have run, keep the order.
func TestR18_ResetAndSetPolicyKeepTheOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that nobody runs in between
	three := weir.LeakyBucket{Limit: 3, Per: time.Second}
	for _, script := range []struct {
		name string
		do   func(l *weir.KeyedLimiter)
	}{
		{"reset, change, change, reset", func(l *weir.KeyedLimiter) {
			_ = l.Reset(background, "k")
			_ = l.SetPolicy(background, weir.FixedWindow{Limit: 3, Per: time.Second})
			_ = l.SetPolicy(background, weir.FixedWindow{Limit: 1, Per: time.Second})
			_ = l.Reset(background, "k")
		}},
		{"change, change, reset", func(l *weir.KeyedLimiter) {
			_ = l.SetPolicy(background, weir.FixedWindow{Limit: 3, Per: time.Second})
			_ = l.SetPolicy(background, weir.FixedWindow{Limit: 1, Per: time.Second})
			_ = l.Reset(background, "k")
		}},
		{"reset, change", func(l *weir.KeyedLimiter) {
			_ = l.Reset(background, "k")
			_ = l.SetPolicy(background, weir.FixedWindow{Limit: 1, Per: time.Second})
		}},
	} {
		t.Run(script.name, func(t *testing.T) {
			bubble(t, three, func(c *crowd) {
				for _, name := range []string{"a", "b", "c", "d"} {
					c.come(name, 1)
				}
				script.do(c.l)
				synctest.Wait()
				c.inside.Wait()
				for i, v := range c.callers {
					assert.NoError(t, v.err)
					if i > 0 {
						assert.LessOrEqual(t, c.callers[i-1].at, v.at, "%s before %s", c.callers[i-1].name, v.name)
					}
				}
			})
		})
	}
}

// All never books ahead: what it reserves goes ahead now, or is denied.
func TestR20_AllNeverBooksAhead(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.All(weir.TokenBucket{Limit: 1, Per: time.Second}),
		weir.All(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.LeakyBucket{Limit: 1, Per: time.Second}),
		weir.All(weir.LeakyBucket{Limit: 1, Per: time.Second}, weir.All(weir.TokenBucket{Limit: 1, Per: time.Second})),
	} {
		l, _ := kit.Frozen(p)
		assert.True(t, kit.Reserve(t, l, 1).Allowed, "%#v", p)
		assert.False(t, kit.Reserve(t, l, 1).Allowed, "%#v", p)
	}
}

// The outlet of a LeakyBucket keeps its spacing where the other part of All is what is waited for:
// 8 events occupy it for 0.8 s.
func TestR20_AQueueInAllKeepsItsSpacing(t *testing.T) {
	p := weir.All(weir.LeakyBucket{Limit: 10, Per: time.Second}, weir.TokenBucket{Limit: 2, Per: time.Second, Burst: 10})
	bubble(t, p, func(c *crowd) {
		c.come("a", 10)
		c.come("b", 1)
		eight := c.come("c", 8)
		next := c.come("d", 1)
		c.inside.Wait()
		assert.GreaterOrEqual(t, next.at-eight.at, 800*ms)
	})
}

// A policy books only while nothing that another granted charges it.
func TestR20_NobodyBooksWhileOthersChargeIt(t *testing.T) {
	l, _ := kit.Frozen(weir.FixedWindow{Limit: 10, Per: time.Hour})
	require.True(t, kit.Take(t, l, "k", 10).Allowed)
	kit.SetPolicy(t, l, weir.TokenBucket{Limit: 10, Per: time.Hour})
	assert.False(t, kit.Reserve(t, l, 1).Allowed)
}

// a gives up while the store is busy with a Return, and d is on its way to the store. b and d have
// a plan that counts alike. They ask when a has given its place back, and not before: behind it
// they would keep their instants.
func TestR17_AnotherPlanAsksWhenThoseWhoGiveUpHaveLeft(t *testing.T) {
	mem := new(weir.MemStore)
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if r.N < 0 && r.GrantedAt == 0 {
			time.Sleep(500 * ms)
		}
		return mem.Do(ctx, r)
	})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 5}, func(c *crowd) {
		small := context.WithValue(background, ownPolicy{}, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 4})
		require.True(t, kit.Take(t, c.l, "k", 5).Allowed)
		a := c.come("a", 5)
		c.comeFor("k", "b", 1, small)
		go func() { _ = c.l.Return(background, "k", 1) }()
		synctest.Wait()
		c.comeFor("k", "d", 1, small)
		hurried, cancel := context.WithTimeout(small, 10*time.Second)
		defer cancel()
		c.comeFor("k", "e", 1, hurried)
		c.cancel(a)
		c.end()
		assert.ErrorIs(t, a.err, context.Canceled)
		var at []time.Duration
		for _, v := range c.callers[1:] {
			assert.NoError(t, v.err)
			at = append(at, v.at)
		}
		slices.Sort(at) // d and e ask at the same time
		assert.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second}, at)
	}, weir.WithStore(store), weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
		own, _ := ctx.Value(ownPolicy{}).(weir.Policy)
		return own
	}))
}
