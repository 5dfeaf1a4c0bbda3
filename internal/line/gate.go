package line

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// An Activity is work under way for a key that concerns its waiters. Activities of one kind may run
// at the same time, except renewals. They never overlap with those of another kind.
//
// When a place is given back, the waiters that have booked may move up. This depends on which came
// first, the booking or the return, and only the store knows that. A return therefore waits for the
// bookings under way, and bookings wait for the returns.
type Activity int

const (
	Joining   Activity = iota // a waiter joins the line, with or without a booking, or asks again
	Returning                 // events are given back, or booked without joining the line
	Renewing                  // all waiters get new turns: the policy has changed, or the key was reset
)

// A batch is activities of one kind that wait until those under way for a key have ended. At most
// one batch of bookings and one of returns that have not begun wait. However many come, returns and
// renewals therefore wait for the rest of one batch of bookings, and for one more. Bookings wait
// for one batch of returns, and for the renewals that came before. All wait on channels, because a
// call of the store may take long.
//
// Bookings of a batch start one after the other, in the order in which their callers came. The
// store could otherwise grant them in another. For the same reason, callers that come while the
// last of them books wait for it.
//
// A store over a network may take so long that callers come faster than bookings start in this way.
// More and more would wait. If more have come since the batch began than bookings have started, all
// of them start at once. The order is then that in which the store decides. The same holds for the
// rest of a batch after the time inOrder: many may have come at once, and nobody later.
type batch struct {
	kind    Activity
	callers []*caller // that have not started
	since   time.Time // the first of them has waited
	begun   bool
}

// inOrder is how long bookings of a batch start one after the other, if the store is Remote.
const inOrder = time.Second

type caller struct {
	n     int           // events that it will ask for
	start chan struct{} // closed when it may start
}

// Start waits until an activity of the kind may start, and End ends it. Between them the line of
// the key is kept. w is the waiter that joins or leaves, or nil. Start fails if ctx ends before, or
// if another call serves w meanwhile. It returns since when the caller has waited in real time, or
// zero if it has not.
//
// All callers of a batch count as waiting since the first of them came. A caller in the next batch
// then does not wait longer because of callers that joined this batch late.
func (ls *Lines) Start(ctx context.Context, key string, kind Activity, w *Waiter) (ln *Line, since time.Time, err error) {
	n, wake := 0, (<-chan struct{})(nil)
	if w != nil {
		n, wake = w.N, w.wake
	}
	ln, b, c := ls.enter(key, kind, n)
	if b == nil {
		return ln, since, nil
	}
	for {
		select {
		case <-c.start:
			return ln, b.since, nil
		case <-wake:
			if w.served() && ln.giveUp(b, c) {
				return nil, since, errServed
			}
		case <-ctx.Done():
			if ln.giveUp(b, c) {
				return nil, since, ctx.Err()
			}
			return ln, b.since, nil
		}
	}
}

var errServed = errors.New("the waiter has been served")

// served reports whether w was granted, or has failed while it was not about to leave.
func (w *Waiter) served() bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.gone && (w.err == nil || !w.leaving)
}

// enter returns the line of the key, and the batch to wait in and the place there, or none if an
// activity of the kind may start now.
func (ls *Lines) enter(key string, kind Activity, n int) (*Line, *batch, *caller) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.all[key]
	if ln == nil {
		if ls.all == nil {
			ls.all = make(map[string]*Line)
		}
		if ln = ls.spare; ln == nil {
			ln = &Line{Lines: ls}
			ln.ends.prev, ln.ends.next, ln.booked, ln.watcher = &ln.ends, &ln.ends, &ln.ends, &ln.ends
		}
		ls.spare = nil
		ln.key = strings.Clone(key)
		ls.all[ln.key] = ln
		ls.size.Store(int64(len(ls.all)))
	}
	if ln.active == 0 || len(ln.next) == 0 && ln.kind == kind && kind != Renewing && ln.ordered == 0 {
		ln.kind = kind
		ln.active++
		return ln, nil, nil
	}
	ln.known = true
	c := &caller{n, make(chan struct{})}
	for _, b := range ln.next {
		if b.kind == kind && kind != Renewing && !b.begun {
			b.callers = append(b.callers, c)
			if ls.Remote && kind == Joining && len(b.callers) > ln.ordered {
				ln.together(math.MaxInt)
			}
			return ln, b, c
		}
	}
	b := &batch{kind: kind, callers: []*caller{c}, since: time.Now()}
	ln.next = append(ln.next, b)
	return ln, b, c
}

// giveUp takes one activity out of a batch. It reports false if it has started.
func (ln *Line) giveUp(b *batch, c *caller) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	i := slices.Index(b.callers, c)
	if i < 0 {
		return false
	}
	if b.callers = slices.Delete(b.callers, i, i+1); len(b.callers) == 0 {
		i = slices.Index(ln.next, b)
		ln.next = slices.Delete(ln.next, i, i+1)
	}
	return true
}

// End ends an activity.
func (ln *Line) End() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.active--; ln.active > 0 {
		return
	}
	if ln.kind == Renewing {
		ln.watcher.signal()
		if asks := ln.booked.next; asks != ln.watcher {
			asks.signal() // if the renewal failed it may have asked nobody
		}
	}
	if len(ln.next) == 0 || !ln.next[0].begun {
		ln.ordered = 0
	}
	if len(ln.next) > 0 {
		b := ln.next[0]
		ln.kind, b.begun = b.kind, true
		if b.kind == Joining {
			if ln.ordered == 0 && ln.Remote {
				ln.began = time.Now()
			}
			ln.ordered++
			ln.startNext(1)
			if ln.Remote && time.Since(ln.began) >= inOrder {
				ln.together(math.MaxInt)
			}
		} else {
			ln.startNext(len(b.callers))
		}
	}
	ln.tidy()
}

// startNext starts the first n of the batch that is next.
func (ln *Line) startNext(n int) {
	b := ln.next[0]
	for _, c := range b.callers[:n] {
		close(c.start)
	}
	ln.active += n
	if b.callers = b.callers[n:]; len(b.callers) == 0 {
		ln.next = ln.next[1:]
	}
}

// together ends the order in which bookings start, as far as there are events left for all that
// wait to start: it cannot matter then.
func (ln *Line) together(left int) {
	if ln.ordered == 0 {
		return
	}
	for len(ln.next) > 0 && ln.next[0].kind == Joining {
		callers := ln.next[0].callers
		for _, c := range callers {
			if c.n > left {
				return
			}
			left -= c.n
		}
		ln.startNext(len(callers))
	}
	ln.ordered = 0
}

// renews reports whether all waiters are being given new turns. Until then none has a turn.
func (ln *Line) renews() bool { return ln.active > 0 && ln.kind == Renewing }
