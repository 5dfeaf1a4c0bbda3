package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/fleet"
)

const trip = 10 * time.Millisecond // a round trip

// slow makes each call take a round trip, or less if its context ends.
func slow(m *memory) {
	m.before = func(ctx context.Context) error {
		select {
		case <-time.After(trip):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var wide = weir.FixedWindow{Limit: 1000, Per: 1000 * time.Hour}

// bubble runs a test on a store in a bubble, on a server that takes a round trip for each call.
// Afterwards no line is left.
func bubble(t *testing.T, f func(t *testing.T, m *memory, s *casstore.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		slow(m)
		s := casstore.New(m, casstore.Options{})
		f(t, m, s)
		synctest.Wait()
		assert.Zero(t, s.Lines())
	})
}

// flood takes one event n times at once, and returns the errors of those that failed.
func flood(l *weir.KeyedLimiter, n int) (granted int, errs []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r, err := l.Take(context.Background(), "k", 1)
			mu.Lock()
			defer mu.Unlock()
			if r.Allowed {
				granted++
			}
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return granted, errs
}

// Callers of one key share their round trips. The first has its own. Those who come during its Get
// join it, and those who come during its Swap have the next.
func TestCallersShareRoundTrips(t *testing.T) {
	const callers = 200
	for name, c := range map[string]struct {
		after              time.Duration // the others come
		tells, clock       bool
		gets, swaps, trips int
	}{
		"during Get":                   {trip / 2, false, false, 1, 1, 2},
		"during Get, tells":            {trip / 2, true, false, 1, 1, 2},
		"during Get, clock":            {trip / 2, false, true, 2, 2, 4}, // the time must not be from before the callers came
		"during Get, tells and clock":  {trip / 2, true, true, 2, 2, 4},
		"during Swap":                  {trip + trip/2, false, false, 2, 2, 4},
		"during Swap, tells":           {trip + trip/2, true, false, 1, 2, 3}, // the second round goes on from what the first has left
		"during Swap, clock":           {trip + trip/2, false, true, 2, 2, 4},
		"during Swap, tells and clock": {trip + trip/2, true, true, 2, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
				if m.tells = c.tells; c.clock {
					m.now = time.Now()
				}
				l := newLimiter(t, s, weir.FixedWindow{Limit: callers - 50, Per: time.Hour})
				began := time.Now()
				first := make(chan bool)
				go func() { first <- l.Allow("k") }()
				time.Sleep(c.after)
				granted, errs := flood(l, callers-1)
				assert.True(t, <-first)
				assert.Empty(t, errs)
				assert.Equal(t, callers-50, granted+1)
				assert.Equal(t, c.gets, m.gets)
				assert.Equal(t, c.swaps, m.swaps)
				assert.Equal(t, time.Duration(c.trips)*trip, time.Since(began))
			})
		})
	}
}

// P22: callers of different keys do not wait for each other.
func TestP22_KeysHaveLinesOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		l := newLimiter(t, s, wide)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() { assert.True(t, l.Allow(fmt.Sprint(i))) })
		}
		all.Wait()
		assert.Equal(t, 2*trip, time.Since(began))
	})
}

