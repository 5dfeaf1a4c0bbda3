package weir

import (
	"math"
	"slices"

	"github.com/weir-go/weir/internal/exact"
)

// A Rule is for implementers of stores. It is a policy and its algorithm.
type Rule struct {
	Policy  Policy // nil if it is not known
	Decider Decider

	// Tag is the number by which a store identifies this rule in a Ledger. Two rules with the same
	// nonzero Tag are the same.
	Tag uint64

	// id is of a leaf of a composed policy. Without it a policy with a function in it would not
	// even be the same as itself.
	id *byte
}

// same reports whether two rules are the same. Rules whose policies are not known are the same if
// their Tags and Deciders are equal. A policy of this package is the same with and without its
// defaults: the state of a TokenBucket does not say whether its Burst was left out.
func (r Rule) same(s Rule) bool {
	return r.Tag != 0 && r.Tag == s.Tag || r.id != nil && r.id == s.id ||
		r.Policy != nil && saySame(r.Policy, s.Policy) ||
		(r.Policy == nil && s.Policy == nil && r.Tag == s.Tag || countsOf(r.Decider) != nil) &&
			sameDecider(r.Decider, s.Decider)
}

// unknown reports whether no more is known of a rule than what it has used up: see [Ledger.Usage].
func (r Rule) unknown() bool {
	_, known := r.Decider.(*composed) // its leaves have their policies
	return r.Policy == nil && !known && countsOf(r.Decider) == nil
}

// leaves are the policies in r that are not themselves composed, in their order. A marker is one
// leaf: its buckets count together.
func (r Rule) leaves() []Rule {
	if c, ok := r.Decider.(*composed); ok {
		return c.leaves
	}
	return []Rule{r}
}

// leaves are those of the policy. If the policy is not known, each stands for the whole policy.
func (e tally) leaves() []Rule {
	if e.unknown() {
		return slices.Repeat([]Rule{e.Rule}, max(len(e.accounts), 1))
	}
	return e.Rule.leaves()
}

// chargesAt returns where the Charges of each leaf begin among those of all, and where the last ones
// end. A marker has one for each of its buckets.
func chargesAt(leaves []Rule) []int {
	at := make([]int, 1, len(leaves)+1)
	for i, l := range leaves {
		n := 1
		switch l.Decider.(type) {
		case *singleRate, *twoRate:
			n = 2
		}
		at = append(at, at[i]+n)
	}
	return at
}

// like reports whether the states of two leaves mean the same.
func (r Rule) like(s Rule) bool {
	if c := countsOf(r.Decider); c != nil {
		return c == countsOf(s.Decider)
	}
	return r.same(s)
}

// shape is equal for deciders that are composed in the same way, and empty for one that is not.
func shape(d Decider) string {
	if c, ok := d.(*composed); ok {
		return c.shape
	}
	return ""
}

// isAll reports whether d is the Decider of [All].
func isAll(d Decider) bool {
	c, ok := d.(*composed)
	return ok && !c.tiers
}

// sameShape reports whether the leaves of two rules are alike, and composed in the same way.
func sameShape(r, s Rule) bool {
	return shape(r.Decider) == shape(s.Decider) && slices.EqualFunc(r.leaves(), s.leaves(), Rule.like)
}

// walk calls do with each leaf of d, in their order, and the words of state that belong to it. It
// reports whether each part has its words there. If not, it walks a new state instead.
func walk(d Decider, state []uint64, do func(leaf Decider, words []uint64)) (whole bool) {
	c, ok := d.(*composed)
	if !ok {
		do(d, state)
		return true
	}
	if whole = c.laidOut(state); !whole { // it denies whatever is asked
		state = make([]uint64, c.words)
	}
	for i := range c.parts {
		from, to := c.span(state, i)
		whole = walk(c.parts[i].Decider, state[from:to:to], do) && whole
	}
	return whole
}

// sound checks the places of the parts, and each part.
func (c *composed) sound(state []uint64) bool {
	all := true
	return walk(c, state, func(leaf Decider, words []uint64) { all = all && sound(leaf, words) }) && all
}

// laidOut reports whether each part has its words in a state. A part that may grow can have fewer
// words than in a new state, if it is a policy of another package.
func (c *composed) laidOut(state []uint64) bool {
	least := c.fixed
	if len(state) < least || !c.grows {
		return len(state) == least
	}
	rest := false
	for i := range c.parts {
		p := &c.parts[i]
		switch {
		case p.length >= 0:
			more := int64(state[p.length])
			if more < -int64(p.size) || more > int64(len(state)-least-p.size) {
				return false
			}
			least += p.size + int(more)
		case p.grows():
			rest = true
		}
	}
	return len(state) == least || rest && len(state) > least
}

