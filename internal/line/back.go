package line

import (
	"context"
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A Back is N events of a Booking that are to be given back to the store in one step: events of
// waiters that are about to leave, and perhaps of a booking before them.
type Back struct {
	Booking
	Stay  exact.Uint128 // the time, in units of the rate, of what stays of the run behind the first of these
	run   *run          // the last of the line, whose bookings are to move up
	first *Waiter       // of those
	start exact.Instant // where the run starts then
}

// Alone waits until no other caller of Alone gives back, and excludes other callers until done. As
// long as a waiter has booked, the events that each call can free depend on the calls before. When
// all of those have gone, callers wait no longer: they may be many, and the store may take long.
// Alone fails if ctx ends before. An activity of kind Returning is under way, and so nobody books.
func (ln *Line) Alone(ctx context.Context) (done func(), err error) {
	if !ln.hasBooked() {
		return func() {}, nil
	}
	select {
	case ln.giving <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !ln.hasBooked() { // any more
		<-ln.giving
		return func() {}, nil
	}
	return func() { <-ln.giving }, nil
}

// hasBooked reports whether a waiter of the line has booked.
func (ln *Line) hasBooked() bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.booked != &ln.ends
}

// BackBefore gives back n events of b, of which counting still count. It is for a booking that is
// followed by all bookings of the last run, and by no others. The bookings of the run are to move
// up. It reports false if other bookings follow.
func (ln *Line) BackBefore(b Booking, n, counting int) (back Back, ok bool) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if counting <= 0 || !ln.booked.run.follows(b) {
		return back, false
	}
	back = ln.backOfRun(counting, nil, nil)
	if back.start = b.Start; n < b.N { // the run follows what b keeps
		back.start = exact.Instant{}
	}
	return back, true
}

// Back gives back the place of w, which is about to leave, and those of others of the last run that
// are about to leave, too. All are of the waiters around w whose places follow each other. Beyond
// them somebody has gone: what can be freed on that side does not depend on w. Bookings behind a
// place of another run stay where they are. It reports false if there is nothing to give back.
func (w *Waiter) Back() (back Back, ok bool) {
	ln := w.line
	ln.mu.Lock()
	defer ln.mu.Unlock()
	switch r := ln.booked.run; {
	case w.gone:
	case w.run == nil || w.run != r || r.Apart:
		w.unlink()
	default:
		first, last := w, w
		for first.prev.run == r && first.starts() == first.prev.ends() {
			first = first.prev
		}
		for last.next.run == r && last.next.starts() == last.ends() {
			last = last.next
		}
		return ln.backOfRun(0, first, last), true
	}
	return back, false
}

// backOfRun takes those waiters of the last run from first to last that are about to leave out of
// the line. It gives back their events, and n that were booked before the run.
func (ln *Line) backOfRun(n int, first, last *Waiter) Back {
	r, w, behind, among := ln.booked.run, ln.booked, 0, false
	back := Back{Booking: r.Booking, run: r, start: r.Start}
	rate := r.Pace.Rate
	ends, after := rate.At(r.Start), 0 // the first of what is given back, and how many of these events come after it
	for ; w.run == r; w = w.prev {
		w.behind = behind
		among = among || w == last
		if among && w.leaving {
			ends, after = w.ends(), behind
			behind += min(w.N, math.MaxInt-behind)
			w.unlink()
		}
		among = among && w != first
	}
	back.N, back.first = n+min(behind, math.MaxInt-n), w.next
	back.Stay = rate.At(r.End).Sub(ends).Sub(rate.Cost(uint64(after)))
	return back
}

// A Freed is what a give-back has freed.
type Freed struct {
	Up   time.Duration // the time that the events took, rounded down
	Rest uint64        // by how much Up is rounded down, in units of the rate
}

// units is the time that the events took, exactly.
func (f Freed) units(r exact.Rate) exact.Uint128 {
	return r.Units(int64(f.Up)).Add(exact.Uint128{Lo: f.Rest})
}

// GivenBack moves up the waiters of the last run after a give-back. Each moves by the time that was
// freed, less that of the events behind its own, but not past the waiter before it. Waiters that
// have not booked ask at once. The zero Back is of events that nobody here waits behind.
func (ln *Line) GivenBack(b Back, f Freed) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	at := ln.watcher.at
	// Even where nobody moves up by a whole nanosecond, the run ends sooner.
	if r := b.run; r != nil && r.Pace.Rate.Den > 0 && f != (Freed{}) {
		rate := r.Pace.Rate
		r.Start, r.End = b.start, rate.Instant(rate.At(r.End).Sub(f.units(rate)))
		first := b.first
		for first.gone { // meanwhile
			first = first.next
		}
		for w := first; w.run == r; w = w.next {
			w.own -= int64(f.moveUp(w))
			w.at = max(w.own, w.prev.at)
		}
		first.merge()
	}
	if ln.watcher.at < at {
		ln.watcher.signal()
	}
	ln.askNow()
}

// moveUp moves up the booking of w by the time that was freed before it, and returns by how much
// its instant is earlier. If less was freed than the events took, the first of them have passed.
// Instants are rounded up to nanoseconds, each by itself: the old one and the new one. If the
// differences were rounded instead, the errors would add up, and slots would be too late or too
// early.
func (f Freed) moveUp(w *Waiter) time.Duration {
	rate, was := w.run.Pace.Rate, w.goes
	w.goes = was.Sub(f.units(rate).Sub(rate.Cost(uint64(w.behind))))
	return rate.Ceil(was) - rate.Ceil(w.goes)
}
