package weir

import (
	"context"
	"sync"
)

type memScope struct{}

type MemStore struct {
	MaxKeys int
	mu      sync.Mutex
	m       map[[2]string]*v0
}
type v0 struct {
	d     Decider
	state []uint64
}

func (s *MemStore) Len() int { return len(s.m) }

func (s *MemStore) Do(_ context.Context, r Request) (Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[[2]string]*v0{}
	}
	e := s.m[[2]string{r.Name, r.Key}]
	if e == nil {
		e = &v0{r.Decider, make([]uint64, r.Decider.Words())}
		s.m[[2]string{r.Name, r.Key}] = e
	}
	now := r.Now()
	if e.d != r.Decider {
		e.state = Carry(e.d, r.Decider, e.state, now)
		e.d = r.Decider
	}
	var a Answer
	e.state, a = r.Decider.Decide(e.state, now, r.Ask)
	return a, nil
}
