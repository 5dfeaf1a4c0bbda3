package weir

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type stopped struct{ time.Time }

func (c *stopped) Now() time.Time                       { return c.Time }
func (c *stopped) After(time.Duration) <-chan time.Time { return nil }

// R16, R17: a reset forgets what was reserved. Cancelling it afterwards frees no events that others
// were granted since, even if they were granted the same number.
func TestR16_AResetForgetsReservations(t *testing.T) {
	ctx := context.Background()
	for _, p := range []Policy{
		TokenBucket{Limit: 10, Per: time.Minute},
		LeakyBucket{Limit: 10, Per: time.Minute},
		FixedWindow{Limit: 10, Per: time.Minute},
		SlidingWindow{Limit: 10, Per: time.Minute},
		SlidingLog{Limit: 10, Per: time.Minute},
		All(FixedWindow{Limit: 10, Per: time.Minute}, SlidingLog{Limit: 10, Per: time.Hour}),
		Tiers(TokenBucket{Limit: 4, Per: time.Minute}, TokenBucket{Limit: 6, Per: time.Minute}),
	} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			clock := &stopped{time.Unix(1_800_000_000, 0)}
			l := Must(New(p, WithClock(clock)))
			before, err := l.Reserve(ctx, "k", 3)
			require.NoError(t, err)
			require.True(t, before.Allowed)
			require.NoError(t, l.Reset(ctx, "k"))
			since, err := l.Reserve(ctx, "k", 3)
			require.NoError(t, err)
			assert.Equal(t, before.Result, since.Result)

			want, err := l.Take(ctx, "k", 0)
			require.NoError(t, err)
			require.NoError(t, before.Cancel(ctx))
			got, err := l.Take(ctx, "k", 0)
			require.NoError(t, err)
			assert.Equal(t, want, got, "nothing is free since")

			require.NoError(t, since.Cancel(ctx))
			got, err = l.Take(ctx, "k", 0)
			require.NoError(t, err)
			assert.Equal(t, got.Limit, got.Remaining, "this one counted")
			assert.Zero(t, got.ResetAfter)
		})
	}
}

