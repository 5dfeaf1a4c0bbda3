package weir

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

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
	defer func() { k.resets.reset(key, k.plans.clock.Now()) }()
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

// resets are the keys that were reset. Reservations that a reset forgot have nothing to give back.
// Events that a key has counted since its reset were granted to others, even where the numbers look
// the same.
//
// A key is kept only while a reservation from before its reset may still count. A reservation that
// is under way is not known yet. A reset that comes meanwhile may be of its key without being kept,
// or be dropped earlier. The reservation then counts as forgotten: it gives nothing back, rather
// than the events of others.
type resets struct {
	number atomic.Uint64 // of those there were
	open   atomic.Int64  // when nothing reserved counts any more, by the limiter's clock

	mu   sync.Mutex       // guards writes to number, and what follows
	keys map[string]reset // the last of each key
	lost uint64           // the last that is not in keys, or no longer: it may be of any key
}

type reset struct {
	number uint64
	until  int64 // when nothing reserved before counts any more
}

// reserved records what was reserved at an instant, if anything, and returns the number of resets
// since. It keeps a reset up to about a second longer than needed. What all callers share is then
// written once in a second, and not for each reservation.
func (rs *resets) reserved(at int64, charges []Charge) (number uint64) {
	for i := range charges {
		until, open := charges[i].until(at).NS, rs.open.Load()
		for open < until && !rs.open.CompareAndSwap(open, until|(1<<30-1)) {
			open = rs.open.Load()
		}
	}
	return rs.number.Load() // after open is written: reset reads it in the other order
}

// reset records that a key was reset before the instant now. It is called after the store was
// asked, so that what was reserved until then has a lower number.
func (rs *resets) reset(key string, now int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for old, r := range rs.keys {
		if r.until > now {
			break
		}
		rs.lost = max(rs.lost, r.number)
		delete(rs.keys, old)
	}
	number := rs.number.Add(1)
	open := rs.open.Load()
	if open <= now {
		rs.lost = number
		return
	}
	if rs.keys == nil {
		rs.keys = make(map[string]reset)
	}
	rs.keys[strings.Clone(key)] = reset{number, open}
}

// forgot reports whether the key may have been reset since the reset of that number.
func (rs *resets) forgot(key string, number uint64) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return max(rs.keys[key].number, rs.lost) > number
}
