package fleet

import (
	"time"

	"github.com/weir-go/weir"
)

// A demand is how many events of a key are asked for, and how many the store had. It decides how
// many events to take and when to ask again, but never whether a request is granted. Floats are
// therefore good enough.
type demand struct {
	at      int64   // as of when
	pace    float64 // events in the time that a lease is to last, denied ones included
	counted int64   // of the current lease, so that nothing is counted twice

	uncounted int64   // what was asked for since at
	saved     int     // calls to the store, in units of which a call has wholeCall
	size      float64 // the events of a request, on average
	credit    float64 // the calls to the store that the requests have earned
	stretch   float64 // by how much longer a lease must be, because a full bucket earns it again

	remaining int   // what the store had left
	ends      int64 // when events of the window must be used, if it is one
	over      int64 // when the window is over
	short     bool  // the store had less than was asked for
	late      bool  // the last call took longer than its events are to be held, or may be
	denials   int   // in a row
}

const (
	wholeCall = 20 // that many decisions of the store earn one more call than they made
	leastPace = 4  // events in the time of a lease, from which on a key is leased
	maxCredit = 4
	calls     = 22 // the store is asked at most once for that many requests, if it has enough
)

// add adds n events that were asked for now.
func (d *demand) add(n int64, now int64, lasts time.Duration) {
	if d.at == 0 { // the first, which tells no pace
		d.at = now
		return
	}
	passed, half := float64(max(now-d.at, 0)), float64(lasts)/2
	d.pace = (d.pace*half + float64(n)*float64(lasts)) / (half + passed)
	d.at = now
	d.credit = min(d.credit+float64(n)/d.size*d.earns(), maxCredit)
}

// count counts the events that were asked for since l was made, or since the last count. It
// requires that k.mu is held.
func (k *leasedKey) count(l *lease, left int) {
	asked := l.size - int64(left) + l.denied.Load()
	if asked > k.counted {
		k.save(wholeCall) // by at least one decision
	}
	k.uncounted += asked - k.counted
	k.counted = asked
}

// save keeps an account of calls to the store. A decision from memory saves a call. Any other
// decision saves a part of a call. A call that decides nothing, such as a give-back, spends a saved
// call: n is then negative. A lease is taken only if there is a saved call to spend, because the
// lease may stay unused.
func (d *demand) save(n int) { d.saved = min(d.saved+n, 2*wholeCall) }

// busy counts n events that are asked for now, and reports whether the key is busy enough to be
// leased. It requires that k.mu is held.
func (k *leasedKey) busy(n int, now int64) bool {
	if l := k.lease.Load(); l != nil {
		k.count(l, int(max(l.left.Load(), 0)))
	}
	k.size = max(k.size+(float64(n)-k.size)/16, 1)
	k.demand.add(int64(n)+k.uncounted, now, k.time)
	k.uncounted = 0
	k.save(1)
	return k.pace*min(k.longer(), k.longest) >= leastPace && k.saved >= wholeCall
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

// longer is by how much longer a lease is to last than usual: while a window has plenty, and where
// a full bucket earns again what is held. It requires that k.mu is held.
func (k *leasedKey) longer() float64 {
	switch {
	case k.drains:
		return max(k.stretch, 1)
	case k.remaining > k.limit/2:
		return min(4, k.longest)
	case k.remaining > k.limit/4:
		return min(2, k.longest)
	}
	return 1
}

// want is how many events to take beyond those that are asked for now. It requires that k.mu is
// held.
func (k *leasedKey) want(now int64) int {
	if k.failed || k.late { // events that a failing call takes are lost
		return 0
	}
	want := k.pace * k.longer()
	if now < k.over {
		want = min(want, k.pace*float64(max(k.ends-now, 0))/float64(k.time))
	}
	if k.drains {
		want = min(want, k.most)
	}
	return int(min(want, max(float64(k.remaining)/4, calls*k.size)))
}

// pause returns the instants before which the store is not asked again after it got less than it was
// asked for: at all, and for more than it had. The first is when the requests have earned a call. If
// there was nothing, the second comes later each time, but no later than the store says.
func (k *leasedKey) pause(now int64, a weir.Answer) (askAt, retryAt int64) {
	if k.pace < leastPace {
		return 0, 0
	}
	event := float64(k.time) / k.pace // the time of one
	ask := min(time.Duration(max(-k.credit, 0)/k.earns()*k.size*event), 2*k.time, a.ResetAfter)
	retry := ask
	if !a.Allowed {
		retry = max(ask, min(a.RetryAfter, time.Duration(event)<<min(k.denials-1, 10), 2*k.time))
	}
	return later(now, ask), later(now, retry)
}

// earned is the time in which the policy may allow n events more than it had when it answered a. It
// is no longer than a pause, or than the policy takes to recover.
func (k *leasedKey) earned(n int, a weir.Answer) time.Duration {
	earned := time.Duration(float64(k.span) / float64(k.limit) * float64(n))
	return max(min(earned, 2*k.time, a.ResetAfter), 1)
}

// earns is how much of a call a request earns.
func (d *demand) earns() float64 {
	few := calls * d.size / d.pace
	return min(max(few*few*few, 1)/calls, 1)
}

// learn notes what the answer says about the demand. It requires that k.mu is held.
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
	case !k.drains:
		k.endsAfter(l.sent, l.hold.For)
	case k.short || lasts <= 0:
		k.stretch = 1
	case lasts < k.time:
		k.stretch = min(2*max(k.stretch, 1), float64(k.limit))
	default:
		k.stretch = max(k.stretch*float64(k.time)/float64(lasts), 1)
	}
}
