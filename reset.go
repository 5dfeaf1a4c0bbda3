package weir

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/internal/line"
)

// Reset forgets a key. The key has its full allowance again, and no debt. Its waiters get new
// turns, in the same order. A [MemStore] at its MaxKeys is an exception. There the key is then a
// new key, and has what is left of the allowance that new keys share.
//
// Reset also forgets earlier reservations of the key:
//
//   - A [Reservation] of this limiter that is settled later gives nothing back. It charges only the
//     events above those that it had booked.
//   - A Reservation of another limiter or process gives back events that the key has counted since,
//     up to the number that it had booked.
//
// If the store fails, it is not known whether the key was forgotten. Reset can be called again. A
// ctx that has ended is an error. Reset is safe for concurrent use.
func (k *KeyedLimiter) Reset(ctx context.Context, key string) error {
	err := k.check(ctx, 0)
	if err == nil {
		err = k.renew(ctx, key, true)
	}
	if err == nil || err == errNotMade {
		return err
	}
	return fmt.Errorf("weir: Reset: %w", noEnd(err))
}

// renew gives the waiters for a key new turns, because the policy has changed, or because the key
// is to be forgotten. Their bookings are given back, and each asks again, in the same order, by its
// own policy. If one books nothing, it and those behind it ask when they are first. If all have
// booked by the policies that they have now, they keep their places. Meanwhile no waiter joins or
// leaves.
func (k *KeyedLimiter) renew(ctx context.Context, key string, forget bool) error {
	ln, waited, err := k.start(ctx, key, line.Renewing, 0)
	if err != nil {
		return err
	}
	defer ln.End()
	if forget {
		if err := k.forget(waited, key); err != nil {
			return err
		}
	}
	// The store is asked with ctx, which does not tell it how long this call has waited. If it did,
	// a Fallback could ask its second store, but the bookings of all waiters must stay in one
	// store.
	if forget || !k.keepPlaces(ln) {
		if err := k.freePlaces(ctx, ln, forget); err != nil {
			return err
		}
	}
	return k.askForPlaces(ctx, ln)
}

// forget has the store forget a key. It records the reset even if the store fails or panics,
// because the key may have been forgotten nevertheless.
func (k *KeyedLimiter) forget(ctx context.Context, key string) error {
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return err
	}
	defer func() { k.resets.Reset(key, k.plans.clock.Now()) }()
	_, err = k.store.Do(ctx, Request{Plan: plan, Key: key, Forget: true})
	return err
}

// keepPlaces reports whether waiters have booked, and all of them by the policies that they have now.
// New turns would not come sooner. They would come later if others have booked behind: the places
// then stay charged, and the waiters lose them (R14).
func (k *KeyedLimiter) keepPlaces(ln *line.Line) bool {
	booked := ln.Booked()
	for _, w := range booked {
		if plan, err := k.plans.of(w.Ctx, ln.Key()); err != nil || !w.By.Equal(by{plan}) {
			return false
		}
	}
	return len(booked) > 0
}

// freePlaces gives back what the waiters have booked, the last run first, unless the store has
// forgotten it. If the store fails, the waiters whose turn comes earlier keep their bookings. A
// booking stays charged if it cannot be freed because others have booked behind it.
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
			err = k.place(ctx, ln, w, plan)
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
