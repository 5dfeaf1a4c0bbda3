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

// Booked returns the waiters that have booked, in their order. An activity of kind Renewing is
// under way.
func (ln *Line) Booked() (all []Booked) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for w := ln.ends.next; w.run != nil; w = w.next {
		all = append(all, Booked{w.Ctx, w.run.By})
	}
	return all
}

// Unbook returns the events that the last waiters of the last run have booked one behind the other,
// so that these waiters can get new turns. They become a run of their own: a waiter between them
// and those before them has gone while these were about to leave, and its events stay. It reports
// false if none has booked. Otherwise the caller asks the store to free the events, and calls
// Freed. If the store fails, the waiters keep their places. An activity of kind Renewing is under
// way.
func (ln *Line) Unbook() (back Back, ok bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.askAt = 0 // the answer is out of date
	r := ln.booked.run
	if r == nil {
		return back, false
	}
	rate := r.Pace.Rate
	starts := rate.At(r.End)
	back = Back{Booking: r.Booking, Stay: starts.Sub(ln.booked.ends()), run: &run{r.Booking}}
	back.N = 0
	w := ln.booked
	for ; w.run == r && (back.N == 0 || w.ends() == starts); w = w.prev {
		back.N += min(w.N, math.MaxInt-back.N)
		starts, w.run = w.starts(), back.run
	}
	if w.run == r {
		r.End = rate.Instant(starts)
	}
	return back, true
}

// Keep notes, before the store is asked to free the bookings of the last run, or to forget all,
// that it may do so without an answer. Unless the caller then calls Freed, the waiters keep their
// places, and their events are not given back any more: they could be given back twice.
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
