package kit

import (
	"bytes"
	"context"
	"sync"

	"github.com/weir-go/weir"
)

// A Restarted is a MemStore of a process that is restarted over and over: before each so many
// requests it is saved, and another loads it. Its limiters stay, and know nothing of it.
type Restarted struct {
	Store    *weir.MemStore // of the present process; nil for one that is new
	Every    int            // requests; 0 is 1
	Restarts int            // how many there were

	mu sync.Mutex
	n  int
}

// Do decides, perhaps in a new process.
func (s *Restarted) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Store == nil {
		s.Store = new(weir.MemStore)
	} else if s.n++; s.n >= s.Every {
		s.n = 0
		s.Restarts++
		s.Store = Reloaded(s.Store)
	}
	return s.Store.Do(ctx, r)
}

// Reloaded returns a store with what the other knows.
func Reloaded(s *weir.MemStore) *weir.MemStore {
	var file bytes.Buffer
	if err := s.Save(&file); err != nil {
		panic(err)
	}
	loaded := &weir.MemStore{MaxKeys: s.MaxKeys}
	if err := loaded.Load(&file); err != nil {
		panic(err)
	}
	return loaded
}
