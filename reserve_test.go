package weir_test

import (
	"context"
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A reservation that is settled leaves the same state as a Take of the settled number at the start.
func TestReserve_SettledIsAsTaken(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, test := range []struct{ estimate, actual int }{{4, 4}, {4, 1}, {4, 6}, {4, 0}, {0, 3}, {0, 0}, {7, 6}} {
			l, _ := kit.Frozen(p)
			want, _ := kit.Frozen(p)
			r := kit.Reserve(t, l, test.estimate)
			assert.Equal(t, kit.Take(t, want, "k", test.estimate), r.Result)
			assert.Zero(t, r.Delay())
			require.NoError(t, r.Settle(background, test.actual))

			want, _ = kit.Frozen(p)
			kit.Take(t, want, "k", test.actual)
			assert.Equal(t, kit.Take(t, want, "k", 0), kit.Take(t, l, "k", 0), "%+v", test)
		}
	})
}

// More than there is is charged all the same, and those who come later wait for it.
func TestSettle_IntoDebt(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		retry  time.Duration // 10 are in use, and then 15 more
	}{
		{weir.TokenBucket{Limit: 10, Per: 10 * time.Second}, 16 * time.Second},
		{weir.LeakyBucket{Limit: 10, Per: 10 * time.Second}, 25 * time.Second},
		{weir.FixedWindow{Limit: 10, Per: 10 * time.Second}, 10 * time.Second},
		{weir.FixedWindow{Limit: 10, Per: 10 * time.Second, FromFirst: true}, 10 * time.Second},
		{weir.SlidingLog{Limit: 10, Per: 10 * time.Second}, 10 * time.Second},
		{weir.SlidingWindow{Limit: 10, Per: 10 * time.Second}, 16 * time.Second}, // and 1 ns: 25*(1-6/10) = 10
	} {
		l, clock := kit.Frozen(test.policy)
		r := kit.Reserve(t, l, 10)
		require.NoError(t, r.Settle(background, 25))
		look := kit.Take(t, l, "k", 0)
		assert.Zero(t, look.Remaining, "%#v", test.policy)
		denied := kit.Take(t, l, "k", 1)
		assert.False(t, denied.Allowed)
		assert.Equal(t, test.retry, denied.RetryAfter.Truncate(10*time.Millisecond), "%#v", test.policy)
		clock.Time = clock.Add(denied.RetryAfter - 1)
		assert.False(t, l.Allow("k"), "%#v", test.policy)
		clock.Time = clock.Add(1)
		assert.True(t, l.Allow("k"), "%#v", test.policy)
	}
}

// R19: a bucket pays a debt at its rate. A window or log counts it for no longer than other events.
func TestR19_HowLongADebtLasts(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		lasts  time.Duration
	}{
		{weir.TokenBucket{Limit: 10, Per: time.Hour}, 100 * time.Hour},
		{weir.LeakyBucket{Limit: 10, Per: time.Hour}, 100 * time.Hour},
		{weir.FixedWindow{Limit: 10, Per: time.Hour}, time.Hour},
		{weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true}, time.Hour},
		{weir.CalendarWindow{Limit: 10, Unit: weir.Hour}, time.Hour},
		{weir.SlidingLog{Limit: 10, Per: time.Hour}, time.Hour},
		{weir.SlidingWindow{Limit: 10, Per: time.Hour}, 2 * time.Hour},
		{weir.SlidingWindow{Limit: 10, Per: time.Hour, Buckets: 4}, 75 * time.Minute},
	} {
		l, clock := kit.Frozen(test.policy)
		require.NoError(t, kit.Reserve(t, l, 1).Settle(background, 1000))
		denied := kit.Take(t, l, "k", 10)
		assert.Equal(t, test.lasts, denied.RetryAfter.Round(time.Minute), "%#v", test.policy)
		clock.Time = clock.Add(denied.RetryAfter)
		assert.True(t, kit.Take(t, l, "k", 10).Allowed, "%#v", test.policy)
	}
}

// P11: when the debt is paid, the key earns no more than it would have without.
func TestP11_AfterADebtTheRefillIsClamped(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, clock := kit.Frozen(p)
		limit := kit.Take(t, l, "k", 0).Limit
		require.NoError(t, kit.Reserve(t, l, limit).Settle(background, 100*limit))
		clock.Time = clock.Add(time.Hour)
		granted, _, err := l.TakeUpTo(background, "k", math.MaxInt)
		require.NoError(t, err)
		assert.Equal(t, limit, granted)
	})
}

