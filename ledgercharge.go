package weir

import (
	"math"
	"slices"

	"github.com/weir-go/weir/internal/exact"
)

// charge returns the state of an entry with what it is charged for the events of others, and whether
// that is anything.
func (g *ledger) charge(e tally, now int64) (state []uint64, charged bool) {
	words := split(e.Decider, e.state())
	for _, u := range units(e.Decider, 0) {
		if n := g.chargeOf(e, u, now); n > 0 {
			charge(u.decider, words[u.from:u.to], now, int(min(n, math.MaxInt)))
			charged = true
		}
	}
	return join(e.Decider, words), charged
}

// chargeOf is how many events a unit of an entry is charged at now.
func (g *ledger) chargeOf(e tally, u unit, now int64) uint64 {
	limit, own := allowanceOf(u.decider), u.places(e.accounts)
	recent := func(last int64) bool { return !over(exact.After(last, lasting(u.decider, last)), now) }
	self, sum := g.find(e.by), uint64(0)
	for i, other := range g.entries {
		if i != self && recent(other.last) {
			used, of := other.usage(own, now)
			sum = exact.Sum(sum, exact.Portion(used, limit, of))
		}
	}
	if g.rest.share > 0 && recent(g.rest.last) {
		sum = exact.Sum(sum, exact.Portion(g.rest.share, limit, wholeShare))
	}
	return sum
}

// usage is that of an entry's accounts, that of the unit of which the largest share is used up. Places
// that are among the counted do not count: whoever has those accounts, too, counts their events by itself.
func (e tally) usage(counted [][]*account, now int64) (used, limit uint64) {
	for _, u := range units(e.Decider, 0) {
		var own []uint64
		all := true
		for _, p := range u.places(e.accounts) {
			has := slices.ContainsFunc(counted, func(q []*account) bool { return slices.Equal(p, q) })
			all = all && has
			for range p {
				own = append(own, 0)
				if !has {
					own[len(own)-1] = e.used(u.from+len(own)-1, now)
				}
			}
		}
		if all { // each event of e has a place here
			return 0, 1
		}
		if n, of := usage(u.decider, own); limit == 0 || exact.Mul(used, of).Less(exact.Mul(n, limit)) {
			used, limit = n, of
		}
	}
	return used, limit
}

// foldOldest makes the oldest entries a share while there are too many. Debts and bookings ahead bind
// until they end, and a share does not tell of them: entries without any go first (R17, R19).
func (g *ledger) foldOldest(now int64) {
	for len(g.entries) > maxEntries {
		i := max(slices.IndexFunc(g.entries, func(e tally) bool {
			return e.expiry() <= exact.After(e.last, lasting(e.Decider, e.last))
		}), 0)
		e := g.entries[i]
		g.entries = slices.Delete(g.entries, i, i+1)
		used, limit := e.usage(nil, now)
		part := exact.Portion(min(used, math.MaxUint64-limit), wholeShare, limit)
		g.rest.share = exact.Sum(g.rest.share, exact.Sum(part, 1)) // rounded up
		g.rest.last = max(g.rest.last, e.last)
		g.rest.until = max(g.rest.until, e.expiry())
	}
}
