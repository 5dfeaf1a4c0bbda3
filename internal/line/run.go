package line

import "github.com/weir-go/weir/internal/exact"

// A Policy decides on bookings. A line only compares it with other policies.
type Policy interface {
	// Equal reports whether another always decides in the same way.
	Equal(other Policy) bool

	// Follows reports whether its bookings are paid for in the same way as the bookings of other.
	// The numbers of the two policies may differ.
	Follows(other Policy) bool
}

// A Booking is events that the store has granted. Its instants are by the clock of the store.
type Booking struct {
	By         Policy
	N          int
	At         int64         // when one of them was granted
	Start, End exact.Instant // between which they are paid for
	Pace       Pace
	Apart      bool // no other follows them: the store does not know them, or not as one booking
	Kept       bool // it is not known whether the store still has them: see [Line.Keep]
}

// A Pace is how a booking's instant follows from when it is paid for. The zero Pace means that the
// pace is not known. Such a booking is a run of its own, because it is not known by how much the
// bookings behind another one can move up.
type Pace struct {
	Rate  exact.Rate // by which events are paid for
	Ahead int        // the instant comes before the end of its booking by the time of so many events
}

// A run is bookings of waiters for a key that follow each other in the store. They are by one
// policy, and no other booking is between two of them. If one of them is given back, and nothing
// was booked behind the last, the waiters behind it can move up. If another caller has booked
// behind the last, they cannot: that caller could then not go ahead at the instant that it was
// given.
type run struct{ Booking }

// by reports whether the bookings of r, if there is one, are by p.
func (r *run) by(p Policy) bool { return r == nil || r.By.Equal(p) }

// follows reports whether the bookings of r follow b.
func (r *run) follows(b Booking) bool {
	return r != nil && !r.Apart && !b.Apart && r.Pace.Rate.Den > 0 && r.Start == b.End && r.By.Follows(b.By)
}

// book records that w, which is in its place, has booked the instant at. If the instant of the
// waiter before it is later, w has that one.
func (ln *Line) book(w *Waiter, b Booking, at int64) {
	if ln.giving == nil {
		ln.giving = make(chan struct{}, 1)
	}
	if w.prev == ln.booked {
		ln.booked = w
		ln.askNow()
	}
	if r := w.prev.run; r != nil && r == w.next.run { // the store had forgotten them
		r.Apart = true
	}
	w.own, w.at = at, max(at, w.prev.at)
	w.goes = b.Pace.Rate.At(b.End).Sub(b.Pace.Rate.Cost(uint64(b.Pace.Ahead)))
	w.run, w.ahead = &run{b}, b.Pace.Ahead
	w.merge()
	w.next.merge()
}

// merge makes the run of w, its first waiter, a part of the run before it, if it follows that one.
func (w *Waiter) merge() {
	r, before := w.run, w.prev.run
	if before == nil || !r.follows(before.Booking) {
		return
	}
	before.End = r.End
	for ; w.run == r; w = w.next {
		w.run = before
	}
}

// starts and ends are between which instants the booking of w is paid for, in units of its rate.
func (w *Waiter) starts() exact.Uint128 { return w.ends().Sub(w.run.Pace.Rate.Cost(uint64(w.N))) }

func (w *Waiter) ends() exact.Uint128 { return w.goes.Add(w.run.Pace.Rate.Cost(uint64(w.ahead))) }
