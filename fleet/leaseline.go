package fleet

import (
	"slices"

	"github.com/weir-go/weir"
)

// A rider is a request that waits for a flight. If it came while a flight was under way, the next
// flight asks the store for its events. That flight usually decides it. It does not if the rider
// got no events, but the store still has enough for it. The mutex of the key guards a rider.
type rider struct {
	n       int
	flight  *flight // that asks for it, or nil
	gone    bool    // it waits no more
	decided bool
	answer  weir.Answer
}

// leave is for a rider that stops waiting. It may already be decided. If no rider waits for a call,
// the context of that call is cancelled. Riders that have left are dropped, so that they do not
// pile up while a call hangs.
func (k *leasedKey) leave(who *rider) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.depart(who)
}

// depart is leave, and requires that k.mu is held.
func (k *leasedKey) depart(who *rider) {
	who.gone = true
	if f := who.flight; f != nil {
		if f.waits--; f.waits == 0 {
			f.cancel()
		}
	} else if k.left++; 2*k.left > len(k.line) {
		k.line, k.left = slices.DeleteFunc(k.line, func(r *rider) bool { return r.gone }), 0
	}
}

// queue puts a flight's riders, and those that have come meanwhile, in one line. Riders that are
// gone or decided are left out. It returns the number of their events. It requires that k.mu is
// held.
func (k *leasedKey) queue(f *flight) (n int64) {
	k.line = slices.DeleteFunc(append(f.line, k.line...), func(r *rider) bool {
		return r == f.first || r.gone || r.decided
	})
	for _, r := range k.line {
		r.flight = nil
		n = min(n+int64(r.n), mostLimit) // more is not asked for, and the sum might not fit
	}
	f.line, k.left = nil, 0
	return n
}

// seat lets riders use some of n events of the grant, as the caller does: at the instant of the
// grant, when they waited already. It returns how many events they use. It requires that k.mu is
// held.
func (c *call) seat(n int) (seated int) {
	for _, r := range c.flight.line {
		if r.n <= n-seated && !r.gone {
			seated += r.n
			r.decided = true
		}
	}
	return seated
}

// decide answers the riders that are seated, and denies the others if the store, which has answered
// a, had less than they need. It requires that k.mu is held.
func (c *call) decide(l *lease, a weir.Answer) {
	now := c.plan.Now()
	valid := l.valid(now)
	granted := weir.Answer{Result: l.granted(valid, now), At: c.got.at, ServerTime: a.ServerTime}
	for _, r := range c.flight.line {
		switch {
		case r.gone:
		case r.decided:
			c.uncounted += int64(r.n)
			c.save(wholeCall)
			r.answer = granted
		case r.n > valid+l.remaining:
			l.denied.Add(int64(r.n))
			r.decided = true
			again := later(now, c.earned(r.n-valid-l.remaining, a))
			again = max(l.retryAt, min(again, max(l.resetAt, later(now, 1)))) // the clock has moved on since a
			r.answer = weir.Answer{At: now, Result: l.denial(valid, now, again)}
			r.answer.Degraded = a.Degraded
		}
	}
}
