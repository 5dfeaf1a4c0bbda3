package weir

import (
	"context"
	"errors"
	"math"
	"slices"
)

// A turnAt is the new turn of one who waits, after the policy has changed.
type turnAt struct {
	*waiter
	booked bool
	at     int64
	limit  int   // if not booked
	err    error // or none
}

// retime gives those who wait for a key new turns, after the policy has changed. What they have
// booked is given back, and each books again, in the same order. Meanwhile nobody joins or leaves.
func (k *Keyed) retime(ctx context.Context, key string) error { return k.renew(ctx, key, false) }

// renew is retime, or if the key is to be forgotten, the same with all that it has used.
func (k *Keyed) renew(ctx context.Context, key string, forget bool) error {
	waited, err := k.lines.start(ctx, key, retiming)
	if err != nil {
		return err
	}
	defer k.lines.end(key)
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return err
	}
	waiters, booked := k.lines.freeze(key)
	turns := make([]turnAt, 0, len(waiters))
	defer func() { k.lines.thaw(scope, key, turns) }()
	if booked > 0 || forget {
		r := Request{Scope: scope, Key: key, Ask: Ask{N: -booked}, Forget: forget}
		asking := ctx // for those who wait: for whatever has been waited here, they are to stay in one store
		if forget {
			asking = waited
		}
		if _, err := k.store.Do(asking, r); err != nil {
			return err
		}
	}
	var faults error
	for i, w := range waiters {
		if i > 0 && turns[i-1].err == nil && !turns[i-1].booked {
			turns = append(turns, turnAt{waiter: w, limit: math.MaxInt}) // asks when it is first
			continue
		}
		t := turnAt{waiter: w, limit: math.MaxInt}
		a, now, err := k.ask(ctx, scope, key, Ask{N: w.n, MaxWait: math.MaxInt64})
		switch {
		case err != nil && ctx.Err() != nil: // which is not that of w: it asks when it is first
			faults = errors.Join(faults, err)
		case err != nil:
			t.err = err
			faults = errors.Join(faults, err)
		case a.Allowed:
			t.booked, t.at = true, saturatingAdd(now, a.Delay)
		default:
			t.err = refused(a, w.n, math.MaxInt64)
			t.at, t.limit = saturatingAdd(now, a.RetryAfter), a.Limit
		}
		turns = append(turns, t)
	}
	return faults
}

// keys are those that somebody waits for.
func (ls *lines) keys() []string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var keys []string
	for id := range ls.all {
		if id.booked || ls.all[lineID{id.key, true}] == nil {
			keys = append(keys, id.key)
		}
	}
	return keys
}

// outdated tells whether those who wait for a key have been told their turns by another scope.
func (ls *lines) outdated(s *Scope, key string) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, isBooked := range []bool{false, true} {
		if ln := ls.all[lineID{key, isBooked}]; ln != nil && !ln.scope.equals(s) {
			return true
		}
	}
	return false
}

// freeze halts the lines of a key. It returns those who wait in them, in the order in which they
// go, and how many events they have booked. It leaves out one that is asking the store just now; if
// that is denied, it asks again.
func (ls *lines) freeze(key string) (waiters []*waiter, booked int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, isBooked := range []bool{false, true} {
		ln := ls.all[lineID{key, isBooked}]
		if ln == nil {
			continue
		}
		ln.frozen = true
		ln.retimings++
		if !isBooked {
			ln.at, ln.limit = 0, math.MaxInt
		}
		for w := ln.first; w != nil; w = w.next {
			if !w.asking {
				waiters = append(waiters, w)
			}
			if isBooked {
				booked += w.n
			}
		}
	}
	return waiters, booked
}

// thaw gives those who have waited their new turns, and ends the halt.
func (ls *lines) thaw(s *Scope, key string, turns []turnAt) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	turns = slices.DeleteFunc(turns, func(t turnAt) bool {
		return t.gone // it could not wait for the end of this, and so has lost its place
	})
	for _, t := range turns {
		ls.unlink(t.waiter)
	}
	for _, t := range turns {
		t.gone = t.err != nil
		switch {
		case t.err != nil:
			t.waiter.err = t.err
			t.signal()
		case t.booked:
			ls.insertAt(ls.line(lineID{key, true}), t.waiter, t.at)
		default:
			ls.append(key, t.waiter, t.at, t.limit)
		}
		if t.err == nil {
			t.line.scope = s
		}
	}
	for _, isBooked := range []bool{false, true} {
		if ln := ls.all[lineID{key, isBooked}]; ln != nil {
			ln.frozen = false
			ln.signalFirst()
		}
	}
}
