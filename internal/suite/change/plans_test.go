package change_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A key that was denied recovers by its new policy from the first ask on, and RetryAfter is tight.
func TestR4_AfterSetPolicy(t *testing.T) {
	h := &kit.HandClock{Time: time.Unix(0, kit.T0)}
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 10}, weir.WithClock(h)))
	kit.Take(t, l, "k", 10)
	require.NoError(t, l.SetPolicy(context.Background(), weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10}))
	denied := kit.Take(t, l, "k", 2)
	assert.Equal(t, 10*time.Second, denied.RetryAfter, "for so long the new one would count them")
	h.Time = h.Add(denied.RetryAfter - 1)
	assert.False(t, kit.Take(t, l, "k", 2).Allowed)
	h.Time = h.Add(1)
	assert.True(t, kit.Take(t, l, "k", 2).Allowed)
}

// RetryAfter of a Reserve that is denied says when the events can be booked, and not when they can
// be used, also while events of another policy count. Once it was a minute for each that had booked.
func TestR4_OfABookingAfterSetPolicy(t *testing.T) {
	for name, counted := range map[string]int{"nothing counts": 0, "not charged": 1, "charged": 500} {
		t.Run(name, func(t *testing.T) {
			h := &kit.HandClock{Time: time.Unix(0, kit.T0)}
			l := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.WithClock(h)))
			kit.Take(t, l, "k", counted)
			kit.SetPolicy(t, l, weir.LeakyBucket{Limit: 1, Per: time.Minute, Capacity: 5})
			r := kit.Reserve(t, l, 1)
			for r.Allowed {
				r = kit.Reserve(t, l, 1)
			}
			told := r.RetryAfter
			h.Time = h.Add(told - 1)
			assert.False(t, kit.Reserve(t, l, 1).Allowed)
			h.Time = h.Add(1)
			assert.True(t, kit.Reserve(t, l, 1).Allowed)
		})
	}
}

// A Wait that would be too late after a change of policy fails at once, and holds up no others. It
// would find no more at the instant at which its events could be booked: its deadline is nearer then.
func TestR18_TooLateAfterAChangeIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := weir.TokenBucket{Limit: 10, Per: 10 * time.Second}
		l := weir.Must(weir.New(bucket))
		kit.Take(t, l, "k", 9)
		kit.SetPolicy(t, l, weir.FixedWindow{Limit: 10, Per: 5 * time.Second})
		kit.Take(t, l, "k", 1)
		kit.SetPolicy(t, l, bucket)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		require.ErrorIs(t, l.Wait(ctx, "k", 10), weir.ErrTooLate)
		assert.Zero(t, time.Since(began))
		require.NoError(t, l.Wait(t.Context(), "k", 1))
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// A calendar that is written in two ways is the same policy, whatever each has decided meanwhile.
// The race detector finds fault if the two are compared by what decisions change.
func TestR10_OneCalendarInTwoSpellings(t *testing.T) {
	c, store := new(kit.MovingClock), new(weir.MemStore)
	var same []*weir.KeyedLimiter
	for _, zone := range []string{"", "UTC"} {
		same = append(same, weir.Must(weir.New(weir.CalendarWindow{Limit: 3, Unit: weir.Minute, Location: zone},
			weir.WithClock(c), weir.WithStore(store), weir.WithName("n"))))
	}
	var all sync.WaitGroup
	for g := range same {
		all.Go(func() {
			for i := range 2000 {
				same[(i+g)%2].Allow(kit.KeyName(i % 3))
				c.NS.Add(int64(20 * time.Second))
			}
		})
	}
	all.Wait()
	c.NS.Add(int64(time.Hour))
	for i := range 5 {
		assert.Equal(t, i < 3, same[i%2].Allow("k"))
	}
}

