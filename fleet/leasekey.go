package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A leasedKey is a key that is watched, and leased while it is busy.
type leasedKey struct {
	*terms
	set   *leaseSet
	key   string
	lease atomic.Pointer[lease]

	mu       sync.Mutex // guards what follows, and that a lease is replaced once
	flight   *flight    // the call to the store that is under way, or nil
	line     []*rider   // requests that wait, and for which the flight does not ask
	left     int        // how many of them have left
	failed   bool       // the last call failed
	other    bool       // the last answer was by another store or limit; see byAnother
	reopened bool       // events were given back since the call that is under way was sent
	evicted  bool       // from the table: it is not leased any more
	demand
	watched

	backs pending // give-backs that are under way
}

// A flight is a call to the store for a key. There is one at a time. Requests that come meanwhile
// wait until it has landed. They then take events that it has brought, or wait for the next flight,
// which asks for their events, too.
type flight struct {
	landed chan struct{} // closed when it has
	err    error         // for all who wait; set before
	first  *rider        // for whom it asks; nil if it does not ask
	line   []*rider      // the others for whom it asks, in their order
	waits  int           // how many of them all still wait
	cancel func()        // ends its context
}

// idleSince returns when the key was last asked for, and whether the key may be dropped. It may be
// if the process holds no events that can still be used or given back, and no call is under way. It
// must also not have been asked for within the time of a lease: if more keys are busy than there is
// room for, and each drove out another, none of them would be leased. If drop is set, a key that
// may be dropped is then no longer leased.
func (k *leasedKey) idleSince(drop bool) (seen int64, idle bool) {
	k.mu.Lock()
	defer k.mu.Unlock() // even if the clock panics
	now := k.plan.Now()
	if l := k.lease.Load(); l != nil {
		unused := int(max(l.left.Load(), 0)) + l.dead
		if l.valid(now) > 0 || now < l.retryAt || k.returnable(l, unused) > 0 {
			return 0, false
		}
	}
	idle = k.flight == nil && !k.backs.any() && now-k.demand.at >= int64(k.time)
	k.evicted = k.evicted || drop && idle
	return k.demand.at, idle
}

// A way is how a request for a leased key goes on.
type way int

const (
	decided way = iota
	pass        // to the store, alone
	lead        // to the store, for all
	ride        // with those who wait
)

// board decides on n events, or returns the way to go, and the flight if there is one. who is the
// rider of the request, or nil if the request has just come.
func (s *LeaseStore) board(k *leasedKey, n int, who *rider) (w way, f *flight, next *rider, a weir.Answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if who != nil && who.decided {
		return decided, nil, who, who.answer
	}
	now := k.plan.Now()
	a.At = now
	w = pass
	if l := k.lease.Load(); l != nil {
		if r, ok := l.take(n, now); ok {
			w, a.Result = decided, r
		} else if left, ok := s.renew(k, l, n, now); ok {
			w, a.Result = decided, l.granted(left, now)
		}
	}
	switch {
	case w == decided:
	case k.flight != nil:
		if who == nil {
			who = &rider{n: n}
			k.line = append(k.line, who)
		}
		return ride, k.flight, who, a
	case !k.other && !k.evicted && k.set.resets.Load() == 0 && !s.released.Load() && k.busy(n, now):
		if who == nil {
			who = &rider{n: n}
		}
		f = &flight{landed: make(chan struct{}), first: who, waits: 1}
		who.flight, k.flight = f, f
		return lead, f, who, a
	}
	if who != nil { // the next call may already ask for it
		k.depart(who)
	}
	return w, nil, who, a
}

// renew takes n of the events that may be used now, if there are as many, and puts a lease of the
// others in the place of l. It requires that k.mu is held.
func (s *LeaseStore) renew(k *leasedKey, l *lease, n int, now int64) (left int, ok bool) {
	if l.valid(now) < n {
		return 0, false
	}
	left, dead := k.end(l)
	valid := min(left, l.hold.Left(time.Duration(now-l.sent)))
	dead += left - valid
	if ok = valid >= n; ok {
		valid -= n
		k.uncounted += int64(n)
		k.save(wholeCall)
	}
	k.put(l.next(valid, dead, now))
	return valid, ok
}

// end closes the lease l, and counts what was asked for since. It requires that k.mu is held.
func (k *leasedKey) end(l *lease) (left, dead int) {
	left, dead = l.end()
	k.count(l, left)
	return left, dead
}

// drop closes the lease of the key, if there is one, and returns it with its unused events. It
// requires that k.mu is held.
func (k *leasedKey) drop() (l *lease, unused int) {
	if l = k.lease.Swap(nil); l != nil {
		left, dead := l.end()
		unused = left + dead
	}
	return l, unused
}

// put puts l in the place of a lease that is closed. It requires that k.mu is held.
func (k *leasedKey) put(l *lease) {
	k.counted = 0
	k.lease.Store(l)
}

// reopen ends the denials of a key, whose events were given back.
func (k *leasedKey) reopen() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reopened = true
	now := k.plan.Now()
	if l := k.lease.Load(); l != nil && k.flight == nil && now < l.retryAt {
		left, dead := k.end(l)
		next := l.next(left, dead, now)
		next.askAt, next.retryAt = 0, 0
		k.put(next)
	}
}

// alone returns a flight when no other is under way.
func (k *leasedKey) alone(ctx context.Context) (*flight, error) {
	for {
		k.mu.Lock()
		f := k.flight
		if f == nil {
			f = &flight{landed: make(chan struct{})}
			k.flight = f
			k.mu.Unlock()
			return f, nil
		}
		k.mu.Unlock()
		select {
		case <-f.landed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errNoReply = errors.New("weir: the store behind the Lease ended its goroutine")

// panicked is the error for a panic of the store.
func panicked(p any) error {
	return fmt.Errorf("weir: the store behind the Lease panicked: %v\n%s", p, debug.Stack())
}

// land ends a flight. All who wait for it get err, if it is not nil.
func (k *leasedKey) land(f *flight, failed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = failed
	k.queue(f)
	f.err = err
	k.flight = nil
	close(f.landed)
}