// span is where the words of part i lie in the state.
func (c *composed) span(state []uint64, i int) (from, to int) {
	p := &c.parts[i]
	if !p.grows() {
		return p.at, p.at + p.size
	}
	from = c.fixed
	for j := range c.parts[:i] {
		if q := &c.parts[j]; q.grows() {
			from += q.size + int(state[q.length])
		}
	}
	if p.length < 0 {
		return from, len(state)
	}
	return from, from + p.size + int(state[p.length])
}

// split returns the words of a state that belong to each leaf of d.
func split(d Decider, state []uint64) (words [][]uint64) {
	walk(d, state, func(_ Decider, of []uint64) { words = append(words, of) })
	return words
}

// join makes a state of d from the words of its leaves.
func join(d Decider, words [][]uint64) []uint64 {
	c, ok := d.(*composed)
	if !ok {
		return slices.Clone(words[0])
	}
	state := make([]uint64, c.words)
	for i := range c.parts {
		from, to := c.span(state, i)
		state = c.put(state, i, from, to, join(c.parts[i].Decider, own(c, words, i)))
	}
	return state
}

// own returns the elements of part i, if all has one element for each leaf of c.
func own[T any](c *composed, all []T, i int) []T {
	p := &c.parts[i]
	return all[p.from:p.to:p.to]
}

// charge counts n events on the words of the leaves of d, whether they fit or not. Tiers are
// charged from the last to the first, each for as many events as it has left. Events beyond that
// are charged to none.
func charge(d Decider, words [][]uint64, now int64, n uint64) {
	c, ok := d.(*composed)
	if !ok {
		for n > 0 { // a marker may have more than an ask can name
			part := min(n, math.MaxInt)
			words[0], _ = d.Decide(words[0], now, Ask{N: int(part), Mode: Regardless})
			n -= part
		}
		return
	}
	for i := range slices.Backward(c.parts) {
		part, of, m := c.parts[i].Decider, own(c, words, i), n
		if c.tiers {
			used, limit := usageIn(part, of, now)
			m = min(n, limit-min(used, limit))
			n -= m
		}
		charge(part, of, now, m)
	}
}

// A unit is a part of a policy that counts each of the policy's events. It is a leaf that is in no
// Tiers, or Tiers as a whole, because only one of them pays.
type unit struct {
	decider  Decider
	from, to int // its leaves
}

// units returns the units of d, whose first leaf has the number from.
func units(d Decider, from int) []unit {
	c, ok := d.(*composed)
	if !ok || c.tiers {
		return []unit{{d, from, from + len(Rule{Decider: d}.leaves())}}
	}
	var us []unit
	for i := range c.parts {
		us = append(us, units(c.parts[i].Decider, from+c.parts[i].from)...)
	}
	return us
}

// units are those of the policy.
func (e tally) units() []unit {
	if e.unknown() {
		return []unit{{e.Decider, 0, len(e.accounts)}}
	}
	return units(e.Decider, 0)
}

// A place is where an event of a unit may count: a leaf, or one of the tiers. A place counts alike
// in two policies if both have its accounts in the same composition: tiers count an event in one of
// them, and All in each.
type place struct {
	shape    string
	accounts []*account
}

func (p place) same(q place) bool {
	return p.shape == q.shape && slices.Equal(p.accounts, q.accounts)
}

// places returns the places of the unit in a policy that has the given accounts.
func (u unit) places(accounts []*account) []place {
	accounts = accounts[u.from:u.to]
	c, ok := u.decider.(*composed)
	if !ok {
		return []place{{"", accounts}}
	}
	var all []place
	for i := range c.parts {
		all = append(all, place{shape(c.parts[i].Decider), own(c, accounts, i)})
	}
	return all
}

// usage is how much an entry has used up: the usage of the unit of which the largest share is used
// up. Places in counted are left out, because the policy that is asked has them, too, and counts
// their events itself.
func (e tally) usage(counted []place, now int64) (used, limit uint64) {
	for _, u := range e.units() {
		var own []uint64
		all := true
		for _, p := range u.places(e.accounts) {
			has := slices.ContainsFunc(counted, p.same)
			all = all && has
			for range p.accounts {
				own = append(own, 0)
				if !has {
					own[len(own)-1] = e.used(u.from+len(own)-1, now)
				}
			}
		}
		if all { // each event of e has a place here
			return 0, 1
		}
		if n, of := usage(u.decider, own, now); limit == 0 || exact.Mul(used, of).Less(exact.Mul(n, limit)) {
			used, limit = n, of
		}
	}
	return used, limit
}
