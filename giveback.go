package weir

import (
	"context"
	"fmt"
	"time"
)

// Return gives back n events of key that were granted before, because they are not to count after
// all: of logins, only those that failed. Those who wait have them at once. It never makes more
// than a full allowance.
//
// Policies that count by time give back the latest events that they count: which ones are meant is
// known only to a [Reservation].
//
// It is for the caller to see that nothing is given back twice, or without having been granted. On
// an error of the store it is not known whether it counted. An n below 0 is an error. Since who
// gives back has often been cancelled before, a ctx that has ended is none: the store then gets a
// second's time. It is safe for concurrent use.
func (k *Keyed) Return(ctx context.Context, key string, n int) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	if n < 0 {
		return fmt.Errorf("weir: Return of %d events, must be at least 0", n)
	}
	if n == 0 {
		return nil
	}
	ctx, cancel := unended(ctx)
	defer cancel()
	if _, err := k.giveBack(ctx, key, n, 0, spot{}); err != nil {
		return fmt.Errorf("weir: Return of %d events: %w", n, err)
	}
	return nil
}

// Reset forgets a key: it has its full allowance again, as if never seen, and owes nothing. Those
// who wait for it are given new turns, in the same order. What was reserved before is forgotten,
// too; a [Reservation] that is settled later gives back, or charges, the difference all the same.
//
// On an error of the store it is not known whether the key was forgotten; it can be tried again. A
// ctx that has ended is an error. It is safe for concurrent use.
func (k *Keyed) Reset(ctx context.Context, key string) error {
	if k == nil || k.store == nil {
		return errNotMade
	}
	err := ctx.Err()
	if err == nil {
		err = k.renew(ctx, key, true)
	}
	if err != nil {
		return fmt.Errorf("weir: Reset: %w", err)
	}
	return nil
}

// unended is ctx, or if that has ended already, one of its values that ends soon.
func unended(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), returnWithin)
}

// giveBack gives back n events that were granted at an instant, zero if it is not known, and moves up
// those who wait behind the spot. It reports false if it did not come to ask the store.
func (k *Keyed) giveBack(ctx context.Context, key string, n int, grantedAt int64, p spot) (asked bool, err error) {
	ctx, err = k.lines.start(ctx, key, returning)
	if err != nil {
		return false, err
	}
	defer k.lines.end(key)
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return false, err
	}
	a, err := k.store.Do(ctx, Request{Scope: scope, Key: key, Ask: Ask{N: -n, GrantedAt: grantedAt}})
	if err == nil {
		k.lines.givenBack(scope, key, p, a.Delay)
	}
	return true, err
}

// A spot is where one who has booked without joining the line stands among those in it. The zero spot
// is ahead of all.
type spot struct {
	line  *line   // when all in it book anew they make another line, and are behind
	ahead *waiter // the last who was in the line then, and so ahead
}

// lastSpot is the spot behind all those who have booked. It is called while nobody joins them.
func (ls *lines) lastSpot(key string) spot {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ln := ls.all[lineID{key, true}]
	if ln == nil {
		return spot{}
	}
	return spot{ln, ln.last}
}

// next is the first in the line of those behind the spot, or nil.
func (p spot) next(ln *line) *waiter {
	if p.line != ln {
		return ln.first
	}
	w := p.ahead
	for w != nil && w.gone { // then the one that was before it is the last who is ahead
		w = w.prev
	}
	if w == nil {
		return ln.first
	}
	return w.next
}

// givenBack moves up by d those who have booked behind the spot, and lets the first of those who
// ask again do so at once. It is called while it is returning.
func (ls *lines) givenBack(s *Scope, key string, p spot, d time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ln := ls.all[lineID{key, false}]; ln != nil {
		ln.at = 0
		ln.retimings++ // if it is asking just now, a denial is out of date
		ln.first.signal()
	}
	ln := ls.all[lineID{key, true}]
	if ln == nil || !ln.scope.equals(s) {
		return // nobody, or they have yet to be given new turns by the policy that told d
	}
	w := p.next(ln)
	switch {
	case w == nil:
		return
	case w == ln.first:
		up := min(int64(d), max(ln.at, 0))
		ln.at -= up
		ln.lastAt -= up
	default:
		up := min(int64(d), w.gap)
		w.gap -= up
		ln.lastAt -= up
	}
	ln.changed(w)
}
