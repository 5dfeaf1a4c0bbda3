package weir

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// ask decides on asks for events, and on looks. It reports whether the events of others were
// charged.
func (g *ledger) ask(by Rule, now int64, ask Ask) (a Answer, charged bool) {
	e, i := g.entry(by), g.find(by)
	if ask.Mode == Regardless && i >= 0 && g.entries[i].keepsMore(e) {
		e = g.entries[i]
	}
	patience := ask.MaxWait
	state, charged := g.charge(e, now, &ask)
	more := ask.More
	ask.More = more && !charged && i >= 0 // else the events of others come back as well
	state, a = e.Decider.Decide(state, now, ask)
	if ask.Mode == UpTo {
		ask.N = min(ask.N, max(a.Granted, 1)) // a denial says when there is one
	}
	switch {
	case ask.N > 0 && a.Allowed:
		results := ask.ByComponent
		if charged { // it is counted without the charges
			ask.Mode, ask.ByComponent = Regardless, nil
			state, _ = e.Decider.Decide(e.state(), now, ask)
		}
		g.put(e, state, now, uint64(ask.N))
		if c := ask.Charges; c != nil && len(*c) == 0 { // the policy keeps none, and ResetAfter is of others, too
			*c = append(*c, Charge{N: ask.N, For: untilInstant(now, e.expiry())})
		}
		g.foldOldest(now)
		if charged || g.rest.share > 0 { // the charge may be on another bucket of a marker, or for what is now a share
			g.leave(by, now, &a, results)
		}
	case !a.Allowed && (charged || len(g.entries) > 1) && (a.RetryAfter != Never || ask.N <= a.Limit):
		if at := g.firstGrant(by, now, Ask{N: ask.N, MaxWait: patience}); at < math.MaxInt64 {
			a.RetryAfter = untilInstant(now, at)
			g.foretell(by, at, ask, &a)
			if charged && patience > 0 { // a caller that is too late then as well need not wait until then
				if d := untilInstant(now, g.firstGrant(by, now, Ask{N: ask.N})); d > patience {
					a.Delay = d
				}
			}
		} else {
			a.RetryAfter = Never
		}
	}
	if more && !ask.More && ask.N > 0 && a.Remaining < a.Limit { // a look does not begin the time of a charge
		if a.Allowed || ask.N > a.Remaining+1 || patience > 0 { // else it is known
			a.MoreAfter = untilInstant(now, g.firstGrant(by, now, Ask{N: a.Remaining + 1}))
		} else {
			a.MoreAfter = a.RetryAfter
		}
		if a.MoreAfter == Never {
			a.MoreAfter = 0
		}
	}
	a.ResetAfter = untilInstant(now, g.expiry())
	if ask.ByComponent != nil { // what others have used does not count for longer
		for i := range *ask.ByComponent {
			r := &(*ask.ByComponent)[i]
			r.ResetAfter = min(r.ResetAfter, a.ResetAfter)
			if r.RetryAfter < Never {
				r.RetryAfter = min(r.RetryAfter, a.ResetAfter)
				r.ResetAfter = max(r.ResetAfter, r.RetryAfter) // a tier may be charged later what another is charged now
			}
		}
	}
	return a, charged
}

// leave sets Remaining in the answer to a grant, and in that of each component, to the number that
// a look reports, and DecidedBy of All to the component that has the least.
func (g *ledger) leave(by Rule, now int64, a *Answer, results *[]Result) {
	var ask Ask
	var each []Result
	if results != nil {
		ask.ByComponent = &each
	}
	look, _ := g.ask(by, now, ask)
	a.Remaining = look.Remaining
	if isAll(by.Decider) {
		a.DecidedBy = look.DecidedBy
	}
	for i, r := range each { // none if the policy is not composed
		(*results)[i].Remaining, (*results)[i].ResetAfter = r.Remaining, r.ResetAfter
	}
}

// put keeps an entry that was granted n events. state is its state after that.
func (g *ledger) put(e tally, state []uint64, now int64, n uint64) {
	leaves := e.leaves()
	for i, words := range split(e.Decider, state) {
		a := e.accounts[i]
		if !a.set(leaves[i], words) {
			continue
		}
		e.most[i] = exact.Sum(e.most[i], n)
		if isQueue(a.Decider) || countsOf(a.Decider) == nil { // one event of a queue uses all
			e.most[i] = max(e.most[i], allowanceOf(a.Decider, now))
		}
		e.until = max(e.until, a.gone())
	}
	e.last, e.net = max(e.last, now), exact.Sum(e.net, n)
	if i := g.find(e.by); i >= 0 {
		g.entries = slices.Delete(g.entries, i, i+1)
		e.began = min(e.began, now)
	} else {
		e.began = now
	}
	g.entries = append(g.entries, e)
}

