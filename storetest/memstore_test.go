package storetest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

func TestMemStore(t *testing.T) {
	t.Parallel() // beside tests that wait
	storetest.Run(t, func(*testing.T) weir.Store { return new(weir.MemStore) })
}

func TestMapStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) weir.Store { return new(MapStore) })
}

// A serverStore is as one that runs on a server: it decides by that server's clock, which has
// ticks, and tells durations in ticks.
type serverStore struct {
	now  atomic.Int64 // what the server's clock was set to; 0 for the real time
	tick time.Duration

	mu     sync.Mutex
	states map[stateID]weir.Ledger
}

func (s *serverStore) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	if now == 0 {
		now = time.Now().Truncate(s.tick).UnixNano()
	}
	if s.states == nil {
		s.states = make(map[stateID]weir.Ledger)
	}
	id := stateID{r.Name, strings.Clone(r.Key)}
	if r.Forget {
		delete(s.states, id)
		return weir.Answer{}, nil
	}
	st := s.states[id]
	if at := st.Expiry(); at <= now && at != weir.Never.Nanoseconds() {
		st = weir.Ledger{}
	}
	next, a, changed, err := st.Decide(weir.Rule{Policy: r.Policy, Decider: r.Decider}, now, r.Ask)
	if changed {
		s.states[id] = next
	}
	a.At, a.ServerTime = now, true
	a.RetryAfter, a.ResetAfter = s.ceil(a.RetryAfter), s.ceil(a.ResetAfter)
	if r.N < 0 {
		a.Delay = a.Delay.Truncate(s.tick)
	} else {
		a.Delay = s.ceil(a.Delay)
	}
	return a, err
}

func (s *serverStore) ceil(d time.Duration) time.Duration {
	if d > weir.Never-s.tick {
		return weir.Never
	}
	return (d + s.tick - 1).Truncate(s.tick)
}

// Stores with a clock of their own, which a test can set.
func TestOwnClock(t *testing.T) {
	t.Parallel() // beside tests that wait
	for _, tick := range []time.Duration{time.Millisecond, time.Nanosecond}[:runs.Long(2, 1)] {
		t.Run(tick.String(), func(t *testing.T) {
			storetest.Run(t,
				func(t *testing.T) weir.Store {
					if tick == time.Nanosecond {
						runs.Only(t, runs.Clock)
					}
					runs.Brief(t, runs.Clock)
					return &serverStore{tick: tick}
				},
				storetest.OwnClock(tick, func(s weir.Store, now time.Time) { s.(*serverStore).now.Store(now.UnixNano()) }))
		})
	}
}

// A clientStore asks a serverStore as if across a network, which may lose replies, or carry
// nothing.
type clientStore struct {
	server *serverStore
	lose   atomic.Int64
	mu     sync.RWMutex // held for writing while the network carries nothing
}

func (s *clientStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	for !s.mu.TryRLock() {
		select {
		case <-ctx.Done():
			return weir.Answer{}, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	defer s.mu.RUnlock()
	a, err := s.server.Do(ctx, r)
	if s.lose.Add(-1) >= 0 {
		return weir.Answer{}, errors.New("the reply got lost")
	}
	return a, err
}

// Clients of one server, which share its states.
func TestClients(t *testing.T) {
	t.Parallel() // it waits for states to expire
	const tick = time.Microsecond
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Brief(t, runs.Server)
			return &clientStore{server: &serverStore{tick: tick}}
		},
		storetest.OwnClock(tick, func(s weir.Store, now time.Time) { s.(*clientStore).server.now.Store(now.UnixNano()) }),
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store {
			return &clientStore{server: s.(*clientStore).server}
		}),
		storetest.LostReplies(func(s weir.Store, n int) { s.(*clientStore).lose.Store(int64(n)) }),
		storetest.Hangs(func(s weir.Store) func() {
			s.(*clientStore).mu.Lock()
			return s.(*clientStore).mu.Unlock
		}))
}

// A store with a clock of its own that nobody can set.
func TestRealTime(t *testing.T) {
	t.Parallel() // it waits for states to expire
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Brief(t, runs.Clock)
			return &serverStore{tick: time.Microsecond}
		},
		storetest.RealTime())
}

// A store that is exact is within all bounds.
func TestBounds(t *testing.T) {
	t.Parallel() // beside tests that wait
	storetest.Run(t, func(*testing.T) weir.Store { return new(weir.MemStore) }, storetest.Bounds(0))
}

// A store that decides on its own now and then, by the limiter's clock, in front of one that has a
// clock of its own.
func TestBounds_InFrontOfAClock(t *testing.T) {
	t.Parallel() // beside tests that wait
	const tick, maxAge = time.Microsecond, 5 * time.Second
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Short(t, []string{"At", "Errors", "Bounds of one store"})
			s := &clientStore{server: &serverStore{tick: tick}}
			return clientFront{fleet.DenyCache(s, fleet.DenyCacheOptions{MaxAge: maxAge}), s}
		},
		storetest.OwnClock(tick, func(s weir.Store, now time.Time) { s.(clientFront).client.server.now.Store(now.UnixNano()) }),
		storetest.Bounds(maxAge))
}

// A clientFront is a store in front of a clientStore.
type clientFront struct {
	weir.Store
	client *clientStore
}

// Bounds with the other options.
func TestBounds_Clients(t *testing.T) {
	t.Parallel() // it waits for states to expire
	const tick = time.Microsecond
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			runs.Short(t, runs.Server)
			return &clientStore{server: &serverStore{tick: tick}}
		},
		storetest.OwnClock(tick, func(s weir.Store, now time.Time) { s.(*clientStore).server.now.Store(now.UnixNano()) }),
		storetest.Shared(func(_ *testing.T, s weir.Store) weir.Store {
			return &clientStore{server: s.(*clientStore).server}
		}),
		storetest.Hangs(func(s weir.Store) func() {
			s.(*clientStore).mu.Lock()
			return s.(*clientStore).mu.Unlock
		}),
		storetest.Bounds(time.Millisecond))
}
