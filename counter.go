package weir

import (
	"math"
	"reflect"
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

// A grower is a counter whose states differ in size: they grow with what was counted. It denies
// every request [AllOrNone] for more events than remain.
type grower interface {
	// keepsMore reports whether d keeps more of what it has counted than other, which counts alike
	// with another limit.
	keepsMore(other Decider) bool
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

// sameDecider reports whether two Deciders decide alike. A calendar has a cache, which decisions
// change, so windows are compared by what they count and by their limit.
func sameDecider(c, d Decider) bool {
	type anyWindow interface{ definition() any }
	if w, ok := c.(anyWindow); ok && reflect.TypeOf(c) == reflect.TypeOf(d) {
		return w.definition() == d.(anyWindow).definition()
	}
	return reflect.DeepEqual(c, d)
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
		if s, ok := d.(*eventCounts); ok { // Per, although an event counts for up to twice as long, to a falling share
			longest = max(longest, time.Duration(s.Width*s.Buckets))
			continue
		}
		full := [][]uint64{make([]uint64, d.Words())}
		charge(d, full, at, allowanceOf(d, at))
		longest = max(longest, untilInstant(at, d.Expiry(full[0])))
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

// store sets a state of two words.
func (s words) store(state []uint64) { state[0], state[1] = s.first, s.second }

// twoWords keeps the state of a core as it is.
//
// Its methods and those of oneWord have pointers as receivers. Deciders that embed them would
// otherwise copy the answer once more, which takes 10 to 20 % of a Take.
type twoWords struct{ core }

func (d *twoWords) Words() int { return 2 }

func (d *twoWords) Decide(state []uint64, now int64, ask Ask) (_ []uint64, a Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	var s words
	s, a = d.decide(pairOf(state), now, ask)
	s.store(state)
	return state, a
}

func (d *twoWords) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return d.expiry(pairOf(state))
}

func (d *twoWords) sound(state []uint64) bool { return len(state) == 2 && d.valid(pairOf(state)) }

func (d *twoWords) used(state []uint64, now int64) uint64 { return d.usage(pairOf(state), now) }

// oneWord packs the state of a core in one word: the counts in the low bits, the first word before
// them. The largest count that bits can hold stands for the largest uint64.
type oneWord struct {
	core
	bits uint // of a count; at most 64
	n    int  // counts that there are: one or two
}

func (d *oneWord) unpack(word uint64) words {
	if d.n == 1 {
		return words{word >> d.bits, d.count(word), 0}
	}
	return words{word >> (2 * d.bits), d.count(word >> d.bits), d.count(word)}
}

func (d *oneWord) pack(s words) uint64 {
	word := s.first<<d.bits | min(s.second, d.largest())
	if d.n > 1 {
		word = word<<d.bits | min(s.third, d.largest())
	}
	return word
}

func (d *oneWord) largest() uint64 { return 1<<d.bits - 1 }

func (d *oneWord) count(word uint64) uint64 {
	if count := word & d.largest(); count < d.largest() {
		return count
	}
	return math.MaxUint64
}

func (d *oneWord) Words() int { return 1 }

func (d *oneWord) Decide(state []uint64, now int64, ask Ask) (_ []uint64, a Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	state[0], a = d.DecideWord(state[0], now, ask)
	return state, a
}

func (d *oneWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	s, a := d.decide(d.unpack(state), now, ask)
	return d.pack(s), a
}

func (d *oneWord) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return d.expiry(d.unpack(state[0]))
}

func (d *oneWord) sound(state []uint64) bool { return len(state) == 1 && d.valid(d.unpack(state[0])) }

func (d *oneWord) used(state []uint64, now int64) uint64 { return d.usage(d.unpack(state[0]), now) }

func (d *oneWord) widen(state []uint64) []uint64 { return d.unpack(state[0]).slice()[:1+d.n] }

func (d *oneWord) narrow(wide []uint64) []uint64 {
	s := pairOf(wide)
	if d.n > 1 {
		s.third = wide[2]
	}
	return []uint64{d.pack(s)}
}
