package weir

import (
	"context"
	"time"
)

// A line is the waiters for one key, in the order in which they came. Waiters that have booked come
// first, and go at their instants. Of the others, the first asks the store. It asks when no waiter
// is before it, or when those before it have booked by its policy. When it has booked, the next
// asks. In this way waiters also book in a line that never empties.
//
// Its fields are guarded by lines.mu, except giving.
type line struct {
	key     string
	ends    waiter  // no waiter: its next is the first of the line, and its prev the last
	booked  *waiter // the last waiter that has booked, or &ends
	watcher *waiter // the first waiter that is not about to leave, or &ends: it watches the time

	askAt   int64 // when the first of those who have not booked may ask, if it is not to wait until it watches the time
	limit   int   // the most events that it was told are ever granted at once,
	limitBy *Plan // by this policy

	kind   activity // of the activities under way,
	active int      // so many
	next   []*batch // those that wait for them to end

	// giving is held by the call that gives back, because what each call can free depends on the
	// calls before. It is made when the first waiter books, and so not during a give-back.
	giving chan struct{}
}

// A waiter is one place in a line.
type waiter struct {
	line       *line
	prev, next *waiter
	ctx        context.Context // of its caller; the policy may depend on it
	n          int
	run        *run          // the bookings that it belongs to, if it has booked
	at         int64         // and when, by the limiter's clock
	behind     int           // of the events that are being given back, those behind its own
	in         uint64        // its ticket: when it came
	joined     uint64        // and when it joined the line
	err        error         // why it has no turn, once it is gone
	leaving    bool          // is about to leave, and does not watch the time any more
	gone       bool          // has left the line
	wake       chan struct{} // signals that it was granted, or is to look at the line again
}

// A run is bookings of waiters for a key that follow each other in the store. They are by one
// policy, and no other booking is between two of them. If one of them is given back, and nothing
// was booked behind the last, the waiters behind it can move up. Otherwise another caller could not
// go ahead at the instant that it was given.
type run struct {
	plan       *Plan
	at         int64 // the instant at which one of them was granted
	start, end int64 // the instants of the store between which it is paid for
	degraded   bool  // not known to the store
}

// by reports whether the bookings of r, if there is one, are by the policy of s.
func (r *run) by(s *Plan) bool { return r == nil || r.plan.Equal(s) }

// follows reports whether the bookings of r follow those by the policy of s that end at the instant
// end. The policies may differ in their numbers.
func (r *run) follows(s *Plan, end int64) bool {
	return r != nil && !r.degraded && r.start == end && (r.by(s) || sameShape(r.plan.rule(), s.rule()))
}

// back gives back n events of the run.
func (r *run) back(n int) Ask {
	return Ask{N: -n, GrantedAt: r.at, Charges: &[]Charge{{N: n, For: time.Duration(r.end - r.at)}}}
}

func (ln *line) empty() bool { return ln.ends.next == &ln.ends }

// renews reports whether all waiters are being given new turns. Until then none has a turn.
func (ln *line) renews() bool { return ln.active > 0 && ln.kind == renewing }

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it has a signal that it has not seen yet, or is no waiter
	}
}

// insert inserts w after prev.
func (ls *lines) insert(prev, w *waiter) {
	ln := w.line
	w.joined, w.wake = ls.tickets.Add(1), make(chan struct{}, 1)
	w.prev, w.next = prev, prev.next
	w.prev.next, w.next.prev = w, w
	for prev.leaving {
		prev = prev.prev
	}
	if prev == &ln.ends {
		ln.watcher = w
	}
}

// askNow lets the first waiter that has not booked ask at once.
func (ln *line) askNow() {
	ln.askAt = 0
	ln.booked.next.signal()
}

// watch lets the first waiter from w on that is not about to leave watch the time. If that one has
// not booked, it may ask at once.
func (ln *line) watch(w *waiter) {
	for w.leaving {
		w = w.next
	}
	ln.watcher = w
	if w.run == nil {
		ln.askAt = 0
	}
	w.signal()
}

// book records that w, which is in its place, has booked the instant at. If the instant of the
// waiter before it is later, w has that one.
func (ln *line) book(w *waiter, g *grant, at int64) {
	if ln.giving == nil {
		ln.giving = make(chan struct{}, 1)
	}
	if w.prev == ln.booked {
		ln.booked = w
		ln.askNow()
	}
	if r := w.prev.run; r != nil && r == w.next.run { // the store had forgotten them
		r.degraded = true
	}
	w.at = max(at, w.prev.at)
	w.run = &run{plan: g.plan, at: g.at, start: g.start(), end: g.end(), degraded: !g.books()}
	w.merge()
	w.next.merge()
}

// merge makes the run of w, its first waiter, a part of the run before it, if it follows that one.
func (w *waiter) merge() {
	r, before := w.run, w.prev.run
	if before == nil || before.degraded || !r.follows(before.plan, before.end) {
		return
	}
	before.end = r.end
	for ; w.run == r; w = w.next {
		w.run = before
	}
}
