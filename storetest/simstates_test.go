package storetest

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// simStates are the backend.
type simStates struct {
	mu    sync.Mutex
	all   map[string]simState
	order []string
	steps int

	own   bool          // decides by a clock of its own, which may be that of the system,
	clock int64         // or this one, if it is set
	lose  int           // how many replies get lost
	hung  chan struct{} // closed when it answers again; nil if it does
	dead  bool
	turns sync.Map // channels, which a bubble sees goroutines wait for
}

type simState struct {
	weir.Ledger
	until int64
	at    int64
	last  int64
}

// read returns the state of id. It requires that s.mu is held.
func (s *sim) read(id string, now int64) simState {
	st, ok := s.all[id]
	if s.caches {
		if c, known := s.cached[id]; known {
			st, ok = c, true
		}
	}
	if !ok || st.until <= now && st.until != math.MaxInt64 || s.clears && now < st.at {
		return simState{at: now}
	}
	st.at = now
	return st
}

// write requires that s.mu is held.
func (s *sim) write(id string, st simState) {
	if _, ok := s.all[id]; !ok {
		s.order = append(s.order, id)
	}
	s.all[id] = st
	s.cached[id] = st
	if s.most > 0 && len(s.order) > s.most {
		delete(s.all, s.order[0])
		s.order = s.order[1:]
	}
}

// set changes something of the backend.
func (s *sim) set(f func(*simStates)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.simStates)
}

// turn waits until what has one request at a time has none, and returns what ends the turn.
func (s *sim) turn(what any) (end func()) {
	one, _ := s.turns.LoadOrStore(what, make(chan struct{}, 1))
	one.(chan struct{}) <- struct{}{}
	return func() { <-one.(chan struct{}) }
}

// hang waits while the backend hangs. It reports whether s decided without it.
func (s *sim) hang(ctx context.Context, r weir.Request) (a weir.Answer, decided bool, err error) {
	s.mu.Lock()
	hung := s.hung
	s.dead = s.dead || hung != nil && s.dies
	if decided = hung != nil && s.holds > 0 && r.N == 1; decided {
		s.holds--
	}
	s.mu.Unlock()
	switch {
	case hung == nil:
		return a, false, nil
	case decided:
		return weir.Answer{Result: weir.Result{Allowed: true}, At: r.Now()}, true, nil
	case s.deaf:
		ctx = context.Background()
	}
	var late <-chan time.Time
	if s.timeout > 0 {
		late = time.After(s.timeout)
	}
	select {
	case <-hung:
		return a, false, nil
	case <-late:
		return a, false, errors.New("timeout")
	case <-ctx.Done():
		return a, false, ctx.Err()
	}
}

// wrote reports whether s wrote the state of r.
func (s *sim) wrote(r weir.Request) bool {
	_, ok := s.cached[s.id(r.Name, r.Key)]
	return ok
}

// age sets until when a state is kept. It was kept until before, or not at all if that is zero.
func (s *sim) age(st *simState, before int64, by weir.Rule, r weir.Request, now int64) {
	st.until = st.Expiry()
	if s.liveBy {
		alone, _, _, _ := weir.Ledger{}.Decide(by, now, weir.Ask{N: r.N})
		st.until = alone.Expiry()
	}
	if s.live != nil {
		st.until = now + s.live(st.until-now)
	}
	if s.liveOnce && before > 0 {
		st.until = before
	}
}
