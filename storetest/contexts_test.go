package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

// refused returns the error of a client that reads the deadlines of contexts, and sets them for its
// connection. Each sim asks it.
func refused(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	switch left := time.Until(deadline); {
	case !ok:
		return nil
	case left <= 0 && ctx.Err() == nil:
		return fmt.Errorf("the deadline %v has passed, and the context has not ended", deadline)
	case left > time.Hour:
		return fmt.Errorf("the deadline %v is %v away", deadline, left)
	}
	return nil
}

// The limiter knows deadlines by the clock of the test, and the store does not. Other deadlines,
// values and ends of contexts reach it.
func TestContextsThatClientsBear(t *testing.T) {
	type key struct{}
	seen := &seenContext{}
	do := func(ctx context.Context) context.Context {
		_, err := bearable{seen}.Do(ctx, weir.Request{})
		assert.NoError(t, err)
		return seen.ctx
	}
	ctx, cancel := context.WithCancel(context.WithValue(deadlined{t.Context(), start}, key{}, "value"))
	got := do(ctx)
	_, ok := got.Deadline()
	assert.False(t, ok)
	assert.Equal(t, "value", got.Value(key{}))
	cancel()
	assert.ErrorIs(t, got.Err(), context.Canceled)
	<-got.Done()
	short, cancel := context.WithTimeout(do(deadlined{t.Context(), start}), time.Minute)
	defer cancel()
	_, ok = short.Deadline()
	assert.True(t, ok, "a client can bound its own time")

	assert.Equal(t, t.Context(), do(t.Context()))
	later, cancel := context.WithTimeout(context.WithoutCancel(deadlined{t.Context(), start}), time.Minute)
	defer cancel()
	assert.Equal(t, later, do(later), "as a limiter does that gives back after the end of a context")
	assert.Error(t, refused(deadlined{t.Context(), start}))
	assert.Error(t, refused(deadlined{t.Context(), time.Now().Add(2 * time.Hour)}))
}

// A limiter on a store that is asked with such contexts still keeps to their deadlines.
func TestDeadlinesOfTheTestsClock(t *testing.T) {
	e := (&suite{newStore: func(testing.TB) weir.Store { return new(sim).ready() }, patience: patience, tick: 1}).env(t)
	l := e.timed(e.store, weir.FixedWindow{Limit: 1, Per: time.Hour, FromFirst: true})
	e.take(l, "k", 1)
	early := deadlined{t.Context(), e.clock.Now().Add(time.Hour - 1)}
	assert.ErrorIs(t, l.Wait(early, "k", 1), weir.ErrTooLate)
	_, err := l.Take(early, "k", 1)
	assert.NoError(t, err)
	_, err = e.limiter(l.plan.Policy, "").Take(early, "k", 1)
	assert.Error(t, err, "the store is asked with that deadline, and refuses")
}

// A seenContext store remembers with which context it was asked.
type seenContext struct{ ctx context.Context }

func (s *seenContext) Do(ctx context.Context, _ weir.Request) (weir.Answer, error) {
	s.ctx = ctx
	return weir.Answer{}, nil
}

// Faults of a store behind are those of the limiter in front.
func TestBearableStoreAccepts(t *testing.T) {
	fault := errors.New("a fault")
	_, err := weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(bearable{faulty{fault}}))
	assert.ErrorIs(t, err, fault)
}

type faulty struct{ error }

func (f faulty) Do(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, f.error }
func (f faulty) Accept(*weir.KeyedLimiter) error                       { return f.error }
