// Package line keeps the callers that wait for a key: their order, which of them may ask the store,
// and when the turn of a booked place comes.
//
// The order is that in which the callers came. gate.go decides when each of their calls of the
// store may start, and place.go gives each caller its place. The store's answer to a booking says
// at which instant the caller goes ahead. The calls of a client of httplimit, grpclimit or
// connectlimit also have a line in front of the limiter, in package edge.
//
// It knows no store, no policy and no limiter's clock. Its callers bring instants, and what the
// store has answered; it returns turns. All instants are nanoseconds since the Unix epoch. They are
// by the clock of the limiter, unless a comment says that they are by the clock of the store.
//
// Its tests compare a line with a slice of instants, and play scripts of callers that come and go.
package line

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// never is an instant that does not come.
const never = math.MaxInt64

// Lines are the waiting callers of a limiter, a line for each key. The zero value is ready. All
// methods of this package are safe for concurrent use.
type Lines struct {
	Remote bool // the store is no MemStore, and may take long; set before use

	mu      sync.Mutex
	all     map[string]*Line // of the keys that have waiters, or for which an activity is under way
	size    atomic.Int64     // of all
	spare   *Line            // one that no call knows any more, or nil: to make one takes longer than all else
	tickets atomic.Uint64    // of the waiters that have come, and that have joined, in their order
}

// A Line is the waiters for one key, in the order in which they came. Waiters that have booked come
// first, and go at their instants. Of the others, the first asks the store. It asks when no waiter
// is before it, or when those before it have booked by its policy. When it has booked, the next
// asks. In this way waiters also book in a line that never empties.
//
// Its fields are guarded by the mutex of its Lines, except giving.
type Line struct {
	*Lines
	key     string
	ends    Waiter  // no waiter: its next is the first of the line, and its prev the last
	booked  *Waiter // the last waiter that has booked, or &ends
	watcher *Waiter // the first waiter that is not about to leave, or &ends: it watches the time
	askAt   int64   // when the first of those who have not booked may ask, if it need not wait until it watches the time

	known   bool      // to a waiter, or to a call that has waited, and so perhaps after its last activity has ended
	ordered int       // of the batch under way, how many bookings have started one after the other; 0 if all start at once
	began   time.Time // when the first of these started, with a Remote store
	kind    Activity  // of the activities under way,
	active  int       // so many
	next    []*batch  // those that wait for them to end

	// giving is held by the call that gives back, because what each call can free depends on the
	// calls before. It is made when the first waiter books, and so not during a give-back.
	giving chan struct{}
}

// A Waiter is one place in a line.
type Waiter struct {
	Ctx context.Context // of its caller; the policy may depend on it
	N   int             // events

	lines      *Lines
	line       *Line // nil until it comes there
	prev, next *Waiter
	run        *run          // the bookings that it belongs to, if it has booked
	own        int64         // and when, as the store has it
	at         int64         // the same, but not before the waiter before it
	goes       exact.Uint128 // and when exactly, by the clock of the store, in units of the rate
	ahead      int           // Ahead of its Pace
	behind     int           // of the events that are being given back, those behind its own
	in         uint64        // its ticket: when it came
	joined     uint64        // and when it joined the line
	err        error         // why it has no turn, once it is gone, or why it is about to leave
	leaving    bool          // is about to leave, and no longer watches the time
	gone       bool          // has left the line, or does not join it
	wake       chan struct{} // signals that it was granted, or is to look at the line again
}

// NewWaiter returns a waiter for n events that comes now. It stands before later waiters, even if
// it has to wait for calls that are under way. The order of waiters whose calls of the store start
// at the same time is that in which the store decides.
func (ls *Lines) NewWaiter(ctx context.Context, n int) *Waiter {
	return &Waiter{Ctx: ctx, N: n, lines: ls, in: ls.tickets.Add(1)}
}

// Wake receives a signal when the waiter is to look at its turn.
func (w *Waiter) Wake() <-chan struct{} { return w.wake }

// Err is why a waiter that has left, or is about to, has no turn. It is nil if the waiter is
// granted.
func (w *Waiter) Err() error {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.err
}

// isNew reports whether w has not joined its line yet: it has not come, or asks for the first time.
func (w *Waiter) isNew() bool { return w.next == nil && !w.gone }

// Key is the key of the line.
func (ln *Line) Key() string { return ln.key }

// Empty reports whether a key has no line: no waiters, and no activity under way.
func (ls *Lines) Empty(key string) bool {
	if ls.size.Load() == 0 {
		return true
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.all[key] == nil
}

// Keys returns the keys that have waiters, or get some from a call that is under way.
func (ls *Lines) Keys() []string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var keys []string
	for key, ln := range ls.all {
		if !ln.empty() || ln.active > 0 && ln.kind == Joining {
			keys = append(keys, key)
		}
	}
	return keys
}

func (ln *Line) empty() bool { return ln.ends.next == &ln.ends }

// tidy forgets a line that has no waiters and no activity under way.
func (ln *Line) tidy() {
	if ln.empty() && ln.active == 0 {
		delete(ln.all, ln.key)
		ln.size.Store(int64(len(ln.all)))
		if !ln.known {
			ln.spare = ln
		}
	}
}

// insert inserts w after prev.
func (ln *Line) insert(prev, w *Waiter) {
	w.joined, w.wake = ln.tickets.Add(1), make(chan struct{}, 1)
	w.prev, w.next = prev, prev.next
	w.prev.next, w.next.prev = w, w
	if w.first() {
		ln.watcher = w
	}
}

// first reports whether all waiters before w are about to leave.
func (w *Waiter) first() bool {
	before := w.prev
	for before.leaving {
		before = before.prev
	}
	return before == &w.line.ends
}

// unlink takes w out of its line, if it is still in it, and signals it. If w watched the time, the
// next does.
func (w *Waiter) unlink() {
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
	ln.tidy()
}

func (w *Waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it has a signal that it has not seen yet, or is no waiter
	}
}

// askNow lets the first waiter that has not booked ask at once.
func (ln *Line) askNow() {
	ln.askAt = 0
	ln.booked.next.signal()
}

// watch lets the first waiter from w on that is not about to leave watch the time. If that one has
// not booked, it may ask at once.
func (ln *Line) watch(w *Waiter) {
	for w.leaving {
		w = w.next
	}
	ln.watcher = w
	if w.run == nil {
		ln.askAt = 0
	}
	w.signal()
}
