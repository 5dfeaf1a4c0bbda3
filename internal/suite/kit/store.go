package kit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// ErrStore is the error of stores that fail.
var ErrStore = errors.New("the store fails")

// A StoreFunc is a Store, mostly in front of another.
type StoreFunc func(ctx context.Context, r weir.Request) (weir.Answer, error)

// Do calls f.
func (f StoreFunc) Do(ctx context.Context, r weir.Request) (weir.Answer, error) { return f(ctx, r) }

// A Faulty is a Store that can be told to fail, with ErrStore.
type Faulty struct {
	weir.MemStore
	Down atomic.Bool
}

// Do decides, or fails.
func (s *Faulty) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if s.Down.Load() {
		// Limiters must ignore the answer that comes with an error. This is the worst answer there
		// is.
		return weir.Answer{Result: weir.Result{Allowed: true}, Delay: time.Hour}, ErrStore
	}
	return s.MemStore.Do(ctx, r)
}

// A FrontStore puts another ask in the place of a look, if it has one. With it, a test can ask a
// store for anything through a limiter, and sees the whole answer.
type FrontStore struct {
	weir.MemStore
	Instead weir.Ask
	Answer  weir.Answer // the latest
}

// Do decides on what is asked, or on Instead.
func (s *FrontStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if r.Ask == (weir.Ask{}) {
		r.Ask = s.Instead
	}
	a, err := s.MemStore.Do(ctx, r)
	s.Answer = a
	return a, err
}
