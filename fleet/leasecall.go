package fleet

import (
	"context"
	"time"

	"github.com/weir-go/weir"
)

// take decides on all or none of r.N events.
func (s *LeaseStore) take(ctx context.Context, k *leasedKey, r weir.Request) (weir.Answer, error) {
	for who := (*rider)(nil); ; {
		way, f, next, a := s.board(k, r.N, who)
		who = next
		switch way {
		case decided:
			return a, nil
		case pass:
			sent := a.At
			a, err := s.store.Do(ctx, r)
			if err == nil {
				k.note(a, sent)
			}
			return a, err
		case lead:
			// It goes on when this caller leaves, because others may wait for it.
			c := &call{LeaseStore: s, leasedKey: k, flight: f}
			c.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
			go c.run()
		}
		var err error
		select {
		case <-f.landed:
			err = f.err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			k.leave(who)
			if who.decided {
				return who.answer, nil
			}
			return weir.Answer{}, err
		}
	}
}

// A call asks the store for the events of a request, and for those that others will need. It has a
// goroutine of its own.
type call struct {
	*LeaseStore
	*leasedKey
	flight *flight
	ctx    context.Context

	sent    int64
	charges []weir.Charge
	asked   int // of the store
	need    int // of those, not taken ahead of need
	granted int // by the store
	got     grant

	old  *lease // the earlier lease, which is closed; nil if there was none
	held int    // the events that old had left
}

// run asks the store, and lands.
func (c *call) run() {
	err := errNoReply
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		failed := err != nil
		if c.ctx.Err() != nil { // no request waited for it, and requests that have come since ask again
			err = nil
		}
		c.flight.cancel()
		c.land(c.flight, failed, err)
	}()
	err = c.decideFirst()
}

// decideFirst asks the store. Meanwhile, events of the earlier lease may have become invalid. If
// the first request is for several events, and some of them are then missing, it asks for the
// missing ones, all or none.
func (c *call) decideFirst() error {
	ask, n := c.ask(), c.flight.first.n
	a, err := c.do(ask)
	if err != nil {
		return err
	}
	switch {
	case ask.Mode == weir.UpTo:
		c.granted = a.Granted
	case a.Allowed:
		c.granted = ask.N
	}
	c.close(a)
	left := c.unused() + c.granted
	if missing := n - left; missing > 0 && c.granted > 0 {
		if c.granted == ask.N || a.Degraded && c.granted == c.need { // all that was asked for, see needed
			return c.rest(a, missing)
		}
		a.RetryAfter = c.earned(missing, a) // the store has no more
	}
	used := 0
	if a.Allowed = left >= n; a.Allowed {
		used, a.RetryAfter = n, 0
	}
	c.publish(a, left-used, used, nil)
	return nil
}

// rest asks for the events that are missing after the answer a.
func (c *call) rest(a weir.Answer, missing int) error {
	var charges []weir.Charge
	sent := c.plan.Now()
	rest, err := c.do(weir.Ask{N: missing, Charges: &charges})
	left := c.unused() + min(c.granted, c.got.hold.Left(time.Duration(c.plan.Now()-c.sent)))
	used := left
	switch {
	case err != nil:
		c.publish(a, left, 0, err)
		return err
	case !rest.Allowed:
		c.publish(rest, left, 0, nil)
		return nil
	case left+missing < c.flight.first.n:
		// The events from before were counted in a window that is over now. The missing events
		// alone are too few: all are asked for again.
		c.unneeded(c.grantOf(rest, missing, charges, sent), missing)
		used, missing, charges, sent = 0, c.flight.first.n, nil, c.plan.Now()
		if rest, err = c.do(weir.Ask{N: missing, Charges: &charges}); err != nil {
			c.publish(a, 0, 0, err)
			return err
		}
	}
	rest.Degraded = rest.Degraded || c.got.degraded
	if waits := c.publish(rest, 0, used, nil); !waits && rest.Allowed {
		c.unneeded(c.grantOf(rest, missing, charges, sent), missing)
	}
	return nil
}

// do asks the store. A panic is an error, after which what was granted before is kept.
func (c *call) do(ask weir.Ask) (a weir.Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	ctx := c.ctx
	if ask.Mode == weir.UpTo {
		ctx = context.WithValue(ctx, neededNow{}, c.need)
	}
	return c.store.Do(ctx, weir.Request{Plan: c.plan, Key: c.key, Ask: ask})
}

// neededNow is the key of a context for how many events of a request are needed now.
type neededNow struct{}

// needed is a request as a second store gets it, without the events that are taken ahead of need.
// They could not be given back: perhaps the first store answers again by then.
func needed(ctx context.Context, r weir.Request) weir.Request {
	if n, ok := ctx.Value(neededNow{}).(int); ok && r.Mode == weir.UpTo {
		r.N = min(r.N, n)
	}
	return r
}

