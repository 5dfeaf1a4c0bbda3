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
	// that one has counted count against the other, whatever their limits.
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

// wideOf is a Decider that answers as d does, on states that are not packed. Such states mean the
// same to all Deciders that count alike.
func wideOf(d Decider) Decider {
	switch d := d.(type) {
	case packer:
		return d.wide()
	case *composed:
		return d.wide()
	}
	return d
}

// countsOf is the counts of a counter. It is nil for a policy of another package.
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

// usedOf is how many events a policy that is not composed has used up. Of a policy of another
// package, debts are not known.
func usedOf(d Decider, state []uint64, now int64) uint64 {
	if c, ok := d.(counter); ok {
		return c.used(state, now)
	}
	_, look := d.Decide(slices.Clone(state), now, Ask{})
	return uint64(max(look.Limit-max(look.Remaining, 0), 0))
}

// allowanceOf is how many events d grants a new key at now. Tiers count together, and so do the
// buckets of a marker.
func allowanceOf(d Decider, now int64) uint64 {
	_, limit := usage(d, make([]uint64, len(Rule{Decider: d}.leaves())), now)
	return limit
}

// usage is how many events d has used up at now, and its limit, if its leaves have used up the
// given numbers. All has as many left as the part that has least, and owes as many as the part that
// owes most.
//
// The limit of a policy of another package may depend on the instant, and on what the key has done
// before. To count more than the limit of a new key would look like a debt.
func usage(d Decider, used []uint64, now int64) (n, limit uint64) {
	c, ok := d.(*composed)
	if !ok {
		if d, ok := d.(counter); ok {
			return used[0], d.allowance()
		}
		_, look := d.Decide(make([]uint64, d.Words()), now, Ask{})
		limit = uint64(max(look.Limit, 1))
		return min(used[0], limit), limit
	}
	for i := range c.parts {
		u, l := usage(c.parts[i].Decider, own(c, used, i), now)
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

// usageIn is the usage of the words of the leaves of d.
func usageIn(d Decider, words [][]uint64, now int64) (n, limit uint64) {
	used := make([]uint64, len(words))
	for i, leaf := range (Rule{Decider: d}).leaves() {
		used[i] = usedOf(leaf.Decider, words[i], now)
	}
	return usage(d, used, now)
}

// lasting is for how long events that were granted at the instant at would count for a leaf of d,
// if they used it up.
func lasting(d Decider, at int64) (longest time.Duration) {
	for _, leaf := range (Rule{Decider: d}).leaves() {
		d := leaf.Decider
		if s, ok := d.(sliding); ok { // Per, although an event counts for up to twice as long, to a falling share
			longest = max(longest, time.Duration(s.width*s.buckets))
			continue
		}
		n := int(min(allowanceOf(d, at), math.MaxInt))
		_, a := d.Decide(make([]uint64, d.Words()), at, Ask{N: n, Mode: Regardless})
		longest = max(longest, a.ResetAfter)
	}
	return longest
}

// A core is the algorithm of a policy whose states are two words, or three, which often fit in one.
// It takes them by value, because a slice that is passed to an interface is allocated.
type core interface {
	decide(s words, now int64, ask Ask) (words, Answer)
	expiry(s words) int64
	usage(s words, now int64) uint64 // used, of a counter
	valid(s words) bool              // reports whether the policy may have left s
	counts() any
	allowance() uint64
}

// words are a state of a core.
type words struct{ first, second, third uint64 }

// pairOf is the state of a core that has the first two words.
func pairOf(state []uint64) words { return words{state[0], state[1], 0} }

func (s words) slice() []uint64 { return []uint64{s.first, s.second, s.third} }

// stored is the Decider of a core. It keeps the state as two words, or packed in one.
type stored struct {
	core
	packing
}

// A packing is how a state is kept in one word: the counts in the low bits, the first word before
// them. The largest count that bits can hold stands for the largest uint64. With the zero packing,
// states are not packed.
type packing struct {
	bits int // of a count; at most 64
	n    int // counts that there are: one or two
}

func (p packing) unpack(word uint64) words {
	if p.n == 1 {
		return words{word >> p.bits, p.count(word), 0}
	}
	return words{word >> (2 * p.bits), p.count(word >> p.bits), p.count(word)}
}

func (p packing) pack(s words) uint64 {
	word := s.first<<p.bits | min(s.second, p.most())
	if p.n > 1 {
		word = word<<p.bits | min(s.third, p.most())
	}
	return word
}

func (p packing) most() uint64 { return 1<<p.bits - 1 }

func (p packing) count(word uint64) uint64 {
	if count := word & p.most(); count < p.most() {
		return count
	}
	return math.MaxUint64
}

func (d stored) load(state []uint64) words {
	if d.bits == 0 {
		return pairOf(state)
	}
	return d.unpack(state[0])
}

func (d stored) Words() int {
	if d.bits == 0 {
		return 2
	}
	return 1
}

// Decide implements [Decider] for a packed state. Deciders of two words have a Decide of their own,
// because to copy the answer once more takes 10 to 20 % of a Take.
func (d stored) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	s, a := d.decide(d.unpack(state[0]), now, ask)
	state[0] = d.pack(s)
	return state, a
}

func (d stored) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return d.expiry(d.load(state))
}

func (d stored) sound(state []uint64) bool { return len(state) == d.Words() && d.valid(d.load(state)) }

func (d stored) used(state []uint64, now int64) uint64 { return d.usage(d.load(state), now) }

func (d stored) widen(state []uint64) []uint64 { return d.load(state).slice()[:1+d.n] }

func (d stored) narrow(wide []uint64) []uint64 {
	s := pairOf(wide)
	if d.n > 1 {
		s.third = wide[2]
	}
	return []uint64{d.pack(s)}
}
