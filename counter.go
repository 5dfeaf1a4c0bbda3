package weir

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A counter is a [Decider] of this package that is not composed of others. Its methods serve debts
// and changes of policy, see Ledger.
type counter interface {
	Decider

	// counts is a comparable value. It is equal for counters whose states mean the same: events
	// that one has counted count for the other, whatever their limits.
	counts() any

	// used is how many events a key has used up, with its debts and bookings. They may be more
	// than the limit.
	used(state []uint64, now int64) uint64

	// allowance is how many events a new key can be granted at once.
	allowance() uint64
}

// A packer is a counter whose states are packed, differently for different limits. A packed count
// has a largest number, which stands for all numbers above it. It is above the policy's own limit,
// but may be below that of another.
type packer interface {
	wide() Decider // which does not pack
	widen(state []uint64) []uint64
	narrow(wide []uint64) []uint64
}

// wideOf is a Decider that answers as d does, on states that are not packed: they mean the same to
// all that count alike.
func wideOf(d Decider) Decider {
	switch d := d.(type) {
	case packer:
		return d.wide()
	case *composed:
		return d.wide()
	}
	return d
}

// countsOf is the counts of a counter; of a policy of another package, something that equals
// nothing else.
func countsOf(d Decider) any {
	if c, ok := d.(counter); ok {
		return c.counts()
	}
	return nil
}

func widen(d Decider, state []uint64) []uint64 {
	if p, ok := d.(packer); ok {
		return p.widen(state)
	}
	return slices.Clone(state)
}

func narrow(d Decider, wide []uint64) []uint64 {
	if p, ok := d.(packer); ok {
		return p.narrow(wide)
	}
	return slices.Clone(wide)
}

// usedOf is how many events a policy that is not composed has used up, and of how many.
func usedOf(d Decider, state []uint64, now int64) uint64 {
	if c, ok := d.(counter); ok {
		return c.used(state, now)
	}
	_, look := d.Decide(slices.Clone(state), now, Ask{})
	return uint64(max(look.Limit-max(look.Remaining, 0), 0))
}

// allowanceOf is how many events d grants a new key: Tiers, and the buckets of a marker, as one.
func allowanceOf(d Decider) uint64 {
	_, limit := usage(d, make([]uint64, len(Rule{Decider: d}.leaves())))
	return limit
}

// usage is how many events d has used up, and of how many, if its leaves have used up the given
// numbers. All has as many left as the part that has least, and owes as many as the part that owes
// most.
func usage(d Decider, used []uint64) (n, limit uint64) {
	c, ok := d.(*composed)
	if !ok {
		if d, ok := d.(counter); ok {
			return used[0], d.allowance()
		}
		_, look := d.Decide(make([]uint64, d.Words()), 0, Ask{})
		return used[0], uint64(max(look.Limit, 1))
	}
	for i := range c.parts {
		u, l := usage(c.parts[i].Decider, own(c, used, i))
		switch {
		case c.tiers:
			n, limit = exact.Sum(n, u), exact.Sum(limit, l)
		case i == 0:
			n, limit = u, l
		case l < limit:
			n, limit = max(n-min(n, limit-l), u), l
		default:
			n = max(n, u-min(u, l-limit))
		}
	}
	return n, limit
}

// eventsOf is how many events d has counted, if its leaves have counted the given numbers. Tiers
// count an event in one of them, and All in each.
func eventsOf(d Decider, used []uint64) (n uint64) {
	c, ok := d.(*composed)
	if !ok {
		return used[0]
	}
	for i := range c.parts {
		of := eventsOf(c.parts[i].Decider, own(c, used, i))
		if c.tiers {
			n = exact.Sum(n, of)
		} else {
			n = max(n, of)
		}
	}
	return n
}

// usageAt is the usage of a state.
func usageAt(d Decider, state []uint64, now int64) (n, limit uint64) {
	if d, ok := d.(counter); ok {
		return d.used(state, now), d.allowance()
	}
	var used []uint64
	walk(d, state, func(leaf Decider, words []uint64) { used = append(used, usedOf(leaf, words, now)) })
	return usage(d, used)
}

// lasting is for how long events that were granted at the instant at would count for a leaf of d,
// if they used it up.
func lasting(d Decider, at int64) (longest time.Duration) {
	for _, leaf := range (Rule{Decider: d}).leaves() {
		d := leaf.Decider
		if l, ok := d.(interface{ lasts() time.Duration }); ok {
			longest = max(longest, l.lasts())
			continue
		}
		n := int(min(allowanceOf(d), math.MaxInt))
		_, a := d.Decide(make([]uint64, d.Words()), at, Ask{N: n, Mode: Regardless})
		longest = max(longest, a.ResetAfter)
	}
	return longest
}
