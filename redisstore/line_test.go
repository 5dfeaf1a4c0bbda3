package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// A fakeServer does what the scripts read and swap do, each in the same time.
type fakeServer struct {
	takes atomic.Int64 // how long a command takes

	mu     sync.Mutex
	values map[any]string
	swaps  int // that have replaced a state
}

func newFakeServer() *fakeServer { return &fakeServer{values: map[any]string{}} }

func (f *fakeServer) Process(_ context.Context, cmd redis.Cmder) error {
	time.Sleep(time.Duration(f.takes.Load()))
	f.mu.Lock()
	defer f.mu.Unlock()
	args := cmd.Args() // the key, and of a swap the old value, the new one, and its time to live
	key, what := args[3], byte(2)
	reply := f.values[key]
	if len(args) == 7 && reply == args[4] {
		f.values[key], what, reply = args[5].(string), 1, ""
		f.swaps++
	}
	now := make([]byte, 8)
	for i, us := 7, time.Now().UnixMicro(); i > 0; i, us = i-1, us>>8 {
		now[i] = byte(us)
	}
	now[0] = what
	cmd.(once).SetVal(string(now) + reply)
	return nil
}

var unscripted = inGo{weir.FixedWindow{Limit: 1_000_000, Per: 1000 * time.Hour}}

// flood asks for one key so often at once that not all can be served in time, and returns how many
// were granted, and the errors.
func flood(l *weir.KeyedLimiter, callers int) (granted int, errs []error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range callers {
		all.Go(func() {
			r, err := l.Take(context.Background(), "k", 1)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			} else if r.Allowed && !r.Degraded {
				granted++
			}
		})
	}
	all.Wait()
	return granted, errs
}

// Who floods one key of a policy without a script gets errors that say so. It is no outage: neither
// FailOpen grants, nor does Fallback turn away from the store, which decides on other keys.
func TestFloodOfOneKeyIsNoOutage(t *testing.T) {
	const command, callers = 10 * time.Millisecond, 200
	setup := func(opts ...Option) (*fakeServer, *Store) {
		server := newFakeServer()
		server.takes.Store(int64(command))
		return server, newStore(t, server, append([]Option{WithTimeout(time.Second)}, opts...)...)
	}
	t.Run("alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server, s := setup()
			granted, errs := flood(newLimiter(t, s, unscripted, ""), callers)
			assert.Greater(t, granted, 60, "one after another, for three quarters of a second")
			assert.Equal(t, server.swaps, granted, "nothing is counted of those that failed")
			assert.Len(t, errs, callers-granted)
			for _, err := range errs {
				require.ErrorIs(t, err, weir.ErrRequest)
				require.ErrorIs(t, err, ErrBusy)
			}
		})
	})
	t.Run("FailOpen", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server, s := setup()
			open := fleet.FailOpen(s, func(err error) { t.Errorf("opened by %v", err) })
			granted, errs := flood(newLimiter(t, open, unscripted, ""), callers)
			assert.Equal(t, server.swaps, granted)
			assert.Len(t, errs, callers-granted)
		})
	})
	t.Run("Fallback", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server, s := setup()
			store := fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{
				Budget: 500 * time.Millisecond,
				Report: func(err error) { t.Errorf("an outage: %v", err) },
			})
			l := newLimiter(t, store, unscripted, "")
			began := time.Now()
			granted, errs := flood(l, callers)
			assert.LessOrEqual(t, time.Since(began), 500*time.Millisecond)
			assert.Equal(t, server.swaps, granted)
			for _, err := range errs {
				require.ErrorIs(t, err, weir.ErrRequest)
			}
			r := take(t, l, "other", 1)
			assert.False(t, r.Degraded)
			time.Sleep(time.Second) // the end of its terms
		})
	})
	t.Run("own deadlines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, s := setup()
			l := newLimiter(t, s, unscripted, "")
			go flood(l, callers)
			time.Sleep(5 * command)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorIs(t, err, weir.ErrRequest)
			assert.ErrorIs(t, err, ErrBusy)
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err = l.Take(ctx, "k", 1)
			assert.ErrorIs(t, err, weir.ErrRequest)
			assert.ErrorIs(t, err, context.Canceled)
			time.Sleep(time.Second)
		})
	})
}

