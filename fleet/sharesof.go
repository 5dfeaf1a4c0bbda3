package fleet

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A divided is what Shares knows of a plan.
type divided struct {
	parts int // the most processes that can have a share
	now   atomic.Pointer[share]
}

// A share is how events of a plan count, until an instant in real time.
type share struct {
	turn   uint64 // of the places
	until  int64
	weight int // how often an event counts; 0 if this process has no share
	back   int // how often an event counts that is given back; at least 1

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
	if known == nil || known.turn != s.turn || known.until <= now {
		next := s.shareAt(now, p, d.parts)
		known = &next
		d.now.Store(known)
	}
	sh := *known
	if sh.growsIn = time.Duration(sh.grown - now); s.until <= now {
		sh.weight, sh.full = 0, 0
	}
	return sh
}

// shareAt finds the share of a plan at now.
//
// A process now has the smallest of the shares that it had at any instant whose events may still
// count. At such an instant, all processes together had at most the whole limit. None of them has
// more now.
//
// An event that is given back may have been granted at any such instant, and by another plan of the
// same policy. It therefore frees only as much as an event counts under the largest of those
// shares.
func (s *Shares) shareAt(now int64, p *weir.Plan, parts int) share {
	last := len(s.places) - 1
	sh := share{turn: s.turn, until: math.MaxInt64, grown: now}
	sh.full = s.places[last].weight(parts)
	sh.weight = sh.full
	least := math.MaxInt
	for i := last - 1; i >= 0; i-- {
		until := recovered(p, s.places[i].end, now)
		if until <= now {
			break
		}
		sh.until = until
		w := s.places[i].weight(parts)
		if w == 0 || w > sh.full {
			sh.grown = max(sh.grown, until)
		}
		if w == 0 || sh.weight == 0 {
			sh.weight = 0
		} else {
			sh.weight, least = max(sh.weight, w), min(least, w)
		}
	}
	sh.back = max(min(sh.weight, least), 1)
	return sh
}

// willFit reports whether the share of a policy with that limit will grow enough for the events
// asked for, or for one of them if ask accepts fewer.
func (sh share) willFit(ask weir.Ask, limit int) bool {
	n := ask.N
	if ask.Mode == weir.UpTo {
		n = min(n, 1)
	}
	return sh.full > 0 && (sh.weight == 0 || sh.full < sh.weight) && n <= limit/sh.full
}

// newDivided asks the policy for its limit at the first of all instants, and not at the present
// one. The limit of a policy of another package may change with time, but all processes must find
// the same number of parts.
func newDivided(p *weir.Plan) *divided {
	if !divisible(p.Policy, p.Decider) {
		return &divided{parts: 1}
	}
	_, look := p.Decider.Decide(make([]uint64, p.Decider.Words()), 1, weir.Ask{})
	return &divided{parts: max(look.Limit, 1)}
}

// divisible reports whether a policy grants one request directly after another until its limit is
// used up. The outlet of a queue does not, and several of them would grant several requests. A
// queue with room for one event looks like a limit of one at first. But only a queue can be full
// when more events are booked.
func divisible(p weir.Policy, d weir.Decider) bool {
	for _, c := range weir.Components(p) {
		of, err := c.Decider()
		if err != nil || !divisible(c, of) {
			return false
		}
	}
	state, a := d.Decide(make([]uint64, d.Words()), 1, weir.Ask{N: 1})
	if a.Remaining < a.Limit-1 {
		return false
	}
	for range 2 {
		state, a = d.Decide(state, 1, weir.Ask{N: 1, MaxWait: weir.Never})
	}
	return !a.QueueFull
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
	var before []uint64
	for range 64_000 { // Tiers may have a thousand, which are used up one after the other
		_, look := d.Decide(state, at, weir.Ask{})
		before = append(before[:0], state...)
		if look.Remaining < 1 {
			break
		}
		state, _ = d.Decide(state, at, weir.Ask{N: max(look.Remaining/part, 1)})
		if slices.Equal(state, before) { // it has no limit, and nothing uses it up
			break
		}
	}
	return state
}
