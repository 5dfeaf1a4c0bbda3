package weir

import (
	"reflect"
	"slices"
)

// A compound is a [Decider] whose state is made of those of several parts.
type compound interface {
	// split is the parts, with what each has of the state.
	split(state []uint64, now int64) []splitPart

	// join makes a state of the words of the parts.
	join(words [][]uint64, now int64) []uint64

	// every tells that every part must grant an event, and not any of them.
	every() bool
}

type splitPart struct {
	policy  Policy // nil if it is not known
	decider Decider
	words   []uint64
}

// A lone decider is taken for a compound of one part.
type lone struct{ Decider }

func (d lone) split(state []uint64, _ int64) []splitPart {
	return []splitPart{{nil, d.Decider, state}}
}

func (lone) join(words [][]uint64, _ int64) []uint64 { return words[0] }
func (lone) every() bool                             { return false }

func several(d Decider) bool {
	_, ok := d.(compound)
	return ok
}

func asCompound(d Decider) compound {
	if c, ok := d.(compound); ok {
		return c
	}
	return lone{d}
}

// carryParts is Carry if from or to has several parts. What was used up is carried from part to part.
//
// If every part must grant, a part of to that from has, too, keeps its state. The others are carried in
// their order. If from has more of these, each of to gets what leaves it the least. If to has more,
// the last of them start with as many events used as were used of those of from. Where all parts of from
// are kept that is none: by a new part, to only denies more than it would without.
//
// If any part may grant, it is the same if from and to are of one kind and have as many. Else each
// part of to gets what leaves it the least: a part that comes and goes would be an allowance that comes
// back. Of a SingleRateMarker, where one bucket earns after the other, that would be what the one that does not
// earn has left, and to and fro neither would ever earn; so it is taken for a single bucket.
func carryParts(from, to Decider, state []uint64, now int64) (carried []uint64, exact, ok bool) {
	if !several(from) && !several(to) {
		return nil, false, false
	}
	f, t := asCompound(from), asCompound(to)
	every := f.every() || t.every()
	if every && !f.every() {
		f = lone{from}
	}
	if every && !t.every() {
		t = lone{to}
	}
	old := f.split(append([]uint64(nil), state...), now)
	neu := t.split(make([]uint64, to.Words()), now)
	words, exact := make([][]uint64, len(neu)), true
	byPlace := every || reflect.TypeOf(from) == reflect.TypeOf(to) && len(old) == len(neu)
	if d, ok := f.(*singleRate); ok && !byPlace {
		old = []splitPart{d.sum(state)}
	}
	for i, sources := range carrySources(old, neu, byPlace) {
		var same bool
		words[i], same = sources.carry(neu[i], now)
		exact = exact && same
	}
	return t.join(words, now), exact, true
}

// carrySources are what each of neu is carried from.
func carrySources(old, neu []splitPart, byPlace bool) []carrySource {
	sources := make([]carrySource, len(neu))
	if !byPlace {
		for i := range sources {
			sources[i].parts = old
		}
		return sources
	}
	left := slices.Clone(old)
	var others []int // of neu
	for i := range neu {
		if j := slices.IndexFunc(left, neu[i].like); j >= 0 {
			sources[i].parts = []splitPart{left[j]}
			left = slices.Delete(left, j, j+1)
		} else {
			others = append(others, i)
		}
	}
	for k, i := range others {
		sources[i].parts = left
		switch {
		case k >= len(left):
			sources[i].events = true
		case len(left) <= len(others):
			sources[i].parts = left[k : k+1]
		}
	}
	return sources
}

// A carrySource is the parts that a new one may be carried from; it gets of them what leaves it the least.
type carrySource struct {
	parts  []splitPart
	events bool // carries events used, and not their share of the allowance
}

func (s carrySource) carry(to splitPart, now int64) (words []uint64, exact bool) {
	words, exact = to.words, true
	var least Answer
	for i, from := range s.parts {
		carried, same := from.carry(to, s.events, now)
		_, look := to.decider.Decide(carried, now, Ask{})
		if i == 0 || look.Remaining < least.Remaining ||
			look.Remaining == least.Remaining && look.ResetAfter > least.ResetAfter {
			words, exact, least = carried, same, look
		}
	}
	return words, exact
}

func (p splitPart) carry(to splitPart, events bool, now int64) (words []uint64, exact bool) {
	switch {
	case p.like(to):
		return slices.Clone(p.words), true
	case !events || several(p.decider): // Limit and Remaining of several do not tell how many were used
		return Carry(p.decider, to.decider, p.words, now)
	}
	_, look := p.decider.Decide(p.words, now, Ask{})
	used := look.Limit - look.Remaining
	words, _ = to.decider.Decide(slices.Clone(to.words), now, Ask{N: used, How: Regardless})
	return words, used == 0
}

// like tells whether both have the same policy.
func (p splitPart) like(q splitPart) bool {
	if p.policy != nil && q.policy != nil {
		return reflect.DeepEqual(p.policy, q.policy)
	}
	return reflect.TypeOf(p.decider) == reflect.TypeOf(q.decider) &&
		reflect.DeepEqual(identity(p.decider), identity(q.decider))
}

// identity is what tells d from others of its type.
func identity(d Decider) any {
	switch d := d.(type) {
	case calendarWord: // remembers which window it looked up last
		return [2]any{d.limit, d.calendar}
	case calendarPair:
		return [2]any{d.limit, d.calendar}
	case interface{ policies() []Policy }:
		return d.policies()
	}
	return d
}

// policies are those of the parts, in the order in which the parts are kept.
func (c *composed) policies() []Policy {
	var ps []Policy
	for _, p := range c.parts {
		ps = append(ps, p.policy)
	}
	return ps
}

func (c *composed) split(state []uint64, _ int64) []splitPart {
	parts := make([]splitPart, len(c.parts))
	for i, p := range c.parts {
		from, to := c.span(state, i)
		parts[p.index] = splitPart{p.policy, p.Decider, state[from:to:to]}
	}
	return parts
}

func (c *composed) join(words [][]uint64, _ int64) []uint64 {
	state := make([]uint64, c.words)
	for i, p := range c.parts {
		from, to := c.span(state, i)
		state = c.put(state, i, from, to, words[p.index])
	}
	return state
}

// split takes All in All for one.
func (d *allDecider) split(state []uint64, now int64) []splitPart {
	var parts []splitPart
	for _, p := range d.composed.split(state, now) {
		if inner, ok := p.decider.(*allDecider); ok {
			parts = append(parts, inner.split(p.words, now)...)
		} else {
			parts = append(parts, p)
		}
	}
	return parts
}

func (d *allDecider) join(words [][]uint64, now int64) []uint64 {
	parts := d.composed.split(make([]uint64, d.words), now)
	own := make([][]uint64, len(parts))
	for i, p := range parts {
		n := 1
		if inner, ok := p.decider.(*allDecider); ok {
			n = len(inner.split(p.words, now))
			own[i] = inner.join(words[:n], now)
		} else {
			own[i] = words[0]
		}
		words = words[n:]
	}
	return d.composed.join(own, now)
}

func (d *allDecider) every() bool   { return true }
func (d *tiersDecider) every() bool { return false }
