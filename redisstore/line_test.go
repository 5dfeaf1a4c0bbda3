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
	"github.com/weir-go/weir/redisstore/internal/remote"
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
	cmd.(*once).SetVal(string(now) + reply)
	return nil
}

var unscripted = inGo{weir.FixedWindow{Limit: 1_000_000, Per: 1000 * time.Hour}}

// flood asks for one key so often at once that not all can be served in time, and returns how many
// were granted, and the errors. The first is with the server when the others come.
func flood(l *weir.KeyedLimiter, callers int) (granted int, errs []error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range callers {
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
		if i == 0 {
			synctest.Wait()
		}
	}
	all.Wait()
	return granted, errs
}

// Callers that ask for one key at once, by a policy without a script, share commands. A flood takes
// no longer than one of them, and is no outage.
func TestFloodOfOneKeySharesCommands(t *testing.T) {
	const command, callers = 10 * time.Millisecond, 200
	for name, wrap := range map[string]func(*testing.T, weir.Store) weir.Store{
		"alone": func(_ *testing.T, s weir.Store) weir.Store { return s },
		"FailOpen": func(t *testing.T, s weir.Store) weir.Store {
			return fleet.FailOpen(s, fleet.FailOpenOptions{Report: func(err error) { t.Errorf("opened by %v", err) }})
		},
		"Fallback": func(t *testing.T, s weir.Store) weir.Store {
			return fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{
				Report: func(err error) { t.Errorf("an outage: %v", err) },
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newFakeServer()
				server.takes.Store(int64(command))
				l := newLimiter(t, wrap(t, newStoreWith(t, server, remote.Config{Timeout: time.Second})), unscripted, "")
				began := time.Now()
				granted, errs := flood(l, callers)
				assert.Equal(t, 4*command, time.Since(began), "the first reads and swaps, and then all others")
				assert.Equal(t, callers, granted)
				assert.Empty(t, errs)
				assert.Equal(t, 2, server.swaps)
				time.Sleep(time.Second) // the end of its terms
			})
		})
	}
}

// A server that hangs while callers wait for their turn is an outage for all of them: Fallback has
// an answer for each.
func TestHangInTheLineIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newFakeServer()
		s := newStoreWith(t, server, remote.Config{Timeout: time.Second})
		var opened atomic.Int64
		open := newLimiter(t, fleet.FailOpen(s, fleet.FailOpenOptions{Report: func(error) { opened.Add(1) }}), unscripted, "open")
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

// P22: those who ask for other keys don't wait for each other, however many there are.
func TestP22_KeysHaveLinesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const command, keys = 100 * time.Millisecond, 1000
		server := newFakeServer()
		server.takes.Store(int64(command))
		l := newLimiter(t, newStoreWith(t, server, remote.Config{Timeout: time.Second}), unscripted, "")
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

// A decision that takes several commands has the time of one for all of them together, and for
// those before it.
func TestDecisionOfSeveralCommandsIsNotLate(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for _, test := range []struct {
		command time.Duration // a command takes
		want    []error       // of callers of one key that come at the same time
	}{
		{70 * time.Millisecond, []error{nil, nil, nil}}, // the first reads and swaps, and then the others
		{90 * time.Millisecond, []error{nil, ErrNoReply, ErrNoReply}},
		{110 * time.Millisecond, []error{nil, ErrBusy, ErrBusy}},              // before they swap
		{200 * time.Millisecond, []error{ErrNoReply, ErrNoReply, ErrNoReply}}, // even alone
	} {
		synctest.Test(t, func(t *testing.T) {
			client := newFakeServer()
			client.takes.Store(int64(test.command))
			s, err := New(client, Options{Timeout: timeout})
			require.NoError(t, err)
			l, err := weir.New(weir.All(weir.SlidingLog{Limit: 5, Per: time.Hour}), weir.WithStore(s), weir.WithName(""))
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
