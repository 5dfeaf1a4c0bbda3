package weir

import (
	"math"
	"slices"
	"time"
)

// firstGrant is the first instant after now at which n events are granted, if nobody asks before,
// or math.MaxInt64. While time passes and nothing is granted, no charge grows. But when an entry
// ends, a leaf of another entry may get accounts that it did not have before. The time between two
// ends is therefore searched by itself.
func (g *ledger) firstGrant(by Rule, now int64, n int) int64 {
	for from := now; ; {
		h, end := g.settled(from), g.nextEnd(from)
		e := h.entry(by)
		grants := func(at int64) bool { return h.answer(e, at, Ask{N: n}).Allowed }
		if end == math.MaxInt64 || grants(end-1) {
			return firstInstant(now, end, grants)
		}
		now, from = end-1, end
	}
}

// foretell completes a denial of events that will be granted at the instant at. The copy that was
// charged does not show who decides, or when a component grants, because the charges end by
// themselves. The RetryAfter of a component that does not decide is not searched for: it is that of
// the copy, within what is known.
func (g *ledger) foretell(by Rule, at int64, ask Ask, a *Answer) {
	var last []Result // of All: the components that deny until then have the longest RetryAfter
	if isAll(by.Decider) {
		g.at(by, at-1, Ask{N: ask.N, ByComponent: &last})
		if i := slices.IndexFunc(last, func(r Result) bool { return !r.Allowed }); i >= 0 {
			a.DecidedBy = i
		}
	} else { // the tier or color that grants then
		a.DecidedBy = g.at(by, at, Ask{N: ask.N}).DecidedBy
	}
	if ask.ByComponent == nil {
		return
	}
	for i := range *ask.ByComponent {
		switch r := &(*ask.ByComponent)[i]; {
		case r.Allowed:
		case i == a.DecidedBy, last != nil && !last[i].Allowed:
			r.RetryAfter = a.RetryAfter
		case last != nil:
			r.RetryAfter = min(r.RetryAfter, a.RetryAfter-1)
		default:
			r.RetryAfter = max(r.RetryAfter, a.RetryAfter)
		}
	}
}

// at is the answer at a later instant, if nobody asks before.
func (g *ledger) at(by Rule, later int64, ask Ask) Answer {
	h := g.settled(later)
	return h.answer(h.entry(by), later, ask)
}

// settled is a copy of a ledger that is settled at an instant.
func (g *ledger) settled(at int64) ledger {
	h := ledger{slices.Clone(g.entries), g.rest}
	for i := range h.entries {
		h.entries[i].most = slices.Clone(h.entries[i].most)
	}
	h.settle(at)
	return h
}

// answer is the answer to an entry that is charged for the events of others.
func (g *ledger) answer(e tally, now int64, ask Ask) Answer {
	state, _ := g.charge(e, now)
	_, a := e.Decider.Decide(state, now, ask)
	return a
}

// nextEnd is the first instant after now at which an entry, or the rest, ends, or math.MaxInt64.
func (g *ledger) nextEnd(now int64) int64 {
	next := int64(math.MaxInt64)
	if g.rest.until > now {
		next = g.rest.until
	}
	for _, e := range g.entries {
		if end := e.end(); end > now {
			next = min(next, end)
		}
	}
	return next
}

// firstInstant is the first instant after now at which has is true. From that instant on, has stays
// true. It is true at the instant last, at the latest. Only if last is math.MaxInt64 may it never
// become true: the result is then math.MaxInt64.
func firstInstant(now, last int64, has func(at int64) bool) int64 {
	if last == math.MaxInt64 && !has(last) {
		return last
	}
	for last-now > 1 {
		if middle := now + (last-now)/2; has(middle) {
			last = middle
		} else {
			now = middle
		}
	}
	return last
}

// untilInstant is how long it is until the instant at, or Never.
func untilInstant(now, at int64) time.Duration {
	if at == math.MaxInt64 {
		return Never
	}
	return time.Duration(max(at-now, 0))
}