// P20: reservations that were cancelled, the last first, leave no trace. Of others nothing is
// freed: the instants of those behind them were told (R17).
func TestP20_CancelledReservationsLeaveNoTrace(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Hour},
		weir.LeakyBucket{Limit: 1, Per: time.Hour, Capacity: 99},
	} {
		l, _ := kit.Frozen(p)
		require.True(t, l.Allow("k"))
		before := kit.Take(t, l, "k", 0)
		var made []*weir.Reservation
		for i := range 10 {
			r := kit.Reserve(t, l, 1)
			assert.Equal(t, time.Duration(i+1)*time.Hour, r.Delay())
			made = append(made, r)
		}
		all := kit.Take(t, l, "k", 0)
		for _, i := range []int{3, 0, 1} {
			require.NoError(t, made[i].Cancel(background))
			assert.Equal(t, all, kit.Take(t, l, "k", 0))
		}
		for _, i := range []int{9, 8, 7, 6, 5, 4} {
			require.NoError(t, made[i].Cancel(background))
		}
		assert.Equal(t, before.ResetAfter+4*time.Hour, kit.Take(t, l, "k", 0).ResetAfter)
		assert.Equal(t, 5*time.Hour, kit.Reserve(t, l, 1).Delay())
	}
}

func TestReserve_BooksAheadAsFarAsTheDeadline(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 3},
	} {
		l, clock := kit.Frozen(p)
		for i := range 3 {
			r := kit.Reserve(t, l, 1)
			require.True(t, r.Allowed)
			assert.Equal(t, time.Duration(i)*time.Second, r.Delay())
		}
		before := kit.Take(t, l, "k", 0)
		r, err := l.Reserve(kit.Deadline{Context: background, At: clock.Add(3*time.Second - 1)}, "k", 1)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
		assert.Equal(t, time.Duration(1), r.RetryAfter)
		assert.Equal(t, weir.Never, r.Delay())
		require.NoError(t, r.Cancel(background))
		assert.Equal(t, before, kit.Take(t, l, "k", 0), "a denial counts nothing")

		r, err = l.Reserve(kit.Deadline{Context: background, At: clock.Add(3 * time.Second)}, "k", 1)
		require.NoError(t, err)
		assert.Equal(t, 3*time.Second, r.Delay())
		clock.Time = clock.Add(2900 * time.Millisecond)
		assert.Equal(t, 100*time.Millisecond, r.Delay(), "it is told from now")
		clock.Time = clock.Add(time.Hour)
		assert.Zero(t, r.Delay())
	}
	l, _ := kit.Frozen(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 1})
	assert.True(t, kit.Reserve(t, l, 1).Allowed)
	assert.True(t, kit.Reserve(t, l, 1).Allowed)
	assert.False(t, kit.Reserve(t, l, 1).Allowed, "the queue is full")
	assert.Equal(t, weir.Never, kit.Reserve(t, l, 2).RetryAfter)
}

func TestReserve_WindowsGrantNowOrDeny(t *testing.T) {
	for _, p := range kit.AllPolicies(3, 3*time.Second)[2:] {
		l, _ := kit.Frozen(p)
		assert.Zero(t, kit.Reserve(t, l, 3).Delay())
		r := kit.Reserve(t, l, 2)
		assert.False(t, r.Allowed)
		assert.Equal(t, kit.Take(t, l, "k", 2), r.Result)
		require.NoError(t, r.Settle(background, 2), "it was done all the same")
		assert.Greater(t, kit.Take(t, l, "k", 3).RetryAfter, time.Duration(0))
		require.NoError(t, r.Settle(background, 0))
		assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
	}
}

// A window gives back only events that it still counts. The events that it counts later are others.
func TestP3_NothingIsGivenBackOutOfALaterWindow(t *testing.T) {
	for _, p := range kit.AllPolicies(10, 10*time.Second)[2:] {
		l, clock := kit.Frozen(p)
		r := kit.Reserve(t, l, 6)
		clock.Time = clock.Add(20 * time.Second)
		require.True(t, kit.Take(t, l, "k", 10).Allowed)
		require.NoError(t, r.Cancel(background))
		assert.Zero(t, kit.Take(t, l, "k", 0).Remaining, "%#v", p)
	}
}

