package storetest

import (
	"math"
	"sync"

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
	if s.caches {
		s.cached[id] = st
	}
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
