package weir

import (
	"context"
	"errors"
	"fmt"
)

// ErrRequest is what the error of a [Store] wraps if it is the request that cannot be decided,
// while the store is well: it cannot hold that key or that policy, say, or too many change that key
// at once. [FailOpen] and [Fallback] return such an error as it is. If they took it for an outage,
// whoever found such a key could switch the limits off.
var ErrRequest = errors.New("the request cannot be decided")

// FailOpen returns a store that grants what s fails to decide, so that an outage of the limiter is
// not one of the service.
//
// What it trades: while s fails nothing is limited, and nothing of what passes is ever counted.
// There is no bound. An ask is answered as for a key never seen, with [Result.Degraded] set; so one
// that never fits is still denied. Where some limit must hold use [Fallback] with a [MemStore],
// which limits in each process; that is nearly always the better choice. FailOpen also waits as
// long as s takes to fail, which Fallback bounds.
//
// The error is returned, and nothing granted, where the context of the caller has ended, where the
// error wraps [ErrRequest], and where there is nothing to grant: on a give-back and on a reset.
//
// report, if not nil, is called with each error that it grants for, before it does: in an outage
// once per request, and concurrently. Let it count, or log now and then.
//
// A store that is nil is an error of [New] and of each Do. The store is safe for concurrent use.
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
func (f *failOpen) Accept(l *Keyed) error { return Accept(f.store, l) }

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

// degraded is a, marked as decided without the shared store.
func degraded(a Answer, r Request) Answer {
	a.Degraded = true
	if r.Parts != nil {
		for i := range *r.Parts {
			(*r.Parts)[i].Degraded = true
		}
	}
	return a
}

// misused is what a store is made of whose options are at fault.
type misused struct{ fault error }

// Accept implements [Acceptor].
func (m misused) Accept(*Keyed) error { return m.fault }

// Do implements [Store].
func (m misused) Do(context.Context, Request) (Answer, error) { return Answer{}, m.fault }

// checkStore tells what is wrong with a store that another stands in front of.
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
