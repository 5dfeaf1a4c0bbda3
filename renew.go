package weir

import (
	"context"
	"errors"
	"math"
)

// renew gives those who wait for a key new turns, because the policy has changed, or if the key is to
// be forgotten. What they have booked is given back, and each asks again, in the same order, and by
// the policy that is its own. From the first that books nothing on, they ask when they are first.
// Meanwhile nobody joins or leaves.
func (k *Keyed) renew(ctx context.Context, key string, forget bool) error {
	ln, waited, err := k.lines.start(ctx, key, renewing)
	if err != nil {
		return err
	}
	defer k.lines.end(ln)
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return err
	}
	if forget {
		k.lines.reset(key, k.plans.clock.now())
		if _, err := k.store.Do(waited, Request{Scope: scope, Key: key, Forget: true}); err != nil {
			return err
		}
	}
	// The store is asked with ctx: for whatever has been waited here, all are to stay in one store.
	if err := k.freePlaces(ctx, ln, forget); err != nil {
		return err
	}
	return k.askForPlaces(ctx, ln)
}

// freePlaces gives back what was booked, the last run first, unless that is forgotten. If the store
// fails, those before keep what they have. What cannot be freed, since others have booked behind it,
// stays charged.
func (k *Keyed) freePlaces(ctx context.Context, ln *line, forgotten bool) error {
	for r, n := k.lines.unbook(ln, nil); r != nil; r, n = k.lines.unbook(ln, r) {
		if forgotten || r.degraded {
			continue
		}
		if _, err := k.store.Do(ctx, Request{Scope: r.scope, Key: ln.key, Ask: r.back(n)}); err != nil {
			return err
		}
	}
	return nil
}

// askForPlaces asks for those who have none, until one books nothing.
func (k *Keyed) askForPlaces(ctx context.Context, ln *line) (faults error) {
	for last := (*waiter)(nil); ; {
		w, before := k.lines.next(ln)
		if w == nil || w == last {
			return faults
		}
		scope, err := k.plans.scope(w.ctx, ln.key)
		if err == nil && !before.by(scope) { // it could overtake those of the other policy
			return faults
		}
		if err == nil {
			_, err = k.place(ctx, w, scope, math.MaxInt64)
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

// unbook makes those of a run that was freed, the last, ones that have not booked. It returns the run
// that is the last then, if there is one, and how many events were booked in it.
func (ls *lines) unbook(ln *line, freed *run) (r *run, n int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.askAt = 0 // what was told is out of date
	for ; freed != nil && ln.booked.run == freed; ln.booked = ln.booked.prev {
		ln.booked.run = nil
	}
	r = ln.booked.run
	for w := ln.booked; r != nil && w.run == r; w = w.prev {
		n += min(w.n, math.MaxInt-n)
	}
	return r, n
}

// next is the first of those who have not booked, if there is one, and the run of the one before it.
// Whoever is about to leave needs no turn.
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