// R16: a reset of the Unix epoch forgets what counts for no longer than 1 ns, the first instant
// that a grant has.
func TestR16_AResetOfTheEpochForgetsReservations(t *testing.T) {
	ctx := context.Background()
	l := Must(New(TokenBucket{Limit: 1000, Per: 1}, WithClock(&stopped{time.Unix(0, 0)})))
	before, err := l.Reserve(ctx, "k", 1)
	require.NoError(t, err)
	require.NoError(t, l.Reset(ctx, "k"))
	want, err := l.Take(ctx, "k", 1)
	require.NoError(t, err)
	require.NoError(t, before.Cancel(ctx))
	got, err := l.Take(ctx, "k", 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// between is a store in whose calls something else happens: before it decides, or when it has
// decided and has not returned the answer yet.
type between struct {
	MemStore
	before, after func(Request)
}

func (s *between) Do(ctx context.Context, r Request) (Answer, error) {
	if before := s.before; before != nil {
		s.before = nil
		before(r)
	}
	a, err := s.MemStore.Do(ctx, r)
	if after := s.after; after != nil {
		s.after = nil
		after(r)
	}
	return a, err
}

// R16: a reset also forgets what ReserveNow was granted, but has not returned yet, whatever else is
// reserved. Cancelling it afterwards frees nothing, even when all other reservations have ended.
func TestR16_AResetForgetsWhatIsBeingReserved(t *testing.T) {
	ctx := context.Background()
	const minute = time.Minute
	for name, test := range map[string]struct {
		other time.Duration // how long before the other is reserved, or 0 if none is
		later time.Duration // when it is cancelled
	}{
		"it is the first":        {},
		"another counts as long": {other: time.Nanosecond},
		"another has ended":      {other: minute + 2*time.Second},
		"another ends before it": {other: minute - time.Second, later: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			store, clock := new(between), &stopped{time.Unix(1_800_000_000, 0)}
			l := Must(New(FixedWindow{Limit: 10, Per: minute, FromFirst: true}, WithStore(store), WithClock(clock)))
			var other, r Reservation
			if test.other > 0 {
				require.NoError(t, l.ReserveNow(ctx, "other", 1, &other, nil))
				clock.Time = clock.Add(test.other)
			}
			store.after = func(Request) {
				require.NoError(t, l.Reset(ctx, "k"))
				require.True(t, take(t, l, 10).Allowed)
			}
			require.NoError(t, l.ReserveNow(ctx, "k", 3, &r, nil))
			require.True(t, r.Allowed)
			clock.Time = clock.Add(test.later)
			require.NoError(t, l.Reset(ctx, "a third"), "forgets resets that no longer matter")
			require.NoError(t, r.Cancel(ctx))
			assert.Zero(t, take(t, l, 0).Remaining, "all were granted since the reset")

			if test.other > 0 {
				require.NoError(t, other.Cancel(ctx))
			}
			left, err := l.Take(ctx, "other", 0)
			require.NoError(t, err)
			assert.Equal(t, 10, left.Remaining, "another key was reset")
		})
	}
}

// R16: a reset also forgets what ReserveNow is granted while the reset is under way.
func TestR16_AResetForgetsWhatIsReservedJustBefore(t *testing.T) {
	ctx := context.Background()
	store := new(between)
	l := Must(New(FixedWindow{Limit: 10, Per: time.Minute}, WithStore(store), WithClock(&stopped{time.Unix(1_800_000_000, 0)})))
	var r Reservation
	store.before = func(asks Request) {
		require.True(t, asks.Forget)
		require.NoError(t, l.ReserveNow(ctx, "k", 3, &r, nil))
	}
	require.NoError(t, l.Reset(ctx, "k"))
	require.True(t, take(t, l, 10).Allowed)
	require.NoError(t, r.Cancel(ctx))
	assert.Zero(t, take(t, l, 0).Remaining, "all were granted since the reset")
}

// R16: what ReserveNow is granted while other keys are reset is given back.
func TestR16_AResetForgetsNoOtherKey(t *testing.T) {
	ctx := context.Background()
	store := new(between)
	l := Must(New(FixedWindow{Limit: 10, Per: time.Minute}, WithStore(store), WithClock(&stopped{time.Unix(1_800_000_000, 0)})))
	var open, r Reservation
	require.NoError(t, l.ReserveNow(ctx, "open", 1, &open, nil))
	store.after = func(Request) {
		require.NoError(t, l.Reset(ctx, "other"))
		require.NoError(t, l.Reset(ctx, "a third"))
	}
	require.NoError(t, l.ReserveNow(ctx, "k", 3, &r, nil))
	require.NoError(t, r.Cancel(ctx))
	assert.Equal(t, 10, take(t, l, 0).Remaining)

	// Reserve has its turn with resets of its key: it knows that there was none.
	l = Must(New(FixedWindow{Limit: 10, Per: time.Minute}, WithStore(store), WithClock(&stopped{time.Unix(1_800_000_000, 0)}), WithName("2")))
	store.after = func(Request) { require.NoError(t, l.Reset(ctx, "other")) }
	first, err := l.Reserve(ctx, "k", 3)
	require.NoError(t, err)
	require.NoError(t, first.Cancel(ctx))
	assert.Equal(t, 10, take(t, l, 0).Remaining)
}

func take(t *testing.T, l *KeyedLimiter, n int) Result {
	t.Helper()
	r, err := l.Take(context.Background(), "k", n)
	require.NoError(t, err)
	return r
}

// If more is settled than was reserved, the difference is charged, also after a reset. Other keys
// are not concerned.
func TestR16_AResetForgetsNothingElse(t *testing.T) {
	ctx := context.Background()
	l := Must(New(FixedWindow{Limit: 10, Per: time.Minute}, WithClock(&stopped{time.Unix(1_800_000_000, 0)})))
	more, err := l.Reserve(ctx, "k", 3)
	require.NoError(t, err)
	other, err := l.Reserve(ctx, "other", 3)
	require.NoError(t, err)
	require.NoError(t, l.Reset(ctx, "k"))
	require.NoError(t, more.Settle(ctx, 5))
	require.NoError(t, other.Cancel(ctx))
	for key, remaining := range map[string]int{"k": 8, "other": 10} {
		r, err := l.Take(ctx, key, 0)
		require.NoError(t, err)
		assert.Equal(t, remaining, r.Remaining, key)
	}
}

// R22: a reset is remembered while a reservation may still count, and about a second longer.
func TestR22_ResetsAreForgotten(t *testing.T) {
	ctx := context.Background()
	clock := &stopped{time.Unix(1_800_000_000, 0)}
	l := Must(New(FixedWindow{Limit: 10, Per: time.Minute}, WithClock(clock)))
	reset := func(n int) {
		for i := range n {
			require.NoError(t, l.Reset(ctx, fmt.Sprint("key ", i)))
		}
	}
	reset(1000)
	assert.Zero(t, l.resets.Len(), "nothing was reserved")
	_, err := l.Reserve(ctx, "k", 1)
	require.NoError(t, err)
	reset(1000)
	assert.Equal(t, 1000, l.resets.Len())
	clock.Time = clock.Add(time.Minute + 2*time.Second)
	reset(1)
	assert.Zero(t, l.resets.Len())
}

// R16: a reset that was carried out may be reported as an error. Reservations from before the reset
// then give nothing back.
func TestR16_AResetThatSeemsToFail(t *testing.T) {
	ctx := context.Background()
	lost := &lostReset{}
	l := Must(New(FixedWindow{Limit: 10, Per: time.Hour}, WithStore(lost), WithClock(&stopped{time.Unix(1_800_000_000, 0)})))
	r, err := l.Reserve(ctx, "k", 10)
	require.NoError(t, err)
	require.Error(t, l.Reset(ctx, "k"))
	for range 10 {
		require.True(t, l.Allow("k"))
	}
	require.NoError(t, r.Cancel(ctx))
	assert.False(t, l.Allow("k"))
}

type lostReset struct{ MemStore }

func (s *lostReset) Do(ctx context.Context, r Request) (Answer, error) {
	a, err := s.MemStore.Do(ctx, r)
	if r.Forget {
		err = context.DeadlineExceeded
	}
	return a, err
}

// R22: a reset is not remembered because of what gives nothing back.
func TestR22_AResetKeepsLittle(t *testing.T) {
	ctx := context.Background()
	l := Must(New(TokenBucket{Limit: 1, Per: time.Hour}))
	debtor, err := l.Reserve(ctx, "debtor", 0)
	require.NoError(t, err)
	require.NoError(t, debtor.Settle(ctx, 1<<30))
	_, err = l.Reserve(ctx, "debtor", 1)
	require.NoError(t, err)
	require.NoError(t, l.Reset(ctx, "k"))
	assert.Zero(t, l.resets.Len())
}