// ask returns the request for the store.
func (c *call) ask() weir.Ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent, c.reopened = c.plan.Now(), false
	c.credit = max(c.credit-1, -maxCredit)
	f := c.flight
	ask := weir.Ask{N: f.first.n, Charges: &c.charges}
	if l := c.lease.Load(); l != nil {
		ask.N = max(ask.N-l.valid(c.sent), 1)
	}
	// It also asks for the events that waiting requests need, and for those that will be needed
	// soon. If the first request is for several events, no more of the latter are asked for than the
	// store had left. Otherwise it might grant fewer events than that request needs, and perhaps no
	// request could use them.
	more, soon := int(min(c.queue(f), int64(c.limit))), c.want(c.sent)
	f.line, c.line = c.line, nil
	for _, r := range f.line {
		r.flight = f
	}
	f.waits += len(f.line)
	if f.first.n > 1 {
		soon = min(soon, max(c.remaining-ask.N-more, 0))
	}
	more += soon
	if more > 0 {
		ask.N, ask.Mode = ask.N+more, weir.UpTo
	}
	c.asked, c.need = ask.N, ask.N-soon
	return ask
}

// close takes the events that are left of the earlier lease, and notes how long these and the
// events that the answer a grants may be held.
func (c *call) close(a weir.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.old = c.lease.Load(); c.old != nil {
		left, dead := c.end(c.old)
		if c.plan.Now() < c.old.age && (!c.old.degraded || a.Degraded) {
			c.held = left
			c.held = c.unused()
		}
		c.backLater(c.leasedKey, c.old, left-c.held+dead)
	}
	if c.granted > 0 {
		c.got = c.grantOf(a, c.granted, c.charges, c.sent)
	}
}

// grantOf returns what may be done with n events that the answer a grants, for a request that was
// sent at the instant sent.
func (c *call) grantOf(a weir.Answer, n int, charges []weir.Charge, sent int64) grant {
	g := grant{sent: sent, age: later(sent, c.maxAge), at: max(a.At, 1), degraded: a.Degraded}
	g.hold, g.charges, g.back = c.terms.hold(g.at, sent, chargesOf(charges, n, a))
	if a.Degraded {
		g.charges = nil // the shared store knows nothing of them
	}
	if a.Limit != c.limit { // of a divided limit, where an event counts for more
		g.hold = weir.Hold{}
	}
	return g
}

// unneeded gives back n events of a grant.
func (c *call) unneeded(g grant, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backLater(c.leasedKey, &lease{grant: g}, n)
}

// unused is how many events of the lease before may be used now.
func (c *call) unused() int {
	if c.old == nil {
		return 0
	}
	return min(c.held, c.old.hold.Left(time.Duration(c.plan.Now()-c.old.sent)))
}

// publish makes a lease of left events, after used events were handed out to the first request. If
// there is no error, the latest answer of the store, a, decides that request. publish reports
// whether the request still waits. If it does not, the events that it was to use are left, too.
func (c *call) publish(a weir.Answer, left, used int, err error) (waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.flight.first
	switch waits = !first.gone; {
	case !waits:
		left, used = left+used, 0
	case err == nil:
		first.decided, first.answer = true, a
		first.answer.Remaining, first.answer.Granted = min(a.Remaining+left, a.Limit), 0
	}
	now := c.plan.Now()
	l := &lease{
		grant: c.got, limit: a.Limit, remaining: a.Remaining, resetAt: later(now, a.ResetAfter),
		decidedBy: a.DecidedBy,
	}
	unused, two := c.held+c.granted-used, false
	switch old := c.old; {
	case unused > c.granted && c.granted > 0: // a lease is of one grant: the later one
		c.backLater(c.leasedKey, old, unused-c.granted)
		unused, left, two = c.granted, min(left, c.granted), true
	case unused > 0 && c.granted == 0:
		l.grant = old.grant
	}
	seated := c.seat(min(unused, c.granted))
	unused, left = unused-seated, min(left, unused-seated)
	c.learn(l, a)
	if c.short && !a.Degraded && !two && !c.reopened {
		l.askAt, l.retryAt = c.pause(now, a)
	}
	if !first.answer.Allowed {
		first.answer.RetryAfter = max(first.answer.RetryAfter, time.Duration(l.retryAt-now))
	}
	c.other = c.byAnother(a)
	l.keep(left, unused-left, now)
	c.put(l)
	c.decide(l, a)
	if c.returnable(l, int(l.size)+l.dead) > 0 {
		c.watch.add(c.LeaseStore, c.leasedKey, l)
	}
	return waits
}