// The policies of the waiters are those for their own contexts. SetPolicy needs none for its own.
func TestR14_SetPolicyWithoutAPlanInItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type plan struct{}
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour},
			weir.WithPolicyFor(func(ctx context.Context, _ string) weir.Policy {
				if ctx.Value(plan{}) == nil {
					return weir.TokenBucket{} // which is invalid
				}
				return nil
			})))
		ctx := context.WithValue(t.Context(), plan{}, "usual")
		require.NoError(t, l.Wait(ctx, "k", 1))
		done := false
		go func() { done = l.Wait(ctx, "k", 1) == nil }()
		synctest.Wait()
		require.NoError(t, l.SetPolicy(t.Context(), weir.FixedWindow{Limit: 2, Per: time.Hour}))
		synctest.Wait()
		assert.True(t, done, "it asked at once")
		require.Error(t, l.Reset(t.Context(), "k"))
		require.NoError(t, l.Reset(ctx, "k"))
	})
}

// After a change the events of others count for a while. They are no events of the component that
// is charged for them: it does not count them until the end of its own, longer window.
func TestR15_WhatTheComponentsTellAfterAChange(t *testing.T) {
	second := weir.FixedWindow{Limit: 10, Per: time.Second}
	hour, minute := weir.FixedWindow{Limit: 10, Per: time.Hour}, weir.FixedWindow{Limit: 10, Per: time.Minute}
	for _, test := range []struct {
		to   weir.Policy
		used int
		as   int // who decides on the denial
	}{
		{weir.All(minute, hour), 10, 0},
		{weir.All(hour, minute), 10, 0},
		{weir.All(hour, second), 10, 0},
		{weir.Tiers(hour, minute), 10, 0},
		{weir.All(second, hour), 9, 0},
	} {
		h := &kit.HandClock{Time: time.Unix(0, kit.T0-kit.T0%int64(time.Hour))}
		l := weir.Must(weir.New(second, weir.WithClock(h)))
		kit.Take(t, l, "k", test.used)
		require.NoError(t, l.SetPolicy(context.Background(), test.to))

		var parts []weir.Result
		denied, err := l.TakeByComponent(context.Background(), "k", 5, &parts)
		require.NoError(t, err)
		assert.Equal(t, time.Second, denied.RetryAfter, "%v", test.to)
		assert.Equal(t, test.as, denied.DecidedBy, "%v", test.to)
		assert.Equal(t, denied.RetryAfter, parts[test.as].RetryAfter, "%v", test.to)
		for range 2 {
			for _, r := range parts {
				assert.LessOrEqual(t, r.ResetAfter, denied.ResetAfter, "%v", test.to)
				assert.LessOrEqual(t, r.RetryAfter, r.ResetAfter, "%v", test.to)
			}
			_, err = l.TakeByComponent(context.Background(), "k", 0, &parts)
			require.NoError(t, err)
		}
		h.Time = h.Add(time.Second)
		granted := kit.Take(t, l, "k", 5)
		assert.True(t, granted.Allowed, "%v", test.to)
	}
}

// Tiers are charged for as long as the slowest of them recovers, whichever of them is charged.
func TestR15_WhatATierTellsAfterAChange(t *testing.T) {
	h := &kit.HandClock{Time: time.Unix(0, kit.T0)}
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 4, Per: 3 * time.Hour}, weir.WithClock(h)))
	kit.Take(t, l, "k", 1)
	require.NoError(t, l.SetPolicy(context.Background(), weir.Tiers(
		weir.SlidingLog{Limit: 2, Per: 2 * time.Hour}, weir.SlidingLog{Limit: 4, Per: time.Hour},
	)))
	var tiers []weir.Result
	denied, err := l.TakeByComponent(context.Background(), "k", 4, &tiers)
	require.NoError(t, err)
	assert.Equal(t, 1, denied.DecidedBy)
	assert.Equal(t, 2*time.Hour, denied.RetryAfter)
	assert.Equal(t, denied.RetryAfter, tiers[1].RetryAfter)
	assert.LessOrEqual(t, tiers[1].RetryAfter, tiers[1].ResetAfter)
	h.Time = h.Add(denied.RetryAfter)
	assert.True(t, kit.Take(t, l, "k", 4).Allowed)
}

