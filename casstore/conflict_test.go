package casstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/fleet"
)

// An unlucky Register loses each Swap to another process, as long as it has bad luck.
type unlucky struct {
	*memory
	luck int // how many Swaps are lost
}

func (u *unlucky) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (casstore.Entry, bool, error) {
	if u.luck > 0 {
		u.luck--
		old.Version = -1
	}
	return u.memory.Swap(ctx, key, old, value, keep)
}

// A decision that loses to other processes is made again, and counts once. After 100 attempts it is
// an error that is no outage.
func TestConflicts(t *testing.T) {
	for _, tells := range []bool{false, true} {
		for _, clock := range []bool{false, true} {
			bubble(t, func(t *testing.T, m *memory, _ *casstore.Store) {
				if m.tells = tells; clock {
					m.now = time.Now()
				}
				u := &unlucky{m, 99}
				s := casstore.New(u, casstore.Options{Timeout: time.Hour})
				l := newLimiter(t, s, wide)
				r, err := l.Take(t.Context(), "k", 1)
				require.NoError(t, err)
				assert.Equal(t, wide.Limit-1, r.Remaining)
				u.luck = 100
				granted, errs := flood(l, 1)
				assert.Zero(t, granted)
				require.Len(t, errs, 1)
				assert.ErrorIs(t, errs[0], weir.ErrRequest)
				assert.ErrorIs(t, errs[0], casstore.ErrBusy)
				u.luck = 50
				r, err = l.Take(t.Context(), "k", 1)
				require.NoError(t, err)
				assert.Equal(t, wide.Limit-2, r.Remaining)
				synctest.Wait() // the goroutine of the line is about to end
				assert.Zero(t, s.Lines())
			})
		}
	}
}

// If the time is over before the attempts are, the server works all the same, whatever the round
// does just then: FailOpen grants nothing.
func TestConflictsAreNoOutage(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, _ *casstore.Store) {
		u := &unlucky{m, 1 << 30}
		s := casstore.New(u, casstore.Options{})
		open := newLimiter(t, fleet.FailOpen(s, fleet.FailOpenOptions{Report: func(err error) { t.Errorf("opened by %v", err) }}), wide)
		began := time.Now()
		_, errs := flood(open, 10)
		assert.Equal(t, time.Second, time.Since(began))
		for _, err := range errs {
			assert.ErrorIs(t, err, weir.ErrRequest)
			assert.ErrorContains(t, err, "in time")
		}
		assert.Len(t, errs, 10)
	})
}

// A round may start from a state that is out of date, because another process resets the key before
// the round begins. A denial that such a state leads to must not be returned.
func TestResetBetweenRounds(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		m.tells = true
		l := newLimiter(t, s, weir.FixedWindow{Limit: 2, Per: time.Hour})
		calls := 0
		m.after = func(context.Context) error {
			if calls++; calls == 2 { // the Swap of the first round
				m.set(func(m *memory) { clear(m.values) })
			}
			return nil
		}
		first := make(chan weir.Result)
		go func() {
			r, _ := l.Take(t.Context(), "k", 2)
			first <- r
		}()
		time.Sleep(trip + trip/2)
		second := take(t, l, 1)
		assert.True(t, (<-first).Allowed)
		assert.Equal(t, weir.Result{Allowed: true, Limit: 2, Remaining: 1, ResetAfter: second.ResetAfter}, second)
		assert.Equal(t, 2, m.gets)
	})
}

// A caller that comes during a Get joins its round, but the state may have been read before. A denial
// that it leads to must not be returned either.
func TestResetDuringAGet(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		l := newLimiter(t, s, weir.FixedWindow{Limit: 2, Per: time.Hour})
		take(t, l, 2)
		m.after = func(context.Context) error {
			m.set(func(m *memory) { m.after = nil; clear(m.values) })
			time.Sleep(trip) // the reply is on its way
			return nil
		}
		first := make(chan bool)
		go func() { first <- l.Allow("k") }()
		time.Sleep(trip + trip/2)
		second := make(chan weir.Result)
		go func() { second <- take(t, l, 1) }()
		synctest.Wait()
		third := make(chan weir.Result)
		go func() { third <- take(t, l, 1) }()
		assert.False(t, <-first)
		assert.Equal(t, 1, (<-second).Remaining)
		assert.Zero(t, (<-third).Remaining)
		assert.Equal(t, 3, m.gets)
		assert.Equal(t, 2, m.swaps)
	})
}

