package weir

import (
	"context"
	"errors"
	"math"

	"github.com/weir-go/weir/internal/line"
)

// renew gives the waiters for a key new turns, because the policy has changed, or because the key
// is to be forgotten. Their bookings are given back, and each asks again, in the same order, by its
// own policy. If one books nothing, it and those behind it ask when they are first. Meanwhile no
// waiter joins or leaves.
func (k *KeyedLimiter) renew(ctx context.Context, key string, forget bool) error {
	ln, waited, err := k.start(ctx, key, line.Renewing, 0)
	if err != nil {
		return err
	}
	defer ln.End()
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return err
	}
	if forget {
		k.resets.reset(key, k.plans.clock.now())
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
func (k *KeyedLimiter) freePlaces(ctx context.Context, ln *line.Line, forgotten bool) error {
	for back, ok := ln.Unbook(); ok; back, ok = ln.Unbook() {
		if !forgotten && !back.Apart {
			g := ofLine(back)
			if _, err := k.store.Do(ctx, Request{Plan: g.plan, Key: ln.Key(), Ask: g.ask}); err != nil {
				return err
			}
		}
		ln.Freed(back)
	}
	return nil
}

// askForPlaces asks for the waiters that have not booked, until one books nothing.
func (k *KeyedLimiter) askForPlaces(ctx context.Context, ln *line.Line) (faults error) {
	for last := (*line.Waiter)(nil); ; {
		w := ln.Next()
		if w == nil || w == last {
			return faults
		}
		plan, err := k.plans.of(w.Ctx, ln.Key())
		if err == nil && !w.MayBook(by{plan}) { // it could overtake those of the other policy
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
			w.Drop(err)
		}
		last = w
	}
}
