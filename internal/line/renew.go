package line

import (
	"context"
	"math"
)

// A Booked is a waiter that has booked: the context of its caller, and the policy.
type Booked struct {
	Ctx context.Context
	By  Policy
}

// Booked returns the waiters that have booked, in their order. An activity of kind Renewing is under
// way.
func (ln *Line) Booked() (all []Booked) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for w := ln.ends.next; w.run != nil; w = w.next {
		all = append(all, Booked{w.Ctx, w.run.By})
	}
	return all
}

// Unbook returns the events that the waiters of the last run have booked, so that these waiters can
// get new turns. It reports false if none has booked. Otherwise the caller asks the store to free
// the events, and calls Freed. If the store fails, the waiters keep their places. An activity of
// kind Renewing is under way.
func (ln *Line) Unbook() (back Back, ok bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.askAt = 0 // the answer is out of date
	r := ln.booked.run
	if r == nil {
		return back, false
	}
	back = Back{Booking: r.Booking, run: r}
	back.N = 0
	for w := ln.booked; w.run == r; w = w.prev {
		back.N += min(w.N, math.MaxInt-back.N)
	}
	return back, true
}

// Keep notes, before the store is asked to free the bookings of the last run, or to forget all, that it
// may do so without an answer. Unless the caller then calls Freed, the waiters keep their places, and
// their events are not given back any more: they could be given back twice.
func (ln *Line) Keep(all bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	last := ln.booked.run
	for w := ln.booked; w.run != nil && (all || w.run == last); w = w.prev {
		w.run.Apart, w.run.Kept = true, true
	}
}

// Freed marks the waiters of a run as not booked.
func (ln *Line) Freed(b Back) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for ; ln.booked.run == b.run; ln.booked = ln.booked.prev {
		ln.booked.run = nil
	}
}

// Next returns the first waiter that has not booked, or nil. A waiter that is about to leave needs
// no turn, and leaves.
func (ln *Line) Next() *Waiter {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	w := ln.booked.next
	for ; w.leaving; w = w.next {
		w.unlink()
	}
	if w == &ln.ends {
		return nil
	}
	return w
}
