package weir

import (
	"errors"
	"strings"
	"sync"
	"time"
)

// lines are the callers of a limiter that wait. The zero value is ready.
type lines struct {
	mu    sync.Mutex
	all   map[lineID]*line // those that somebody waits in
	gates map[string]*gate // of the keys for which something is under way
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

	scope     *Scope // by which they have been told their turns; nil if not all by the same
	retimings int    // how often the policy has changed
	frozen    bool   // it is changing: nobody has his turn until all have a new one
}

// A waiter is one place in a line.
type waiter struct {
	line       *line
	prev, next *waiter
	n          int
	asking     bool          // unbooked: is asking the store
	err        error         // why it is denied its turn, once it is gone
	gap        int64         // booked: how long its instant is after that of prev
	gone       bool          // has left the line
	leaving    bool          // booked: is about to, and does not watch the time any more
	wake       chan struct{} // signals that it was granted, is to watch the time, or moved up as the one who does
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
	first               // the first, or behind none but those who leave; its instant is yet to come
	mayAsk              // the first of a line that has not booked, whose instant has come
	granted             // booked, and its instant has come
	failed              // denied its turn by w.err
)

var errNotYet = errors.New("denied again")

// turn tells how it stands with w, and how long until its instant if it is the first. It sends off
// all those whose booked instant has come.
func (ls *lines) turn(w *waiter, now int64) (turn, time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	for ln.booked && !ln.frozen && ln.first != nil && ln.at <= now {
		ln.first.signal()
		ls.unlink(ln.first)
	}
	switch {
	case w.err != nil:
		return failed, 0
	case w.gone:
		return granted, 0
	case ln.frozen:
		return behind, 0
	}
	at, watches := ln.watches(w)
	switch {
	case !watches:
		return behind, 0
	case at <= now:
		w.asking = true
		return mayAsk, 0
	default:
		return first, time.Duration(at - now)
	}
}

// leaves tells that w, which has booked, is about to leave. That may take a while, in which somebody else is to
// watch the time.
func (ls *lines) leaves(w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if w.leaving = true; !w.gone {
		w.line.changed(w)
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
	w := newWaiter(n)
	ls.insert(ln, ln.last, w)
	return w, nil
}

// open puts a waiter that was denied until at at the end of the line of those who ask again. The
// most that are granted at once is limit.
func (ls *lines) open(s *Scope, key string, n int, at int64, limit int) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w := newWaiter(n)
	ls.append(key, w, at, limit)
	w.line.toldBy(s)
	return w
}

// append puts w at the end of the key's line of those who ask again. If it has no other, it asks at the
// instant at.
func (ls *lines) append(key string, w *waiter, at int64, limit int) {
	ln := ls.line(lineID{key, false})
	if ln.first == nil {
		ln.at, ln.limit = at, limit
	}
	ls.insert(ln, ln.last, w)
}

// joinBooked puts a waiter that has booked the instant at into the line, after all those whose
// instant is not later.
func (ls *lines) joinBooked(s *Scope, key string, n int, at int64) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w := newWaiter(n)
	ls.insertAt(ls.line(lineID{key, true}), w, at)
	w.line.toldBy(s)
	return w
}

// postpone lets w, the first of its line, which was denied, ask again at the instant at. If the
// policy has changed since w saw the line retimed so often, the denial is out of date.
func (ls *lines) postpone(w *waiter, at int64, limit, retimings int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w.asking = false
	if w.line.retimings == retimings {
		w.line.at, w.line.limit = at, limit
	}
}

// retimings is how often the policy has changed since the line of w was opened.
func (ls *lines) retimings(w *waiter) int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return w.line.retimings
}

// remove takes w out of a line that has not booked. If it was the first, the next may ask. It
// reports false if w has booked, or is about to.
func (ls *lines) remove(w *waiter) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	switch {
	case w.err != nil:
		return true
	case ln.booked || ln.frozen && !w.asking:
		return false
	}
	if ln.first == w {
		ln.at = 0
	}
	ls.unlink(w)
	return true
}

// moveUp takes w out of a line that has booked, and moves those behind it up by d. It is called
// while it is returning.
func (ls *lines) moveUp(w *waiter, d time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := w.line
	if w.gone {
		// Its instant came while it was given back. All who wait now were behind it, maybe in a new line.
		if ln = ls.all[ln.lineID]; ln != nil {
			ln.at -= int64(d)
			ln.lastAt -= int64(d)
			ln.signalFirst()
		}
		return
	}
	if w.next != nil {
		w.next.gap -= int64(d)
		ln.lastAt -= int64(d)
		ln.changed(w)
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
