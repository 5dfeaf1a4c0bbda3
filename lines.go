package weir

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// lines are the callers of a limiter that wait. The zero value is ready.
type lines struct {
	mu  sync.Mutex
	all map[lineID]*line // those that somebody waits in

	// A booking and a return of the same key never overlap: whether those who booked are to move up
	// depends on which came first, and only the store knows that. So a return waits for the bookings
	// under way, and bookings wait for the returns. Bookings do not wait for bookings, nor
	// returns for returns. Both wait on a channel, since a call of the store may take long.
	booking map[string]int      // how many bookings are under way
	returns map[string]*returns // those under way, or waiting for the bookings
}

// returns are those of one key.
type returns struct {
	n     int
	quiet chan struct{} // closed when no booking is under way any more
	over  chan struct{} // closed when all have returned
}

type lineID struct {
	key string

	// booked tells that the policy has granted every waiter its instant ahead of time. Otherwise
	// the first asks again when it may succeed, and the others ask when they are first.
	booked bool
}

// A line is those who wait for one key, in the order in which they go. Its fields are guarded by
// lines.mu, but for its lineID, which never changes.
type line struct {
	lineID
	first, last *waiter
	at          int64 // the instant of first: granted from then on, or asks again then
	lastAt      int64 // the instant of last, if booked
	limit       int   // the most events that are ever granted at once, if not booked
}

// A waiter is one place in a line.
type waiter struct {
	line       *line
	prev, next *waiter
	n          int
	gap        int64         // booked: how long its instant is after that of prev
	gone       bool          // has left the line
	wake       chan struct{} // signals that it was granted, became the first, or moved up as such
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it has a signal that it has not seen yet
	}
}

// A turn is how it stands with a waiter.
type turn int

const (
	behind  turn = iota // another is first
	first               // the first, whose instant is yet to come
	mayAsk              // the first of a line that has not booked, whose instant has come
	granted             // booked, and its instant has come
)

var errNotYet = errors.New("denied again")

// turn tells how it stands with w, and how long until its instant if it is the first. It sends off
// all those whose booked instant has come.
func (ls *lines) turn(w *waiter, now int64) (turn, time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	for ln.booked && ln.first != nil && ln.at <= now {
		ln.first.signal()
		ls.unlink(ln.first)
	}
	switch {
	case w.gone:
		return granted, 0
	case ln.first != w:
		return behind, 0
	case ln.at <= now:
		return mayAsk, 0
	default:
		return first, time.Duration(ln.at - now)
	}
}

// joinUnbooked puts a waiter at the end of the key's line, if it has one that asks again. It
// returns ErrTooLate if not even the first of it could be granted within patience, and
// ErrNeverFits if n never could.
func (ls *lines) joinUnbooked(key string, n int, now int64, patience time.Duration) (*waiter, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.all[lineID{key, false}]
	if ln == nil {
		return nil, nil
	}
	if n > ln.limit {
		return nil, ErrNeverFits
	}
	if ln.at > now && time.Duration(ln.at-now) > patience {
		return nil, ErrTooLate
	}
	return ls.insert(ln, ln.last, n), nil
}

// open puts a waiter that was denied until at at the end of the line of those who ask again. The
// most that are granted at once is limit.
func (ls *lines) open(key string, n int, at int64, limit int) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.line(lineID{key, false})
	ln.limit = limit
	if ln.first == nil {
		ln.at = at
	}
	return ls.insert(ln, ln.last, n)
}

