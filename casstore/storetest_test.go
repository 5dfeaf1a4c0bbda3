package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

// A store and its Register.
type tested struct {
	*casstore.Store
	*memory
}

// onMemory returns a store that is not too late on a machine that is slow, or stands still for a
// while.
func onMemory(m *memory) tested {
	return tested{casstore.New(m, casstore.Options{Timeout: time.Minute}), m}
}

func shared() storetest.Option {
	return storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store { return onMemory(s.(tested).memory) })
}

var errLost = errors.New("the connection was closed")

// lost makes the next n replies to a Swap get lost.
func lost() storetest.Option {
	return storetest.LostReplies(func(s weir.Store, n int) {
		var left atomic.Int64
		left.Store(2 * int64(n)) // each counts its Get, too
		s.(tested).set(func(m *memory) {
			m.after = func(context.Context) error {
				if n := left.Add(-1); n >= 0 && n%2 == 0 {
					return errLost
				}
				return nil
			}
		})
	})
}

// hangs makes all calls hang. heeds says whether they heed the end of their context.
func hangs(heeds bool) storetest.Option {
	return storetest.Hangs(func(s weir.Store) func() {
		resumed := make(chan struct{})
		s.(tested).set(func(m *memory) {
			m.before = func(ctx context.Context) error {
				done := ctx.Done()
				if !heeds {
					done = nil
				}
				select {
				case <-resumed:
					return nil
				case <-done:
					return ctx.Err()
				}
			}
		})
		return func() {
			close(resumed)
			s.(tested).set(func(m *memory) { m.before = nil })
		}
	})
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Brief(t, runs.Server) // the model of casstore checks what is decided
			return onMemory(newMemory())
		},
		shared(), lost(), hangs(true), storetest.RoundTrips()) // each is two steps or more, which compete
}

// The same if Swap tells what the key holds, so that the next round needs no Get; and with a server
// that has a clock.
func TestStoreThatTells(t *testing.T) {
	t.Parallel()
	for _, clock := range []bool{true, false}[:runs.Long(2, 1)] {
		opts := []storetest.Option{shared(), hangs(false), storetest.RoundTrips()}
		if clock {
			opts = append(opts, storetest.OwnClock(1, func(s weir.Store, now time.Time) {
				s.(tested).set(func(m *memory) { m.now = now })
			}))
		}
		t.Run(fmt.Sprint("clock: ", clock), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) weir.Store {
				runs.Only(t, runs.Server) // TestStore has the others
				m := newMemory()
				m.tells = true
				return onMemory(m)
			}, opts...)
		})
	}
}
