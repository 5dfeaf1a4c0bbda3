package weir

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// Return gives back n events of key that were granted before. Use it to count failures only: take
// before each login, and return after a success. Waiters that have not booked ask again at once. A
// key never gets more than its full allowance.
//
// Return does not name the grant; only a [Reservation] does. It gives back the latest events:
//
//   - Windows and [SlidingLog] free the latest events that they still count.
//   - A [TokenBucket] frees nothing while bookings of [KeyedLimiter.Wait] or [KeyedLimiter.Reserve]
//     lie ahead, or while the key is in debt.
//   - A [LeakyBucket] frees only the last event, and only if no other occupies the outlet.
//   - [All] frees them in every part, [Tiers] in the last tier that is not full.
//   - After a change of policy, the policy that granted last gives back first: at most as many
//     events as it granted and still counts. The rest goes to the policy before it.
//
// The caller must not give back more than was granted, and nothing twice. If the store fails, it is
// not known whether the events were given back.
//
// An n below 0 is an error. A ctx that has ended is not an error, because callers often give back
// after they were cancelled. The store then gets one second. Return is safe for concurrent use.
func (k *KeyedLimiter) Return(ctx context.Context, key string, n int) error {
	ctx, cancel := unended(ctx)
	defer cancel()
	err := k.check(ctx, n)
	if err == nil && n > 0 {
		_, err = k.giveBack(ctx, key, false, func(*line) (g giveBack, err error) {
			g.plan, err = k.plans.of(ctx, key)
			g.ask.N = -n
			return g, err
		})
	}
	return callError("Return of", n, err)
}

// Reset forgets a key. The key has its full allowance again, and no debt. Its waiters get new
// turns, in the same order.
//
// Reset also forgets earlier reservations of the key:
//
//   - A [Reservation] of this limiter that is settled later gives nothing back. It charges only the
//     events above those that it had booked.
//   - A Reservation of another limiter or process gives back as many events as it then finds, up to
//     its number.
//
// If the store fails, it is not known whether the key was forgotten. Reset can be called again. A
// ctx that has ended is an error. Reset is safe for concurrent use.
func (k *KeyedLimiter) Reset(ctx context.Context, key string) error {
	err := k.check(ctx, 0)
	if err == nil {
		err = k.renew(ctx, key, true)
	}
	if err == nil || err == errNotMade {
		return err
	}
	return fmt.Errorf("weir: Reset: %w", err)
}

// returnWithin is how long a call whose ctx has ended waits for a slow store to take its place
// back. After that the place stays booked.
const returnWithin = time.Second

// unended returns ctx. If ctx has ended, it returns a context with its values that ends soon.
func unended(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), returnWithin)
}

// A giveBack is events that are given back in one call: those of a grant, those of waiters that are
// about to leave, or both.
type giveBack struct {
	plan  *Plan // nil if there are none
	ask   Ask
	run   *run    // the last of the line, if its bookings are to move up
	first *waiter // of those
	start int64   // where it starts then
}

// giveBack gives back what name returns. Meanwhile no call books in the line of the key. It moves
// up the waiters behind. With alone it also excludes other calls with bookings to give back,
// because the events that are free depend on them.
//
// It reports whether it asked the store, or found that there is nothing to give back.
func (k *KeyedLimiter) giveBack(
	ctx context.Context, key string, alone bool, name func(*line) (giveBack, error),
) (asked bool, err error) {
	ln, ctx, err := k.lines.start(ctx, key, returning, 0)
	if err != nil {
		return false, err
	}
	defer k.lines.end(ln)
	if alone && k.lines.booksIn(ln) {
		select {
		case ln.giving <- struct{}{}:
			defer func() { <-ln.giving }()
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	g, err := name(ln)
	if err != nil || g.plan == nil {
		return err == nil, err
	}
	a, err := k.store.Do(ctx, Request{Plan: g.plan, Key: key, Ask: g.ask})
	if err == nil {
		k.lines.givenBack(ln, g, a)
	}
	return true, err
}

// booksIn reports whether a waiter in the line has booked.
func (ls *lines) booksIn(ln *line) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ln.booked != &ln.ends
}

// ofGrant gives back n events of a grant at the instant now of the store. If all later bookings are
// those of the last run of the line, these are to move up.
func (ls *lines) ofGrant(ln *line, g *grant, n int, now int64) giveBack {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if g.books() && ln.booked.run.follows(g.plan, g.end()) {
		if counting := g.counting(n, now); counting > 0 {
			back := ls.ofRun(ln, counting)
			if back.start = 0; n == g.n { // else the run follows what the grant keeps
				back.start = g.start()
			}
			return back
		}
	}
	return giveBack{plan: g.plan, ask: g.back(n)}
}

// ofWaiter gives back the place of w, which is about to leave, and the places of all others of the
// last run that are. Bookings behind a place of another run stay where they are.
func (ls *lines) ofWaiter(w *waiter) (back giveBack) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	switch r := w.line.booked.run; {
	case w.gone:
	case w.run == nil || w.run != r || r.degraded:
		ls.unlink(w)
	default:
		back = ls.ofRun(w.line, 0)
	}
	return back
}

// ofRun takes the waiters of the last run that are about to leave out of the line. It gives back
// their events, and n that were booked before the run.
func (ls *lines) ofRun(ln *line, n int) giveBack {
	r, w, behind := ln.booked.run, ln.booked, 0
	for ; w.run == r; w = w.prev {
		if w.leaving {
			behind += min(w.n, math.MaxInt-behind)
			ls.unlink(w)
		} else {
			w.behind = behind
		}
	}
	n += min(behind, math.MaxInt-n)
	return giveBack{r.plan, r.back(n), r, w.next, r.start}
}

// givenBack moves up the waiters of the last run, as the answer says. Each moves by the share of
// the events before its own, but not past the waiter before it. Waiters that have not booked ask at
// once.
func (ls *lines) givenBack(ln *line, g giveBack, a Answer) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	at := ln.watcher.at
	// Even where nobody moves up by a whole nanosecond, the run may end sooner.
	if end := exact.After(a.At, a.ResetAfter); g.run != nil && (a.Delay > 0 || end < g.run.end) {
		g.run.start, g.run.end = g.start, min(end, g.run.end-int64(a.Delay))
		first, all := g.first, -g.ask.N
		for first.gone { // meanwhile
			first = first.next
		}
		for w := first; w.run == g.run; w = w.next {
			up := int64(exact.Portion(uint64(a.Delay), uint64(all-w.behind), uint64(all)))
			w.at = max(w.at-up, w.prev.at)
		}
		first.merge()
	}
	if ln.watcher.at < at {
		ln.watcher.signal()
	}
	ln.askNow()
}
