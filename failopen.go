package weir

import (
	"context"
	"errors"
	"fmt"
)

// FailOpen returns a store that grants what s fails to decide. An outage of the limiter is then no
// outage of the service.
//
// While s fails, nothing is limited and nothing is counted. There is no bound. A request is
// answered as for a new key, with [Result.Degraded] set. A request that never fits is still denied.
// A request waits until s fails, however long that takes.
//
// [Fallback] with a [MemStore] is nearly always the better choice. It limits in each process, and
// it bounds the time that a request waits.
//
// The error is returned, and nothing is granted, in these cases:
//
//   - The context of the caller has ended.
//   - The error wraps [ErrRequest].
//   - The request is a give-back or a reset, which have nothing to grant.
//
// report, if not nil, is called with each error before the request is granted. In an outage this is
// once per request, and concurrently. Let it count, or log only now and then.
//
// A nil store is an error of [New] and of each Do. The store is safe for concurrent use.
func FailOpen(s Store, report func(error)) Store {
	if fault := checkStore("FailOpen", "store", s); fault != nil {
		return misused{fault}
	}
	return &failOpen{store: s, report: report}
}

type failOpen struct {
	store  Store
	report func(error)
}

// Accept implements [Acceptor].
func (f *failOpen) Accept(l *KeyedLimiter) error { return Accept(f.store, l) }

// Do implements [Store].
func (f *failOpen) Do(ctx context.Context, r Request) (Answer, error) {
	a, err := f.store.Do(ctx, r)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil || errors.Is(err, ErrRequest) || r.N < 0 || r.Forget:
		return Answer{}, err
	}
	if f.report != nil {
		f.report(err)
	}
	now := r.Now()
	_, a = r.Decider.Decide(make([]uint64, r.Decider.Words()), now, r.Ask)
	a.At = now
	return degraded(a, r), nil
}

// degraded returns a, marked as decided without the shared store.
func degraded(a Answer, r Request) Answer {
	a.Degraded = true
	if r.ByComponent != nil {
		for i := range *r.ByComponent {
			(*r.ByComponent)[i].Degraded = true
		}
	}
	return a
}

// misused is a store with invalid options.
type misused struct{ fault error }

// Accept implements [Acceptor].
func (m misused) Accept(*KeyedLimiter) error { return m.fault }

// Do implements [Store].
func (m misused) Do(context.Context, Request) (Answer, error) { return Answer{}, m.fault }

// checkStore returns an error if a store behind another is nil or invalid.
func checkStore(wrapper, which string, s Store) error {
	if s == nil {
		return fmt.Errorf("weir: %s with a nil %s, must be a Store", wrapper, which)
	}
	return Accept(s, nil)
}

func checkOption[T ~int | ~int64](name string, value T) error {
	if value < 0 {
		return fmt.Errorf("weir: %s is %v, must be at least 0", name, value)
	}
	return nil
}
