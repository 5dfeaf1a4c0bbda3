package fleet

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A divided is what Shares knows of a plan.
type divided struct {
	limit int // the most events that it grants at once
	parts int // the most processes that can have a share
	now   atomic.Pointer[share]
}

// A share is how events of a plan count, until an instant in real time.
type share struct {
	turn   uint64 // of the places
	until  int64
	weight int // how often an event counts; 0 if this process has no share
	back   int // how often an event counts that is given back; at least 1

	// earlier is, until earlierUntil, the least weight of events that were granted with another
	// weight and may still count; or 0.
	earlier      int
	earlierUntil int64

	limit   int           // as in divided
	full    int           // the weight by the present place alone
	grown   int64         // when the present place alone counts
	growsIn time.Duration // until grown, from when the share was asked for
}

// share returns the share of a plan now. It requires that s.mu is held for reading.
func (s *Shares) share(p *weir.Plan) share {
	d := s.plans.of(p, newDivided)
	known := d.now.Load()
	if known != nil && known.turn == s.turn && known.until == math.MaxInt64 && s.until == math.MaxInt64 &&
		known.weight == known.full { // else it grows, though only after the last instant
		return *known // and the time, which takes as long as the rest, need not be read
	}
	now := realTime()
	for known == nil || known.turn != s.turn || known.until <= now {
		next := s.shareAt(now, p, d, known)
		if d.now.CompareAndSwap(known, &next) {
			known = &next
			break
		}
		known = d.now.Load()
	}
	sh := *known
	if sh.growsIn = time.Duration(sh.grown - now); s.until <= now {
		sh.weight, sh.full = 0, 0
	}
	return sh
}

// shareAt finds the share of a plan at now. known is an earlier one, or nil.
//
// A process now has the smallest of the shares that it had at any instant whose events may still
// count. At such an instant, all processes together had at most the whole limit. None of them has
// more now.
func (s *Shares) shareAt(now int64, p *weir.Plan, d *divided, known *share) share {
	last := len(s.places) - 1
	sh := share{turn: s.turn, until: math.MaxInt64, limit: d.limit, grown: now}
	sh.full = s.places[last].weight(d.parts)
	sh.weight = sh.full
	for i := last - 1; i >= 0; i-- {
		until := recovered(p, s.places[i].end, now)
		if until <= now {
			break
		}
		if w := s.places[i].weight(d.parts); w == 0 || sh.weight == 0 {
			sh.weight = 0
		} else {
			sh.weight = max(sh.weight, w)
		}
		sh.grown, sh.until = max(sh.grown, until), until
	}
	switch {
	case known == nil && s.changed > 0: // another Plan of the same policy may have granted events
		if until := recovered(p, s.changed, now); until > now {
			sh.earlier, sh.earlierUntil = 1, until
		}
	case known != nil:
		if known.earlierUntil > now {
			sh.earlier, sh.earlierUntil = known.earlier, known.earlierUntil
		}
		if known.weight != sh.weight && known.weight > 0 {
			sh.earlier, sh.earlierUntil = least(sh.earlier, known.weight), recovered(p, now, now)
		}
	}
	if sh.earlier > 0 {
		sh.until = min(sh.until, sh.earlierUntil)
	}
	sh.back = max(least(sh.earlier, sh.weight), 1)
	return sh
}

// least is the lesser of two weights. A weight of 0 means that there is none.
func least(v, w int) int {
	if v == 0 || w == 0 {
		return max(v, w)
	}
	return min(v, w)
}

// willFit reports whether the share will grow so that the events asked for fit, or one of them if fewer
// are enough.
func (sh share) willFit(ask weir.Ask) bool {
	n := ask.N
	if ask.Mode == weir.UpTo {
		n = min(n, 1)
	}
	return sh.full > 0 && (sh.weight == 0 || sh.full < sh.weight) && n <= sh.limit/sh.full
}

func newDivided(p *weir.Plan) *divided {
	now := p.Now()
	_, look := p.Decider.Decide(make([]uint64, p.Decider.Words()), now, weir.Ask{})
	d := &divided{limit: look.Limit, parts: max(look.Limit, 1)}
	if !divisible(p.Policy, p.Decider, now) {
		d.parts = 1
	}
	return d
}

// divisible reports whether a policy grants one request directly after another until its limit is
// used up. The outlet of a queue does not, and several of them would grant several requests.
func divisible(p weir.Policy, d weir.Decider, now int64) bool {
	for _, c := range weir.Components(p) {
		of, err := c.Decider()
		if err != nil || !divisible(c, of, now) {
			return false
		}
	}
	_, a := d.Decide(make([]uint64, d.Words()), now, weir.Ask{N: 1})
	return a.Remaining >= a.Limit-1
}

// recovered is when a key of a plan has fully recovered, if it is used up at the instant at. All
// instants here are in real time.
func recovered(p *weir.Plan, at, now int64) int64 {
	of := p.Now()
	expiry := recovery(p.Policy, p.Decider, max(of-(now-at), 0))
	if expiry == math.MaxInt64 {
		return math.MaxInt64
	}
	return later(now, time.Duration(expiry-of))
}

// recovery is the instant at which a key has fully recovered, if it is used up at the instant at.
// One request cannot use up all components of a policy if one of them has a smaller limit. Several
// requests can.
func recovery(p weir.Policy, d weir.Decider, at int64) int64 {
	// A queue is used up most by one request. Each color of a marker is used up by requests for
	// half of what is left.
	last := max(d.Expiry(usedUp(d, at, 1)), d.Expiry(usedUp(d, at, 2)))
	for _, c := range weir.Components(p) {
		if of, err := c.Decider(); err == nil {
			last = max(last, recovery(c, of, at))
		}
	}
	return last
}

// usedUp is the state of a key that is used up at the instant at, by requests. Each of them takes
// what is left, divided by part.
func usedUp(d weir.Decider, at int64, part int) []uint64 {
	state := make([]uint64, d.Words())
	for range 64_000 { // Tiers may have a thousand, which are used up one after the other
		_, look := d.Decide(state, at, weir.Ask{})
		if look.Remaining < 1 {
			break
		}
		state, _ = d.Decide(state, at, weir.Ask{N: max(look.Remaining/part, 1)})
	}
	return state
}
