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
	h := g.clone()
	for settled := now; ; {
		e, end := h.entry(by), h.nextEnd(settled)
		grants := func(at int64) bool {
			state, _ := h.charge(e, at)
			_, a := e.Decider.Decide(state, at, Ask{N: n})
			return a.Allowed
		}
		if end == math.MaxInt64 || grants(end-1) {
			return firstInstant(now, end, grants)
		}
		now, settled = end-1, end // an entry that is kept with the rest has an end, too
		h.settle(settled)
	}
}

// foretell completes a denial of events that will be granted at the instant at. The copy that was
// charged does not show who decides, or when a component grants, because the charges end by
// themselves. The RetryAfter of a component that does not decide is not searched for: it is that of
// the copy, within what is known.
func (g *ledger) foretell(by Rule, at int64, ask Ask, a *Answer) {
	var results []Result // none if they are not asked for
	if ask.ByComponent != nil {
		results = *ask.ByComponent
	}
	if !isAll(by.Decider) { // the tier or color that grants then
		a.DecidedBy = g.at(by, at, Ask{N: ask.N}).DecidedBy
		for i := range results {
			switch r := &results[i]; {
			case r.Allowed:
			case i == a.DecidedBy:
				r.RetryAfter = a.RetryAfter
			default:
				r.RetryAfter = max(r.RetryAfter, a.RetryAfter)
			}
		}
		return
	}
	var last []Result // the components that deny until then are those with the longest RetryAfter
	g.at(by, at-1, Ask{N: ask.N, ByComponent: &last})
	if i := slices.IndexFunc(last, func(r Result) bool { return !r.Allowed }); i >= 0 {
		a.DecidedBy = i
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Allowed:
		case !last[i].Allowed:
			r.RetryAfter = a.RetryAfter
		default:
			r.RetryAfter = min(r.RetryAfter, a.RetryAfter-1)
		}
	}
}

// at is the answer at a later instant, if nobody asks before.
func (g *ledger) at(by Rule, later int64, ask Ask) Answer {
	h := g.clone()
	h.settle(later)
	e := h.entry(by)
	state, _ := h.charge(e, later)
	_, a := e.Decider.Decide(state, later, ask)
	return a
}

// clone is a copy that can be settled.
func (g *ledger) clone() ledger {
	h := ledger{slices.Clone(g.entries), g.rest}
	for i := range h.entries {
		h.entries[i].most = slices.Clone(h.entries[i].most)
	}
	return h
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
