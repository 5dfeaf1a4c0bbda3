package weir

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// lines are the waiting callers of a limiter. The zero value is ready.
type lines struct {
	mu  sync.Mutex
	all map[string]*line // of the keys that have waiters, or for which an activity is under way

	tickets atomic.Uint64 // of the waiters that have come, and that have joined, in their order

	resets resets
}

// A turn is the position of a waiter.
type turn int

const (
	behind  turn = iota // another is first
	first               // none is before it but those who leave; its instant is yet to come
	mayAsk              // none is before it but those who leave or have booked; it has not, and is to ask now
	granted             // its instant has come
	failed              // has none, because of w.err or of its own accord
)

// turn returns the position of w, and the time until its instant if it is the first.
func (ls *lines) turn(w *waiter, now int64) (turn, time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	ls.pass(ln, now)
	at := ln.askAt
	if w.run != nil {
		at = w.at
	}
	switch {
	case w.err != nil:
		return failed, 0
	case w.gone:
		return granted, 0
	case ln.renews() || w != ln.watcher && (w.prev != ln.booked || at > now):
		return behind, 0
	case at > now:
		return first, time.Duration(at - now)
	}
	return mayAsk, 0
}

// mayBook reports whether w, which is to ask, may book by the policy of s. By another policy than
// the waiters ahead it could book before them, and those of them that leave could not give their
// places back. It then asks when they have gone.
func (ls *lines) mayBook(w *waiter, s *Plan) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	if ln.booked.run.by(s) {
		return true
	}
	ln.askAt = math.MaxInt64
	return false
}

// pass sends off all waiters whose booked instants have come.
func (ls *lines) pass(ln *line, now int64) {
	for !ln.renews() && ln.watcher.run != nil && ln.watcher.at <= now {
		ls.unlink(ln.watcher)
	}
}

// unlink takes w out of its line, if it is still in it, and signals it. If w watched the time, the
// next does.
func (ls *lines) unlink(w *waiter) {
	ln := w.line
	w.gone = true
	if w.next == nil {
		return
	}
	w.signal()
	w.prev.next, w.next.prev = w.next, w.prev
	if w == ln.booked {
		ln.booked = w.prev
	}
	switch {
	case w == ln.watcher:
		ln.watch(w.next)
	case w.prev == ln.booked: // it was the last waiter that has booked, or the first that has not
		ln.askNow()
	}
	ls.tidy(ln)
}

// come puts w at the end of its line, if it has to ask behind others, and reports whether it waits
// there. The errors are:
//
//   - ErrTooLate: within the patience of w, the last waiter that has booked does not go, or the
//     first of the others does not ask.
//   - ErrNeverFits: the events can never be granted.
func (ls *lines) come(w *waiter, s *Plan, patience time.Duration, now int64) (waits bool, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	ls.pass(ln, now)
	if ln.booked == ln.ends.prev && ln.booked.run.by(s) {
		return false, nil // it may book, too
	}
	earliest := ln.askAt
	switch {
	case ln.watcher.run != nil:
		earliest = ln.booked.at
	case earliest == math.MaxInt64: // it may ask when those who leave have left
		earliest = now
	}
	switch {
	case ln.booked != ln.ends.prev && w.n > ln.limit && ln.limitBy.Equal(s):
		return false, ErrNeverFits
	case time.Duration(earliest-now) > patience:
		return false, ErrTooLate
	}
	ls.asks(w, s, 0, math.MaxInt)
	return true, nil
}

// asks lets w ask the store at the instant at, if it is the first then. If it is not in the line
// yet, it joins the waiters that have not booked, in the order in which they came: it may be denied
// later than others that came after it. The policy of s grants at most limit events at once.
func (ls *lines) asks(w *waiter, s *Plan, at int64, limit int) {
	ln := w.line
	if w.next == nil {
		prev := ln.ends.prev
		for prev != ln.booked && prev.in > w.in {
			prev = prev.prev
		}
		ls.insert(prev, w)
	}
	if w.prev == ln.booked || w == ln.watcher {
		ln.askAt, ln.limit, ln.limitBy = at, limit, s
	}
}

// place gives w, which has asked by the policy of s, its place in the line. It gives none if w was
// refused, or if it was granted now and no waiter is ahead. It reports whether w waits. All waiters
// that were in the line when w came stay ahead. Those that came at the same time go in the order of
// their instants.
func (ls *lines) place(w *waiter, s *Plan, r *reply, patience time.Duration) (waits bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if w.gone { // it could not wait for the reply
		return false
	}
	ln, at := w.line, exact.After(r.now, r.Delay)
	if r.Allowed && r.Delay == 0 {
		ln.together(r.Remaining)
	}
	ls.pass(ln, r.now)
	if w.err = refused(r.Answer, w.n, patience); w.err != nil {
		ls.unlink(w)
		return false
	}
	if !r.Allowed {
		// A store that denies and says "now" must not keep w from seeing that its context has
		// ended.
		ls.asks(w, s, exact.After(r.now, max(r.RetryAfter, 1)), r.Limit)
		return true
	}
	if w.next != nil && w.prev != ln.booked { // while w asked, one that came before it was denied: w goes before it all the same
		w.prev.next, w.next.prev = w.next, w.prev
		ls.insert(ln.booked, w)
	}
	if w.next == nil && (at > r.now || ln.watcher != &ln.ends) {
		prev := ln.booked
		for prev.at > at && prev.joined > w.in {
			prev = prev.prev
		}
		ls.insert(prev, w)
	}
	if at <= r.now && (w.next == nil || w == ln.watcher) {
		ls.unlink(w)
		return false
	}
	ln.book(w, &r.grant, at)
	return true
}

// failed records that the store failed. Those who wait to ask it do not wait for each other then.
func (ls *lines) failed(ln *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln.together(math.MaxInt)
}

// drop takes w out of its line because of err, if it is still in it.
func (ls *lines) drop(w *waiter, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !w.gone {
		w.err = err
		ls.unlink(w)
	}
}

// leaves records that w is about to leave. If it has booked that may take a while. Meanwhile
// another waiter watches the time.
func (ls *lines) leaves(w *waiter) turn {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	switch {
	case w.err != nil:
		return failed
	case w.gone:
		return granted
	case w.run == nil && !w.line.renews():
		ls.unlink(w)
		return failed
	}
	w.leaving = true
	if w == w.line.watcher {
		w.line.watch(w)
	}
	return behind
}

// keys are the keys that have waiters.
func (ls *lines) keys() []string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var keys []string
	for key, ln := range ls.all {
		if !ln.empty() {
			keys = append(keys, key)
		}
	}
	return keys
}