// giveBack gives events back to the entry that was granted them. If the grant is not known, the
// latest entries give back first.
func (g *ledger) giveBack(by Rule, now int64, ask Ask) (a Answer, changed bool) {
	var back Answer
	self := g.find(by)
	if self < 0 && ask.GrantedAt != 0 { // none of it counts any more
		_, back = by.Decider.Decide(make([]uint64, by.Decider.Words()), now, ask)
	}
	for i := range slices.Backward(g.entries) {
		e := &g.entries[i]
		n, one := min(exact.Magnitude(ask.N), e.net, math.MaxInt), ask
		if ask.GrantedAt == 0 && len(g.entries) > 1 { // they are named as of now, so that no part gives back what others have counted there
			at, used := chargesAt(e.leaves()), make([]uint64, len(e.accounts))
			own := make([]Charge, at[len(used)])
			one.GrantedAt, one.Charges = max(now, 1), &own
			last := time.Duration(maxInstant - one.GrantedAt)
			for i := range used {
				used[i] = e.used(i, now)
				own[at[i]] = Charge{N: int(min(n, used[i])), For: last, Late: last}
			}
			n = min(n, eventsOf(e.Decider, used))
		}
		if n == 0 || ask.GrantedAt != 0 && (i != self || ask.GrantedAt < e.began) {
			continue
		}
		one.N, one.ByComponent, one.beside = -int(n), nil, &beside{promised: e.promisedBut(by, now, ask)}
		if ask.beside != nil {
			one.beside.stay = ask.beside.stay
		}
		var state []uint64
		state, back = e.Decider.Decide(e.state(), now, one) // by the numbers that it has now
		ask.N += int(n)
		if !slices.Equal(state, e.state()) { // else none of them counts any more, or none is free
			e.freed(state, now)
			e.net -= n
			changed = true
		}
	}
	a, _ = g.ask(by, now, Ask{ByComponent: ask.ByComponent})
	if a.Delay, a.rest = back.Delay, back.rest; ask.GrantedAt != 0 {
		a.DecidedBy = back.DecidedBy
	}
	return a, changed
}

// charge returns the state of an entry after it is charged for the events of others, and whether it
// is charged anything. It books nothing then.
func (g *ledger) charge(e tally, now int64, ask *Ask) (state []uint64, charged bool) {
	words := split(e.Decider, e.state())
	for _, u := range units(e.Decider, 0) {
		if n := g.chargeOf(e, u, now); n > 0 {
			charge(u.decider, words[u.from:u.to], now, n)
			charged, ask.MaxWait = true, 0 // those ahead are not in this policy's line
		}
	}
	return join(e.Decider, words), charged
}

// chargeOf is how many events a unit of an entry is charged at now.
func (g *ledger) chargeOf(e tally, u unit, now int64) uint64 {
	limit, own := allowanceOf(u.decider, now), u.places(e.accounts)
	recent := func(last int64) bool { return !over(exact.After(last, lasting(u.decider, last)), now) }
	self, sum := g.find(e.by), exact.Portions{}
	for i, other := range g.entries {
		if i != self && recent(other.last) {
			used, of := other.usage(own, now)
			sum.Add(used, limit, of)
		}
	}
	if g.rest.share > 0 && recent(g.rest.last) {
		sum.Add(g.rest.share, limit, wholeShare)
	}
	return min(sum.Whole, limit) // of a used-up allowance nothing is left: a larger charge changes nothing
}

// foldOldest makes the oldest entries a share while there are too many. Debts and bookings ahead
// bind until they end, and a share does not show them. Entries without debts and bookings are
// therefore folded first (R17, R19).
func (g *ledger) foldOldest(now int64) {
	g.settle(now) // an entry that has ended, and was kept with the rest, is no longer the last
	for len(g.entries) > maxEntries {
		i := max(slices.IndexFunc(g.entries, func(e tally) bool {
			return e.expiry() <= exact.After(e.last, lasting(e.Decider, e.last))
		}), 0)
		e := g.entries[i]
		g.entries = slices.Delete(g.entries, i, i+1)
		used, limit := e.usage(nil, now)
		part := exact.Portion(used, wholeShare, limit)
		g.rest.share = exact.Sum(g.rest.share, exact.Sum(part, 1)) // rounded up
		g.rest.last, g.rest.until = max(g.rest.last, e.last), max(g.rest.until, e.expiry())
	}
}

// firstGrant is the first instant after now at which an ask is granted, if nobody asks before, or
// math.MaxInt64. While time passes and nothing is granted, no charge grows. But when an entry
// ends, a leaf of another entry may get accounts that it did not have before. The time between two
// ends is therefore searched by itself.
func (g *ledger) firstGrant(by Rule, now int64, ask Ask) int64 {
	for from := now; ; {
		h, end := g.settled(from), g.nextEnd(from)
		e := h.entry(by)
		grants := func(at int64) bool { return h.answer(e, at, ask).Allowed }
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
	state, _ := g.charge(e, now, &ask)
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
