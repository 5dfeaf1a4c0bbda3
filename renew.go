package weir

import (
	"context"
	"errors"
	"math"
)

// renew gives the waiters for a key new turns, because the policy has changed, or because the key
// is to be forgotten. Their bookings are given back, and each asks again, in the same order, by its
// own policy. If one books nothing, it and those behind it ask when they are first. Meanwhile no
// waiter joins or leaves.
func (k *KeyedLimiter) renew(ctx context.Context, key string, forget bool) error {
	ln, waited, err := k.lines.start(ctx, key, renewing, 0)
	if err != nil {
		return err
	}
	defer k.lines.end(ln)
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return err
	}
	if forget {
		k.lines.reset(key, k.plans.clock.now())
		if _, err := k.store.Do(waited, Request{Plan: plan, Key: key, Forget: true}); err != nil {
			return err
		}
	}
	// The store is asked with ctx: for whatever has been waited here, all are to stay in one store.
	if err := k.freePlaces(ctx, ln, forget); err != nil {
		return err
	}
	return k.askForPlaces(ctx, ln)
}

// freePlaces gives back what was booked, the last run first, unless it is forgotten. If the store
// fails, the waiters before keep their bookings. A booking stays charged if it cannot be freed,
// because others have booked behind it.
func (k *KeyedLimiter) freePlaces(ctx context.Context, ln *line, forgotten bool) error {
	for r, n := k.lines.unbook(ln, nil); r != nil; r, n = k.lines.unbook(ln, r) {
		if forgotten || r.degraded {
			continue
		}
		if _, err := k.store.Do(ctx, Request{Plan: r.plan, Key: ln.key, Ask: r.back(n)}); err != nil {
			return err
		}
	}
	return nil
}

// askForPlaces asks for the waiters that have not booked, until one books nothing.
func (k *KeyedLimiter) askForPlaces(ctx context.Context, ln *line) (faults error) {
	for last := (*waiter)(nil); ; {
		w, before := k.lines.next(ln)
		if w == nil || w == last {
			return faults
		}
		plan, err := k.plans.of(w.ctx, ln.key)
		if err == nil && !before.by(plan) { // it could overtake those of the other policy
			return faults
		}
		if err == nil {
			_, err = k.place(ctx, w, plan, math.MaxInt64)
		}
		faults = errors.Join(faults, err)
		switch {
		case err != nil && ctx.Err() != nil: // which is not that of w
			return faults
		case err != nil:
			k.lines.drop(w, err)
		}
		last = w
	}
}

// unbook marks the waiters of the freed run, the last, as not booked. It returns the run that is
// then the last, if there is one, and how many events were booked in it.
func (ls *lines) unbook(ln *line, freed *run) (r *run, n int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.askAt = 0 // the answer is out of date
	for ; freed != nil && ln.booked.run == freed; ln.booked = ln.booked.prev {
		ln.booked.run = nil
	}
	r = ln.booked.run
	for w := ln.booked; r != nil && w.run == r; w = w.prev {
		n += min(w.n, math.MaxInt-n)
	}
	return r, n
}

// next returns the first waiter that has not booked, if there is one, and the run of the waiter
// before it. A waiter that is about to leave needs no turn.
func (ls *lines) next(ln *line) (*waiter, *run) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w := ln.booked.next
	for ; w.leaving; w = w.next {
		ls.unlink(w)
	}
	if w == &ln.ends {
		w = nil
	}
	return w, ln.booked.run
}