// startBooking is called before the store is asked to book, and endBooking when the waiter has
// joined, or is not to. It fails if ctx ends.
func (ls *lines) startBooking(ctx context.Context, key string) error {
	for {
		ls.mu.Lock()
		r := ls.returns[key]
		if r == nil {
			if ls.booking == nil {
				ls.booking = make(map[string]int)
			}
			ls.booking[key]++
			ls.mu.Unlock()
			return nil
		}
		ls.mu.Unlock()
		select {
		case <-r.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (ls *lines) endBooking(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.booking[key]--; ls.booking[key] > 0 {
		return
	}
	delete(ls.booking, key)
	if r := ls.returns[key]; r != nil {
		close(r.quiet)
	}
}

// startReturn is called before the store is asked to give back a booking, and endReturn when those
// behind it have moved up. It reports false if ctx ended before.
func (ls *lines) startReturn(ctx context.Context, key string) bool {
	ls.mu.Lock()
	r := ls.returns[key]
	if r == nil {
		r = &returns{quiet: make(chan struct{}), over: make(chan struct{})}
		if ls.booking[key] == 0 {
			close(r.quiet)
		}
		if ls.returns == nil {
			ls.returns = make(map[string]*returns)
		}
		ls.returns[key] = r
	}
	r.n++
	ls.mu.Unlock()
	select {
	case <-r.quiet:
		return true
	case <-ctx.Done():
		return false
	}
}

func (ls *lines) endReturn(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if r := ls.returns[key]; r.n > 1 {
		r.n--
	} else {
		delete(ls.returns, key)
		close(r.over)
	}
}

// joinBooked puts a waiter that has booked the instant at into the line, after all those whose
// instant is not later.
func (ls *lines) joinBooked(key string, n int, at int64) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.insertAt(ls.line(lineID{key, true}), n, at)
}

// postpone lets w, the first of its line, ask again at the instant at.
func (ls *lines) postpone(w *waiter, at int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w.line.at = at
}

// remove takes w out of a line that has not booked. If it was the first, the next may ask.
func (ls *lines) remove(w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	if ln.first == w {
		ln.at = 0
	}
	ls.unlink(w)
}

// moveUp takes w out of a line that has booked, and moves those behind it up by d. It is called
// between startReturn and endReturn.
func (ls *lines) moveUp(w *waiter, d time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	if w.gone {
		// Its instant came while it was given back. All who wait now were behind it, maybe in a new line.
		if ln = ls.all[ln.lineID]; ln != nil {
			ln.at -= int64(d)
			ln.lastAt -= int64(d)
			ln.first.signal()
		}
		return
	}
	if w.next != nil {
		w.next.gap -= int64(d)
		ln.lastAt -= int64(d)
	}
	ls.unlink(w)
}

// line is the line of that name, made if there is none.
func (ls *lines) line(id lineID) *line {
	ln := ls.all[id]
	if ln == nil {
		if ls.all == nil {
			ls.all = make(map[lineID]*line)
		}
		id.key = strings.Clone(id.key)
		ln = &line{lineID: id}
		ls.all[id] = ln
	}
	return ln
}

// insertAt inserts a waiter by its instant, after those of the same.
func (ls *lines) insertAt(ln *line, n int, at int64) *waiter {
	prev, prevAt := ln.last, ln.lastAt
	for prev != nil && prevAt > at {
		prevAt -= prev.gap
		prev = prev.prev
	}
	if prev == ln.last {
		ln.lastAt = at
	}
	w := ls.insert(ln, prev, n)
	if prev == nil {
		if w.next != nil {
			w.next.gap = ln.at - at
		}
		ln.at = at
		return w
	}
	w.gap = at - prevAt
	if w.next != nil {
		w.next.gap -= w.gap
	}
	return w
}

// insert inserts a waiter after prev, or as the first.
func (ls *lines) insert(ln *line, prev *waiter, n int) *waiter {
	w := &waiter{line: ln, prev: prev, n: n, wake: make(chan struct{}, 1)}
	if prev == nil {
		w.next, ln.first = ln.first, w
	} else {
		w.next, prev.next = prev.next, w
	}
	if w.next == nil {
		ln.last = w
	} else {
		w.next.prev = w
	}
	return w
}

// unlink takes w out of its line, leaves all others' instants as they are, and wakes a new first.
// The line ends with its last waiter.
func (ls *lines) unlink(w *waiter) {
	ln := w.line
	w.gone = true
	if w.next == nil {
		ln.last = w.prev
		ln.lastAt -= w.gap
	} else {
		w.next.prev = w.prev
		w.next.gap += w.gap
	}
	if w.prev != nil {
		w.prev.next = w.next
		return
	}
	ln.first = w.next
	switch {
	case ln.first == nil:
		delete(ls.all, ln.lineID)
	case ln.booked:
		ln.at += ln.first.gap
		ln.first.gap = 0
		ln.first.signal()
	default:
		ln.first.signal()
	}
}
