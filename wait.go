package weir

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/line"
)

// Wait implements [Limiter]. Callers that wait for the same key on one limiter are the waiters of
// that key. They are served in the order in which they came, whatever the policy. But calls that
// ask a store over a network at the same time may be served in the order of the store's decisions.
//
//   - With [TokenBucket] and [LeakyBucket] a new waiter books its events for the instant at which
//     they may happen. Later calls of Allow and Take cannot overtake it, unless a Lease of
//     package fleet holds events for them. If the waiter's context ends, its events are given back,
//     and the waiters behind it move up.
//   - With the other policies of this package, the first waiter asks again when the policy may
//     grant its events. A call of Allow or Take that comes before that can take the events.
//
// If the context of a waiter ends, the waiters behind it do not move up in these cases:
//
//   - A [Reservation], a limiter of the same name or another process has booked or charged events
//     behind the waiter. Callers behind the waiter keep their instants.
//   - The policy is of another package, and books ahead. The events are given back only if no
//     waiter that has booked is behind the waiter.
//   - The events were granted without the shared store (see [Result.Degraded]), or the store has
//     failed in a later SetPolicy or Reset. The events are not given back.
//   - The store fails when the events are given back, or does not answer within a second. It may
//     nevertheless have freed the events. Callers that come later may then get the same instants as
//     some waiters.
//
// [KeyedLimiter.SetPolicy] and [KeyedLimiter.Reset] give the waiters new turns, in the same order.
// After a SetPolicy that changes no waiter's policy, the waiters keep their places. After a change
// of policy, a bucket books nothing while events of another policy are charged to it. During that
// time, the first waiter asks again, as with policies that book nothing.
//
// The function of [WithPolicyFor] may return another policy than before. Waiters that have booked
// events then keep their instants until the next SetPolicy or Reset. The other waiters ask with the
// policy that the function returns for their own context.
//
// If ctx is cancelled while a store over a network decides, Wait still waits for the decision, at
// most until a second after it asked. Without the decision, nobody could give the events back. If
// the deadline of ctx passes while the store decides, Wait ends, and the events may stay charged.
func (k *KeyedLimiter) Wait(ctx context.Context, key string, n int) error {
	err := k.check(ctx, n)
	if err == nil && n > 0 && !k.goes(ctx, key, n) {
		err = k.wait(ctx, key, n)
	}
	return callError("Wait for", n, err)
}

// goes takes the events as Take does, if nobody is in line for the key. To come to the line and
// leave it takes several times as long. A store over a network is not asked twice.
func (k *KeyedLimiter) goes(ctx context.Context, key string, n int) bool {
	if k.mem == nil || !k.lines.Empty(key) {
		return false
	}
	r, err := k.Take(ctx, key, n)
	return err == nil && r.Allowed
}

// wait returns when the events have been granted, when they cannot be, or when ctx has ended. Only
// the first waiter of a line watches the time. When it goes, it wakes the next.
func (k *KeyedLimiter) wait(ctx context.Context, key string, n int) error {
	w := k.lines.NewWaiter(ctx, n)
	defer w.Drop(nil) // even if a clock or a policy panics, or its place could not be given back
	for ended := false; ; {
		now := k.plans.clock.Now()
		turn, left := w.Turn(now)
		switch turn {
		case line.Gone:
			return w.Err()
		case line.MayAsk:
			k.join(ctx, key, w)
			if ended = ctx.Err() != nil; !ended {
				continue
			}
		}
		if ended {
			return k.leave(ctx, key, w)
		}
		var timer <-chan time.Time
		if turn == line.First {
			timer = k.plans.clock.At(now + int64(left))
		}
		select {
		case <-timer:
		case <-w.Wake():
		case <-ctx.Done():
			ended = true // but a waiter whose turn has come by now is served
		}
	}
}

// join asks the store for w, unless w has to wait for that in its line. If ctx ends before, it does
// nothing.
func (k *KeyedLimiter) join(ctx context.Context, key string, w *line.Waiter) {
	ln, asking, err := k.start(ctx, key, line.Joining, w)
	if err != nil {
		return
	}
	defer ln.End()
	if turn, _ := w.Turn(k.plans.clock.Now()); turn != line.MayAsk { // it was given a new one
		return
	}
	plan, err := k.plans.of(ctx, key)
	if err == nil {
		switch turn := w.Come(ln, by{plan}, k.patience(ctx), k.plans.clock.Now()); {
		case turn == line.MayAsk:
			err = k.place(asking, ln, w, plan)
		case !plan.fits(w.N):
			err = ErrNeverFits
		case turn == line.TooLate:
			err = line.LateBehind{Err: ErrTooLate}
		}
	}
	if err != nil {
		w.Drop(err)
	}
}

