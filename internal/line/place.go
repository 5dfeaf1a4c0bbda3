package line

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// Come returns [MayAsk] if w, whose turn it is to ask, may ask the store now, by p. If a new waiter
// may not, because it has to ask behind others, Come puts it at the end of the line. It returns
// [TooLate] instead if the last waiter that has booked does not go within the patience of w, or if
// the first of the others does not ask within it. An activity of kind Joining is under way.
func (w *Waiter) Come(ln *Line, p Policy, patience time.Duration, now int64) Turn {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if !w.isNew() { // it asks again
		if w.mayBook(p) {
			return MayAsk
		}
		return Behind
	}
	w.line, ln.known = ln, true
	ln.pass(now)
	if ln.booked == ln.ends.prev && ln.booked.run.by(p) {
		return MayAsk // it may book, too
	}
	earliest := ln.askAt
	switch {
	case ln.watcher.run != nil:
		earliest = ln.booked.at
	case earliest == never: // it may ask when the waiters that leave have left
		earliest = now
	}
	if time.Duration(earliest-now) > patience {
		return TooLate
	}
	ln.asks(w, 0)
	return Behind
}

// asks lets w ask the store at the instant at, if it is the first then. If w is not in the line
// yet, it joins the waiters that have not booked. They stand in the order in which they came,
// because the store may deny w later than others that came after it.
func (ln *Line) asks(w *Waiter, at int64) {
	if w.next == nil {
		prev := ln.ends.prev
		for prev != ln.booked && prev.in > w.in {
			prev = prev.prev
		}
		ln.insert(prev, w)
	}
	if w.prev == ln.booked || w == ln.watcher {
		ln.askAt = at
	}
}

// A Reply is the store's answer to a waiter that is granted, or may be granted later.
type Reply struct {
	Granted bool
	Booking               // if it is granted
	Now     int64         // the instant of the decision
	Delay   time.Duration // until the events may go ahead, or until it may ask again
	Left    int           // events that are left
}

// Place gives w, which has asked, its place in the line. It gives none if it was granted now and no
// waiter is ahead. All waiters that were in the line when w came stay ahead. Those that asked at
// the same time go in the order of their instants.
func (w *Waiter) Place(r *Reply) {
	ln := w.line
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if w.gone { // it could not wait for the reply
		return
	}
	if r.Granted && r.Delay == 0 && ln.Remote { // in memory, they are as fast one after the other
		ln.together(r.Left)
	}
	ln.pass(r.Now)
	at := exact.After(r.Now, r.Delay)
	if !r.Granted {
		// A store that denies and says "now" must not keep w from seeing that its context has
		// ended.
		ln.asks(w, max(at, exact.After(r.Now, 1)))
		return
	}
	if w.next != nil && w.prev != ln.booked { // while w asked, one that came before it was denied: w goes before it all the same
		w.prev.next, w.next.prev = w.next, w.prev
		ln.insert(ln.booked, w)
	}
	if w.next == nil && (at > r.Now || ln.watcher != &ln.ends) {
		prev := ln.booked
		for prev.own > at && prev.joined > w.in {
			prev = prev.prev
		}
		ln.insert(prev, w)
	}
	if at <= r.Now && (w.next == nil || w.first()) {
		w.err = nil // if it is about to leave, it stays all the same: only bookings are given back
		w.unlink()
		return
	}
	ln.book(w, r.Booking, at)
}

// Together lets all waiters that are to ask the store do so at once, and not one after the other,
// because the store fails.
func (ln *Line) Together() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.together(math.MaxInt)
}
