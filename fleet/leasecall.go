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
			c := call{LeaseStore: s, leasedKey: k, flight: f, r: r}
			return c.run(ctx)
		}
		var err error
		select {
		case <-f.landed:
			err = f.err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if who = next; err != nil {
			k.leave(who)
			if who.decided {
				return who.answer, nil
			}
			return weir.Answer{}, err
		}
	}
}

// note records the answer of the store to a request that was passed on to it, and was sent at the
// instant sent.
func (k *leasedKey) note(a weir.Answer, sent int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remaining, k.other = a.Remaining, k.byAnother(a)
	if !k.drains && sent >= k.over && a.ResetAfter > 0 {
		h, _, _ := k.terms.hold(max(a.At, 1), sent, chargesOf(nil, 1, a))
		k.endsAfter(sent, h.For)
	}
}

// endsAfter notes that the events of a window that were granted must be used within d. It requires
// that k.mu is held.
func (k *leasedKey) endsAfter(sent int64, d time.Duration) {
	k.ends, k.over = later(sent, d), later(sent, max(d+d>>9, leastHold))
}

// A call asks the store for the events of a request, and for those that others will need.
type call struct {
	*LeaseStore
	*leasedKey
	flight *flight
	r      weir.Request

	sent    int64
	charges []weir.Charge
	asked   int // of the store
	granted int // by the store
	got     grant

	old  *lease // which is closed; nil if there was none
	held int    // that it had left
}

// run asks the store. If some of several events are missing then, because those of the lease before
// may not be used any more, it asks for them, all or none.
func (c *call) run(ctx context.Context) (a weir.Answer, err error) {
	err = errNoReply
	defer func() {
		if ctx.Err() != nil { // which is not that of the others
			c.land(c.flight, err != nil, nil)
		} else {
			c.land(c.flight, err != nil, err)
		}
	}()
	ask := c.ask()
	if a, err = c.do(ctx, ask); err != nil {
		return weir.Answer{}, err
	}
	switch {
	case ask.Mode == weir.UpTo:
		c.granted = a.Granted
	case a.Allowed:
		c.granted = ask.N
	}
	c.close(a)
	left := c.unused() + c.granted
	if missing := c.r.N - left; missing > 0 && c.granted > 0 {
		if c.granted == ask.N {
			return c.rest(ctx, a, missing)
		}
		a.RetryAfter = c.earned(missing) // the store has no more
	}
	used := 0
	if a.Allowed = left >= c.r.N; a.Allowed {
		used, a.RetryAfter = c.r.N, 0
	}
	a.Granted = 0
	c.publish(a, left-used, used)
	a.Remaining = min(a.Remaining+left-used, a.Limit)
	return a, nil
}

// rest asks for the events that are missing after the answer a.
func (c *call) rest(ctx context.Context, a weir.Answer, missing int) (weir.Answer, error) {
	var charges []weir.Charge
	sent := c.plan.Now()
	rest, err := c.do(ctx, weir.Ask{N: missing, Charges: &charges})
	left := c.unused() + min(c.granted, c.got.hold.Left(time.Duration(c.plan.Now()-c.sent)))
	used := left
	switch {
	case err != nil:
		c.publish(a, left, 0)
		return weir.Answer{}, err
	case !rest.Allowed:
		c.publish(rest, left, 0)
		rest.Remaining = min(rest.Remaining+left, rest.Limit)
		return rest, nil
	case left+missing < c.r.N:
		// The others were counted in a window that is over now. Those that were missing are too
		// few.
		used = 0
		c.unneeded(c.grantOf(rest, missing, charges, sent), missing)
		if rest, err = c.do(ctx, weir.Ask{N: c.r.N}); err != nil {
			c.publish(a, 0, used)
			return weir.Answer{}, err
		}
	}
	c.publish(rest, 0, used)
	rest.Degraded = rest.Degraded || c.got.degraded
	return rest, nil
}

func (c *call) do(ctx context.Context, ask weir.Ask) (weir.Answer, error) {
	return c.store.Do(ctx, weir.Request{Plan: c.r.Plan, Key: c.key, Ask: ask})
}

// ask returns the request for the store.
func (c *call) ask() weir.Ask {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = c.plan.Now()
	c.credit = max(c.credit-1, -maxCredit)
	ask := weir.Ask{N: c.r.N, Charges: &c.charges}
	if l := c.lease.Load(); l != nil {
		ask.N = max(ask.N-l.valid(c.sent), 1)
	}
	// More is asked for if it is needed: by those who wait, and soon. For several events it must be
	// there, too: of those that are granted without the others, nobody may have use.
	more, soon := int(min(c.queue(c.flight), int64(c.limit))), c.want(c.sent)
	c.flight.line, c.line = c.line, nil
	if c.r.N == 1 || !c.short && ask.N+more+soon <= c.remaining {
		more += soon
	}
	if more > 0 {
		ask.N, ask.Mode = ask.N+more, weir.UpTo
	}
	c.asked = ask.N
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

// publish makes a lease of left events, after used ones were handed out. a is the latest answer of
// the store.
func (c *call) publish(a weir.Answer, left, used int) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	if c.short && !a.Degraded && !two {
		l.retryAt = later(now, c.pause(!a.Allowed, a.RetryAfter))
	}
	c.other = c.byAnother(a)
	l.keep(left, unused-left, now)
	c.put(l)
	c.decide(l, a)
	if c.returnable(l, int(l.size)+l.dead) > 0 {
		c.watch.add(c.LeaseStore, c.leasedKey, l)
	}
}

// learn notes what the answer tells of the demand. It requires that k.mu is held.
func (c *call) learn(l *lease, a weir.Answer) {
	k := c.leasedKey
	k.short = c.granted < c.asked
	took := time.Duration(c.plan.Now() - c.sent)
	k.late = c.granted > 0 && (took > k.time || !k.drains && c.got.hold.Left(took) == 0)
	k.remaining = a.Remaining
	if a.Allowed {
		k.denials = 0
	} else {
		k.denials++
	}
	switch lasts := l.hold.Over; {
	case c.granted == 0:
	case lasts <= 0:
		k.endsAfter(l.sent, l.hold.For)
	case k.short:
		k.stretch = 1
	case lasts < k.time:
		k.stretch = min(2*max(k.stretch, 1), 64)
	default:
		k.stretch = max(k.stretch*float64(k.time)/float64(lasts), 1)
	}
}