// place asks the store for w, by the policy of plan, and gives w its place in the line. An error is
// one of the store.
func (k *KeyedLimiter) place(ctx context.Context, ln *line.Line, w *line.Waiter, plan *Plan) error {
	g, patience := new(grant), k.patience(w.Ctx)
	a, now, err := k.ask(ctx, plan, ln.Key(), Ask{N: w.N, MaxWait: patience}, g)
	if err != nil {
		ln.Together()
		return err
	}
	if err := refused(a, w.N, now, patience); err != nil {
		w.Drop(err)
		return nil
	}
	reply := line.Reply{Granted: a.Allowed, Now: now, Delay: a.RetryAfter}
	if k.plans.forKey == nil { // else those behind w may have other policies, by which fewer are left
		reply.Left = a.Remaining
	}
	if a.Allowed {
		reply.Booking, reply.Delay = g.booking(), a.Delay
	}
	w.Place(&reply)
	return nil
}

// refused returns the error if the answer at now denies n events, and waiting does not help.
func refused(a Answer, n int, now int64, patience time.Duration) error {
	switch {
	case a.Allowed:
		return nil
	case a.neverFits(n):
		return ErrNeverFits
	case a.QueueFull:
		return ErrQueueFull
	case a.Delay > 0 || a.RetryAfter > patience || exact.After(now, a.RetryAfter) == maxInstant: // no clock ever shows a later one
		return ErrTooLate
	}
	return nil
}

// leave takes w out of its line, because ctx has ended. The place that w had booked is given back,
// and the waiters behind it can move up.
func (k *KeyedLimiter) leave(ctx context.Context, key string, w *line.Waiter) error {
	if w.Leave(ctx.Err()) {
		soon, cancel := k.unended(ctx)
		defer cancel()
		_, _ = k.giveBack(soon, key, w, true, func(*line.Line) (r Request, back line.Back) {
			back, ok := w.Back()
			if ok {
				r = ofLine(back)
			}
			return r, back
		})
	}
	return w.Err() // nil if its turn has come, or if SetPolicy or Reset has asked for it meanwhile
}

// Reset forgets a key. The key has its full allowance again, and no debt. In a [MemStore] whose
// MaxKeys was reached, the key may share an allowance, as a new key does. Callers that wait for the
// key on this limiter get new turns, in the same order, as after [KeyedLimiter.SetPolicy].
//
// Reset has these effects on reservations:
//
//   - An earlier [Reservation] of the key by this limiter no longer gives anything back. Settle
//     charges only what was used beyond the booking.
//   - An earlier Reservation of the key by another limiter or process may give back events that the
//     key has counted since the Reset, up to the number that the Reservation had booked.
//   - A Reservation of another key that is being made during the Reset may give nothing back.
//
// If the store fails, it is not known whether the key was forgotten. Reset can be called again. A
// ctx that has ended is an error. Reset is safe for concurrent use.
//
// While reservations from before a Reset may still count, the limiter keeps the key in memory.
// After that, a later Reset of any key drops it. Short keys take 50 to 100 bytes each.
func (k *KeyedLimiter) Reset(ctx context.Context, key string) error {
	err := k.check(ctx, 0)
	if err == nil {
		err = k.renew(ctx, key, true)
	}
	return failed("Reset", err)
}

// renew gives the waiters for a key new turns, because the policy has changed, or because the key
// is to be forgotten. Their bookings are given back, and each asks again, in the same order, by its
// own policy. If one books nothing, it and those behind it ask when they are first. If all have
// booked by the policies that they have now, they keep their places. Meanwhile no waiter joins or
// leaves.
func (k *KeyedLimiter) renew(ctx context.Context, key string, forget bool) error {
	ln, waited, err := k.start(ctx, key, line.Renewing, nil)
	if err != nil {
		return err
	}
	defer ln.End()
	if forget {
		if err := k.forget(waited, ln); err != nil {
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

// forget has the store forget the key of a line. It records the reset even if the store fails or
// panics, because the key may have been forgotten nevertheless.
func (k *KeyedLimiter) forget(ctx context.Context, ln *line.Line) error {
	plan, err := k.plans.of(ctx, ln.Key())
	if err != nil {
		return err
	}
	ln.Keep(true)
	defer func() { k.resets.Reset(ln.Key(), k.plans.clock.Now()) }()
	_, err = k.store.Do(ctx, Request{Plan: plan, Key: ln.Key(), Forget: true})
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
// forgotten it. If the store fails or has failed before, these waiters and those before them keep their
// bookings. A booking stays charged if it cannot be freed because others have booked behind it.
func (k *KeyedLimiter) freePlaces(ctx context.Context, ln *line.Line, forgotten bool) error {
	for back, ok := ln.Unbook(); ok && (forgotten || !back.Kept); back, ok = ln.Unbook() {
		if !forgotten && !back.Apart {
			ln.Keep(false)
			r := ofLine(back)
			r.Key = ln.Key()
			if _, err := k.store.Do(ctx, r); err != nil {
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