func TestP3_ReservationsRefuseNegativeNumbers(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		l, _ := kit.Frozen(p)
		r := kit.Reserve(t, l, 5)
		before := kit.Take(t, l, "k", 0)
		for _, n := range []int{-1, math.MinInt} {
			assert.ErrorContains(t, r.Settle(background, n), "at least 0")
			assert.ErrorContains(t, l.Return(background, "k", n), "at least 0")
			_, err := l.Reserve(background, "k", n)
			assert.ErrorContains(t, err, "at least 0")
		}
		assert.Equal(t, before, kit.Take(t, l, "k", 0))
		require.NoError(t, r.Settle(background, 4), "the error has not settled it")
		assert.NotEqual(t, before, kit.Take(t, l, "k", 0))
	})
}

// The first call counts, and the others do nothing.
func TestReservation_IsSettledOnce(t *testing.T) {
	cancel := func(r *weir.Reservation) error { return r.Cancel(background) }
	settle := func(n int) func(*weir.Reservation) error {
		return func(r *weir.Reservation) error { return r.Settle(background, n) }
	}
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		for _, then := range []func(*weir.Reservation) error{cancel, settle(0), settle(1), settle(5), settle(9)} {
			for _, first := range []int{0, 1, 5, 7} {
				l, _ := kit.Frozen(p)
				kit.Take(t, l, "k", 1)
				r := kit.Reserve(t, l, 5)
				require.NoError(t, settle(first)(r))
				before := kit.Take(t, l, "k", 0)
				for range 3 {
					require.NoError(t, then(r))
				}
				require.Equal(t, before, kit.Take(t, l, "k", 0))
			}
		}
	})
}

// A reservation outlasts a change of the policy: what was used still counts, and the
// difference is given back by the new one.
func TestReserve_ThePolicyChangesBeforeItIsSettled(t *testing.T) {
	l, _ := kit.Frozen(weir.FixedWindow{Limit: 10, Per: time.Minute})
	r := kit.Reserve(t, l, 8)
	require.NoError(t, l.SetPolicy(background, weir.FixedWindow{Limit: 100, Per: time.Minute}))
	require.NoError(t, r.Settle(background, 3))
	assert.Equal(t, 97, kit.Take(t, l, "k", 0).Remaining)
}

func TestReservations_OfNothing(t *testing.T) {
	for _, r := range []*weir.Reservation{nil, {}, {Result: weir.Result{Allowed: true}}} {
		assert.Equal(t, weir.Never, r.Delay())
		assert.ErrorContains(t, r.Cancel(background), "must be made by Reserve")
		assert.ErrorContains(t, r.Settle(background, 1), "must be made by Reserve")
	}
	for _, l := range []*weir.KeyedLimiter{nil, {}} {
		r, err := l.Reserve(background, "k", 1)
		assert.Nil(t, r)
		assert.Error(t, err)
		assert.Error(t, l.Return(background, "k", 1))
		assert.Error(t, l.Reset(background, "k"))
	}
}

// A ctx that has ended is an error, but for those who give back or settle: they have often
// been cancelled.
func TestReserve_WithAnEndedContext(t *testing.T) {
	ended, end := context.WithCancel(background)
	end()
	l, _ := kit.Frozen(weir.TokenBucket{Limit: 10, Per: time.Second})
	_, err := l.Reserve(ended, "k", 1)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, l.Reset(ended, "k"), context.Canceled)

	a, b, c := kit.Reserve(t, l, 3), kit.Reserve(t, l, 2), kit.Reserve(t, l, 1)
	require.NoError(t, a.Cancel(ended))
	assert.Equal(t, 7, kit.Take(t, l, "k", 0).Remaining)
	require.NoError(t, b.Settle(ended, 4))
	assert.Equal(t, 5, kit.Take(t, l, "k", 0).Remaining)
	require.NoError(t, c.Settle(ended, 1))
	require.NoError(t, l.Return(ended, "k", 4))
	assert.Equal(t, 9, kit.Take(t, l, "k", 0).Remaining)
}

// The memory of a key may be used again when a request has been answered, as fasthttp does it. A
// Reservation that is used again gives back to its own key, whatever has become of an earlier one.
func TestR16_ReservationUsedAgainDoesNotLookAtTheEarlierKey(t *testing.T) {
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Hour}))
	memory := []byte("ann")
	var r weir.Reservation
	require.NoError(t, l.ReserveNow(background, unsafe.String(&memory[0], len(memory)), 1, &r, nil))

	copy(memory, "bob") // another request of bob
	require.NoError(t, l.ReserveNow(background, "bob", 1, &r, nil))
	copy(memory, "eve") // which has been answered
	require.NoError(t, r.Cancel(background))
	assert.Equal(t, 5, kit.Take(t, l, "bob", 0).Remaining)
}