// A caller that leaves before a Swap is not counted, and its error says so. One that leaves during
// a Swap may have been counted. The others of its round get their answers.
func TestLeaving(t *testing.T) {
	for _, c := range []struct {
		name   string
		clock  bool          // with one, the caller has a round of its own, from 2 to 4 trips; else the first's, to 2
		after  time.Duration // the caller leaves
		counts bool          // it may have been counted
		well   bool          // the server has replied meanwhile as often as a decision needs
	}{
		{"before the round", false, trip / 2, false, false},
		{"during the shared Swap", false, trip + trip/2, true, false},
		{"in the line", true, trip / 2, false, false},
		{"later in the line", true, trip + trip/2, false, false},
		{"during Get", true, 2*trip + trip/2, false, true},
		{"during Swap", true, 3*trip + trip/2, true, true},
	} {
		for _, cancels := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", cancels: ", cancels), func(t *testing.T) {
				bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
					if c.clock {
						m.now = time.Now()
					}
					l := newLimiter(t, s, wide)
					go l.Allow("k")
					synctest.Wait()
					go func() { assert.NoError(t, l.Wait(t.Context(), "k", 10)) }()
					ctx, cancel := context.WithTimeout(t.Context(), c.after)
					want := context.DeadlineExceeded
					if cancels {
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(c.after, cancel)
						want = context.Canceled
					}
					defer cancel()
					_, err := l.Take(ctx, "k", 100)
					require.ErrorIs(t, err, want)
					assert.Equal(t, c.well && !c.counts, errors.Is(err, casstore.ErrBusy), "%v", err)
					assert.Equal(t, c.well || cancels && !c.counts, errors.Is(err, weir.ErrRequest), "%v", err)
					used := 1 + 10
					if c.counts {
						assert.ErrorContains(t, err, "may have been counted")
						used += 100
					} else {
						assert.ErrorContains(t, err, "nothing was counted")
					}
					time.Sleep(10 * trip)
					r, err := l.Take(t.Context(), "k", 0)
					require.NoError(t, err)
					assert.Equal(t, used, wide.Limit-r.Remaining)
				})
			})
		}
	}
}

// When all callers of a round have left, the context of its call ends. Those who come next have a
// round of their own.
func TestAllLeave(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
		l := newLimiter(t, s, wide)
		m.before = func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			assert.False(t, bounded)
			<-ctx.Done()
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 3 {
			go l.Take(ctx, "k", 1)
		}
		synctest.Wait()
		next := make(chan bool)
		go func() { next <- l.Allow("k") }()
		synctest.Wait()
		m.set(func(m *memory) { m.before = nil })
		cancel()
		assert.True(t, <-next)
		assert.Equal(t, 1, m.swaps)
	})
}

// No reply within the timeout is an outage. It holds no caller for longer, even if the Register
// does not heed its context.
func TestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, _ *casstore.Store) {
		s := casstore.New(m, casstore.Options{Timeout: time.Minute})
		l := newLimiter(t, s, wide)
		m.before = func(context.Context) error {
			time.Sleep(time.Hour)
			return nil
		}
		began := time.Now()
		granted, errs := flood(l, 10)
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Zero(t, granted)
		require.Len(t, errs, 10)
		for _, err := range errs {
			assert.ErrorIs(t, err, casstore.ErrNoReply)
			assert.NotErrorIs(t, err, weir.ErrRequest)
		}
		opened := 0
		open := newLimiter(t, fleet.FailOpen(s, fleet.FailOpenOptions{Report: func(error) { opened++ }}), wide)
		assert.True(t, open.Allow("k"))
		assert.Equal(t, 1, opened)
		time.Sleep(3 * time.Hour)
		assert.Zero(t, s.Lines())
	})
}

// All callers of a round get the error of the Register, which says whether their events may have been
// counted. After a failed Get nothing was counted, and the next round reads again.
func TestErrorsOfTheRegister(t *testing.T) {
	broken := errors.New("broken")
	for i, says := range []string{"nothing was counted", "the events may have been counted"} {
		fails := i + 1 // the Get, or the Swap
		bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
			calls := 0
			m.tells = true
			m.before = func(context.Context) error {
				if calls++; calls == fails {
					return broken
				}
				return nil
			}
			l := newLimiter(t, s, wide)
			_, errs := flood(l, 1)
			require.Len(t, errs, 1)
			assert.ErrorIs(t, errs[0], broken)
			assert.ErrorContains(t, errs[0], says)
			assert.NotErrorIs(t, errs[0], weir.ErrRequest)
			granted, errs := flood(l, 10)
			assert.Empty(t, errs)
			assert.Equal(t, 10, granted)
			r, err := l.Take(t.Context(), "k", 0)
			require.NoError(t, err)
			assert.Equal(t, wide.Limit-10, r.Remaining)
			m.before = func(context.Context) error { return broken }
			err = l.Reset(t.Context(), "k")
			assert.ErrorIs(t, err, broken)
			assert.ErrorContains(t, err, "the key may have been forgotten")
		})
	}
}
