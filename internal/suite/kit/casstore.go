package kit

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/weir-go/weir"
)

// A CASStore is for the suites only; package storetest shows a whole store. It works as a store on
// a database that can compare and set: it reads a state, decides on a copy, and writes the copy if
// the state has not changed in the meantime.
type CASStore struct {
	Plan *weir.Plan // of the latest request

	mu     sync.Mutex
	states map[string]casState
}

type casState struct {
	version int
	words   []uint64
	until   int64
}

// Do decides.
func (s *CASStore) Do(_ context.Context, r weir.Request) (weir.Answer, error) {
	id := r.Name + "\x00" + r.Key
	for {
		s.mu.Lock()
		s.Plan = r.Plan
		read, ok := s.states[id]
		s.mu.Unlock()

		now := r.Now()
		words := slices.Clone(read.words)
		if !ok || read.until <= now && read.until < math.MaxInt64 {
			words = make([]uint64, r.Decider.Words())
		}
		words, a := r.Decider.Decide(slices.Clip(words), now, r.Ask)
		a.At = now
		if r.N == 0 || !a.Allowed {
			return a, nil
		}

		s.mu.Lock()
		if s.states == nil {
			s.states = map[string]casState{}
		}
		if s.states[id].version == read.version {
			s.states[id] = casState{read.version + 1, words, r.Decider.Expiry(words)}
			s.mu.Unlock()
			return a, nil
		}
		s.mu.Unlock()
	}
}
