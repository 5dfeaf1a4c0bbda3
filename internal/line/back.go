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
	run   *run    // the last of the line, whose bookings are to move up
	first *Waiter // of those
	start int64   // where the run starts then
}

// Alone waits until no other call that has called Alone gives back, and excludes others until done.
// If a waiter has booked, the events that each call can free depend on the calls before. It fails
// if ctx ends before. An activity of kind Returning is under way.
func (ln *Line) Alone(ctx context.Context) (done func(), err error) {
	ln.mu.Lock()
	booked := ln.booked != &ln.ends
	ln.mu.Unlock()
	if !booked {
		return func() {}, nil
	}
	select {
	case ln.giving <- struct{}{}:
		return func() { <-ln.giving }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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
	back = ln.backOfRun(counting)
	if back.start = 0; n == b.N { // else the run follows what b keeps
		back.start = b.Start
	}
	return back, true
}

// Back gives back the place of w, which is about to leave, and the places of all others of the last
// run that are. Bookings behind a place of another run stay where they are. It reports false if
// there is nothing to give back.
func (w *Waiter) Back() (back Back, ok bool) {
	ln := w.line
	ln.mu.Lock()
	defer ln.mu.Unlock()
	switch r := ln.booked.run; {
	case w.gone:
	case w.run == nil || w.run != r || r.Apart:
		w.unlink()
	default:
		return ln.backOfRun(0), true
	}
	return back, false
}

// backOfRun takes the waiters of the last run that are about to leave out of the line. It gives back
// their events, and n that were booked before the run.
func (ln *Line) backOfRun(n int) Back {
	r, w, behind := ln.booked.run, ln.booked, 0
	for ; w.run == r; w = w.prev {
		if w.leaving {
			behind += min(w.N, math.MaxInt-behind)
			w.unlink()
		} else {
			w.behind = behind
		}
	}
	back := Back{r.Booking, r, w.next, r.Start}
	back.N = n + min(behind, math.MaxInt-n)
	return back
}

// A Freed is what a give-back has freed.
type Freed struct {
	Up   time.Duration // the time that the events took, rounded down
	End  int64         // when the last of the line is paid for, by the clock of the store, rounded up
	Rest uint64        // how much End is rounded up, in units of the rate
}

// GivenBack moves up the waiters of the last run after a give-back. Each moves by the time of the
// events before its own, but not past the waiter before it. Waiters that have not booked ask at
// once. The zero Back is of events that nobody here waits behind.
func (ln *Line) GivenBack(b Back, f Freed) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	at := ln.watcher.at
	// Even where nobody moves up by a whole nanosecond, the run may end sooner. If it ends within the
	// same nanosecond as before, End is rounded up by more, and so by Rest.
	if r := b.run; r != nil && (f.Up > 0 || f.End < r.End || f.Rest > 0) {
		r.Start, r.End = b.start, min(f.End, r.End-int64(f.Up))
		first := b.first
		for first.gone { // meanwhile
			first = first.next
		}
		after := 0 // events
		for w := first; w.run == r; w = w.next {
			after += w.N
		}
		for w := first; w.run == r; w = w.next {
			after -= w.N
			w.at = max(w.at-int64(f.up(b, w, after)), w.prev.at)
		}
		first.merge()
	}
	if ln.watcher.at < at {
		ln.watcher.signal()
	}
	ln.askNow()
}

// up is how far w moves up, when as many events are booked after its own. Instants are rounded up to
// nanoseconds, each by itself. A slot of a third of a nanosecond too many would be too late for w,
// and so too close to the next that books. Each instant is therefore rounded anew.
func (f Freed) up(b Back, w *Waiter, after int) time.Duration {
	before, rate := uint64(b.N-w.behind), w.pace.Rate
	if rate.Den == 0 || rate.Floor(rate.Cost(uint64(b.N))) != f.Up {
		return time.Duration(exact.Portion(uint64(f.Up), before, uint64(b.N)))
	}
	goes := rate.Units(f.End).Sub(exact.Uint128{Lo: f.Rest}).Sub(rate.Cost(uint64(after))).Sub(rate.Cost(uint64(w.pace.Ahead)))
	return rate.Ceil(goes.Add(rate.Cost(before))) - rate.Ceil(goes)
}