// Nor must the error of a value that was read before, and that no store has written.
func TestRepairDuringAGet(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		l := newLimiter(t, s, weir.FixedWindow{Limit: 2, Per: time.Hour})
		m.values[casstore.Key("", "k")] = casstore.Entry{Value: []byte("no value"), Version: 1}
		m.after = func(context.Context) error {
			m.set(func(m *memory) { m.after = nil; clear(m.values) })
			time.Sleep(trip) // the reply is on its way
			return nil
		}
		first := make(chan error, 1)
		go func() {
			_, err := l.Take(t.Context(), "k", 1)
			first <- err
		}()
		time.Sleep(trip + trip/2)
		assert.Equal(t, 1, take(t, l, 1).Remaining)
		assert.ErrorIs(t, <-first, weir.ErrRequest)
	})
}

// Callers that come while a round loses take part in its next attempt.
func TestLaterCallersJoinTheNextAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, _ *casstore.Store) {
		s := casstore.New(&unlucky{m, 10}, casstore.Options{})
		l := newLimiter(t, s, wide)
		go l.Allow("k")
		time.Sleep(5 * trip)
		granted, errs := flood(l, 20)
		assert.Empty(t, errs)
		assert.Equal(t, 20, granted)
		assert.Equal(t, 1, m.swaps)
	})
}

// A caller may use what its request points to as soon as it has returned, even if the decision is
// still to come. The race detector watches it.
func TestRequestsOfLeaversAreNotWritten(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		var plan *weir.Plan
		l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			plan = r.Plan
			return s.Do(ctx, r)
		}), weir.All(wide, weir.SlidingLog{Limit: 9, Per: time.Hour}))
		l.Allow("k")
		for after := trip / 2; after < 3*trip; after += trip {
			charges, parts := []weir.Charge{{N: 7}}, []weir.Result{{Limit: 7}}
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, err := s.Do(ctx, weir.Request{Plan: plan, Key: "k", Ask: weir.Ask{N: 1, Charges: &charges, ByComponent: &parts}})
			cancel()
			if after > 2*trip {
				require.NoError(t, err)
				assert.Len(t, charges, 2)
				assert.Len(t, parts, 2)
				break
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			charges[0].N++
			parts[0].Limit++
			time.Sleep(5 * trip)
			assert.Equal(t, []weir.Charge{{N: 8}}, charges)
			assert.Equal(t, []weir.Result{{Limit: 8}}, parts)
		}
	})
}

type storeFunc func(context.Context, weir.Request) (weir.Answer, error)

func (f storeFunc) Do(ctx context.Context, r weir.Request) (weir.Answer, error) { return f(ctx, r) }

// A caller that hands over the entry it has found saves the Get, if no other caller asks for the
// key.
func TestDoFrom(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		found := new(casstore.Entry)
		l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			return s.DoFrom(ctx, r, found, time.Minute)
		}), wide)
		found.Version = nil
		assert.True(t, l.Allow("k"))
		assert.Zero(t, m.gets)
		*found = m.entry(casstore.Key("", "k"))
		assert.True(t, l.Allow("k"))
		assert.Zero(t, m.gets)
		r, err := l.Take(t.Context(), "k", 1) // found is out of date
		require.NoError(t, err)
		assert.Equal(t, wide.Limit-3, r.Remaining)
		assert.Equal(t, 1, m.gets)
		granted, errs := flood(l, 20)
		assert.Equal(t, 20, granted)
		assert.Empty(t, errs)
		*found = m.entry(casstore.Key("", "k"))
		assert.Equal(t, wide.Limit-23, take(t, l, 0).Remaining)
		late := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			return s.DoFrom(ctx, r, nil, 0)
		}), wide)
		_, err = late.Take(t.Context(), "k", 1)
		assert.ErrorIs(t, err, casstore.ErrNoReply)
	})
}

func take(t *testing.T, l *weir.KeyedLimiter, n int) weir.Result {
	t.Helper()
	r, err := l.Take(t.Context(), "k", n)
	require.NoError(t, err)
	return r
}