// R14: what another policy has used is charged for Per of this SlidingLog. That time begins with the
// first ask after the change, because a plain state does not say when it was granted its last
// event. If the policy has changed before, it begins with the last grant of the other policy. It
// begins again if that policy charges more.
func TestR14_WhenTheTimeOfAChargeBegins(t *testing.T) {
	day, hour := weir.SlidingLog{Limit: 10, Per: 24 * time.Hour}, weir.SlidingLog{Limit: 10, Per: time.Hour}
	for _, changedBefore := range []bool{false, true} {
		l, clock := kit.Frozen(day)
		if changedBefore {
			kit.Take(t, l, "k", 1)
			kit.SetPolicy(t, l, hour)
			kit.Take(t, l, "k", 1)
			kit.SetPolicy(t, l, day)
		}
		r := kit.Reserve(t, l, 5)
		kit.SetPolicy(t, l, hour)
		clock.Time = clock.Add(10 * time.Minute)
		want := time.Hour
		if changedBefore {
			want = 50 * time.Minute
		}
		assert.Equal(t, want, kit.Take(t, l, "k", 10).RetryAfter, "changed before: %v", changedBefore)
		require.NoError(t, r.Settle(context.Background(), 6))
		assert.Equal(t, time.Hour, kit.Take(t, l, "k", 10).RetryAfter, "changed before: %v", changedBefore)
	}
}

// R15: if the Capacity of a LeakyBucket is raised, the queue has more places. Allow is denied as
// before, while the outlet is busy.
func TestR15_ALongerQueue(t *testing.T) {
	queue := weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 10}
	l, _ := kit.Frozen(queue)
	places := func() (n int) {
		for kit.Reserve(t, l, 1).Allowed {
			n++
		}
		return n
	}
	assert.Equal(t, 11, places(), "one goes at once")
	queue.Capacity = 20
	kit.SetPolicy(t, l, queue)
	assert.False(t, l.Allow("k"))
	assert.Equal(t, 10, places())
}

// R16: of five policies, the one that granted longest ago can no longer give back. If that is a
// bucket with a booking ahead, for which it frees nothing either, it is the next.
func TestR16_WhichOfFivePoliciesGivesNothingBack(t *testing.T) {
	policies := []weir.Policy{weir.TokenBucket{Limit: 1000, Per: 24 * time.Hour}}
	for i := range 4 {
		policies = append(policies, weir.SlidingLog{Limit: 1000, Per: time.Duration(i+1) * time.Hour})
	}
	for _, test := range []struct {
		ahead int // bookings ahead of the bucket
		freed []bool
	}{
		{0, []bool{false, true, true, true, true}},
		{5, []bool{false, false, true, true, true}},
	} {
		l, clock := kit.Frozen(policies[0])
		booked := []*weir.Reservation{kit.Reserve(t, l, 500)}
		for range test.ahead {
			require.True(t, kit.Reserve(t, l, 1000).Allowed)
		}
		kit.SetPolicy(t, l, policies[1])
		assert.Equal(t, test.ahead == 0, l.Allow("k"))
		clock.Time = clock.Add(4 * time.Hour) // from now on the others are not charged for the bucket
		for _, p := range policies[1:] {
			kit.SetPolicy(t, l, p)
			booked = append(booked, kit.Reserve(t, l, 10))
		}
		for i, r := range booked {
			kit.SetPolicy(t, l, policies[i])
			before := kit.Take(t, l, "k", 0).Remaining
			require.True(t, r.Allowed)
			require.NoError(t, r.Cancel(context.Background()))
			assert.Equal(t, test.freed[i], kit.Take(t, l, "k", 0).Remaining > before, "%d ahead, policy %d", test.ahead, i)
		}
	}
}