// A server that hangs while callers wait for their turn is an outage for all of them: Fallback has
// an answer for each.
func TestHangInTheLineIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		s := newStore(t, server, WithTimeout(time.Second))
		var opened atomic.Int64
		open := newLimiter(t, fleet.FailOpen(s, func(error) { opened.Add(1) }), unscripted, "open")
		store := fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{})
		l := newLimiter(t, store, unscripted, "")
		for _, l := range []*weir.KeyedLimiter{l, open} {
			take(t, l, "k", 1)
			server.takes.Store(int64(10 * time.Millisecond))
			time.AfterFunc(15*time.Millisecond, func() { server.takes.Store(int64(5 * time.Second)) }) // after the reads
			_, errs := flood(l, 20)
			assert.Empty(t, errs)
			server.takes.Store(0)
			time.Sleep(10 * time.Second)
		}
		assert.GreaterOrEqual(t, opened.Load(), int64(19))
	})
}

// Looks and denials of a key don't wait for those who change it.
func TestLooksAndDenialsDoNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const command = 10 * time.Millisecond
		server := newFakeServer()
		s := newStore(t, server, WithTimeout(time.Hour))
		l := newLimiter(t, s, inGo{weir.FixedWindow{Limit: 60, Per: 1000 * time.Hour}}, "")
		server.takes.Store(int64(command))
		go flood(l, 50)
		time.Sleep(5 * command)
		for _, n := range []int{0, 61, 60} {
			began := time.Now()
			take(t, l, "k", n)
			assert.Equal(t, command, time.Since(began), "%d events", n)
		}
		time.Sleep(time.Second)
		assert.Equal(t, 10, take(t, l, "k", 0).Remaining)
		assert.Equal(t, 50, server.swaps, "and those who do lose no race among themselves")
	})
}

// P22: those who ask for other keys don't wait for each other, however many there are.
func TestP22_KeysHaveLinesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const command, keys = 100 * time.Millisecond, 1000
		server := newFakeServer()
		server.takes.Store(int64(command))
		l := newLimiter(t, newStore(t, server, WithTimeout(time.Second)), unscripted, "")
		errs := make([]error, keys)
		began := time.Now()
		var all sync.WaitGroup
		for i := range keys {
			all.Go(func() { _, errs[i] = l.Take(context.Background(), fmt.Sprint(i), 1) })
		}
		all.Wait()
		assert.NoError(t, errors.Join(errs...))
		assert.Equal(t, 2*command, time.Since(began), "each reads, and replaces what it has read")
	})
}

// A decision that takes several commands has the time of one for all of them together, and for its
// turn.
func TestDecisionOfSeveralCommandsIsNotLate(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for _, test := range []struct {
		command time.Duration // a command takes
		want    []error       // of callers of one key that come at the same time
	}{
		{90 * time.Millisecond, []error{nil, nil, ErrBusy}}, // all read, and then replace what the one before has left
		{110 * time.Millisecond, []error{nil, ErrNoReply, ErrBusy}},
		{200 * time.Millisecond, []error{ErrNoReply, ErrBusy, ErrBusy}}, // the first while its state is being replaced
	} {
		synctest.Test(t, func(t *testing.T) {
			client := newFakeServer()
			client.takes.Store(int64(test.command))
			s, err := New(client, WithTimeout(timeout))
			require.NoError(t, err)
			l, err := weir.New(weir.All(weir.SlidingLog{Limit: 5, Per: time.Hour}), weir.WithStore(s))
			require.NoError(t, err)
			began := time.Now()
			var callers sync.WaitGroup
			errs := make([]error, len(test.want))
			for i := range errs {
				callers.Go(func() {
					time.Sleep(time.Duration(i)) // in order
					_, errs[i] = l.Take(context.Background(), "k", 1)
					assert.LessOrEqual(t, time.Since(began), timeout+time.Duration(i))
				})
			}
			callers.Wait()
			for i, want := range test.want {
				assert.ErrorIs(t, errs[i], want, "%v, caller %d", test.command, i)
			}
			time.Sleep(time.Second)
		})
	}
}
