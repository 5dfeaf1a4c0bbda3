package line

import (
	"cmp"
	"time"
)

// A Turn is the position of a waiter.
type Turn int

const (
	Behind  Turn = iota // another is first
	First               // only waiters that leave are before it; its instant is yet to come
	MayAsk              // it has not booked, and is to ask the store now
	TooLate             // it has come, and its turn would not come within its patience
	Gone                // it is granted, or has no turn because of Err
)

// Turn returns the position of w, and the time until its instant if it is the first. A new waiter
// may ask.
func (w *Waiter) Turn(now int64) (Turn, time.Duration) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.turn(now)
}

func (w *Waiter) turn(now int64) (Turn, time.Duration) {
	ln := w.line
	if w.next != nil {
		ln.pass(now)
	}
	switch {
	case w.gone:
		return Gone, 0
	case w.isNew():
		return MayAsk, 0
	}
	at := ln.askAt
	if w.run != nil {
		at = w.at
	}
	switch {
	case ln.renews() || w != ln.watcher && (w.prev != ln.booked || at > now):
		return Behind, 0
	case at > now:
		return First, time.Duration(at - now)
	}
	return MayAsk, 0
}

// pass sends off all waiters whose booked instants have come.
func (ln *Line) pass(now int64) {
	for !ln.renews() && ln.watcher.run != nil && ln.watcher.at <= now {
		ln.watcher.unlink()
	}
}

// MayBook reports whether w, which is to ask, may book by p. If its policy differs from that of the
// waiters ahead, it could book before them, and waiters ahead that leave could not give their
// places back. It then asks when they have gone.
func (w *Waiter) MayBook(p Policy) bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.mayBook(p)
}

func (w *Waiter) mayBook(p Policy) bool {
	if w.line.booked.run.by(p) {
		return true
	}
	w.line.askAt = never
	return false
}

// Drop takes w out of its line because of err, unless it has left.
func (w *Waiter) Drop(err error) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if !w.gone {
		w.err = cmp.Or(w.err, err)
		w.unlink()
	}
}

// A LateBehind is the error of a waiter that was not served in time, while others were before it in
// the line. A waiter that has not come to the line yet has no others before it. Package edge looks
// for the method Behind, because a call that had no others before it may ask again at once.
type LateBehind struct{ Err error }

func (e LateBehind) Error() string { return e.Err.Error() }

// Behind does nothing. It distinguishes a LateBehind from other errors.
func (e LateBehind) Behind() {}

// Unwrap returns e.Err.
func (e LateBehind) Unwrap() error { return e.Err }

// Leave records that w is about to leave because of err, unless it has left. It reports whether the
// place of w is to be given back first. Giving it back may take a while. Meanwhile another waiter
// watches the time.
func (w *Waiter) Leave(err error) (first bool) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if w.gone {
		return false
	}
	if w.err = err; !w.isNew() && w != w.line.watcher {
		w.err = LateBehind{Err: err}
	}
	if w.isNew() || w.run == nil && !w.line.renews() {
		w.unlink()
		return false
	}
	w.leaving = true
	if w == w.line.watcher {
		w.line.watch(w)
	}
	return true
}
