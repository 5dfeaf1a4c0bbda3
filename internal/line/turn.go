package line

import "time"

// A Turn is the position of a waiter.
type Turn int

const (
	Behind  Turn = iota // another is first
	First               // only waiters that leave are before it; its instant is yet to come
	MayAsk              // only waiters that leave or have booked are before it; it has not booked, and is to ask now
	Granted             // its instant has come
	Failed              // it has no turn, because of Err or because it has left by itself
)

// Turn returns the position of w, and the time until its instant if it is the first.
func (w *Waiter) Turn(now int64) (Turn, time.Duration) {
	ln := w.line
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.pass(now)
	at := ln.askAt
	if w.run != nil {
		at = w.at
	}
	switch {
	case w.err != nil:
		return Failed, 0
	case w.gone:
		return Granted, 0
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
	ln := w.line
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.booked.run.by(p) {
		return true
	}
	ln.askAt = never
	return false
}

// Drop takes w out of its line because of err, if it is in one.
func (w *Waiter) Drop(err error) {
	if w.line == nil { // it has not come to one
		return
	}
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	if !w.gone {
		w.err = err
		w.unlink()
	}
}

// Served reports whether w was granted its events at once while it was about to leave.
func (w *Waiter) Served() bool {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	return w.served
}

// Leave records that w is about to leave. It returns Failed if w has left without a turn, Granted
// if its turn has come, and Behind if the place of w is to be given back first. Giving it back may
// take a while. Meanwhile another waiter watches the time.
func (w *Waiter) Leave() Turn {
	w.line.mu.Lock()
	defer w.line.mu.Unlock()
	switch {
	case w.err != nil:
		return Failed
	case w.gone:
		return Granted
	case w.run == nil && !w.line.renews():
		w.unlink()
		return Failed
	}
	w.leaving = true
	if w == w.line.watcher {
		w.line.watch(w)
	}
	return Behind
}
