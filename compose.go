package weir

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/weir-go/weir/internal/text"
)

// Components returns the policies that p is composed of by [All] or [Tiers], in the order in which
// they were given. It returns nil for other policies.
func Components(p Policy) []Policy {
	if l, ok := p.(interface{ policies() []Policy }); ok {
		return l.policies()
	}
	return nil
}

// A list holds policies, however many, in a value that can be compared with ==. Limiters of equal
// compositions then share their states, as those of equal single policies do.
//
// An empty list is nil. Any other is the unique handle of a node, which is compared and hashed as
// fast as a pointer. A policy of another package may be a value that Go cannot compare. The list
// that begins with it, and all lists that contain that one, then hold their node without a handle.
// They cannot be compared either.
type list struct{ node any }

type node struct {
	first Policy
	rest  list
}

func newList(policies []Policy) list {
	var l list
	unequal := false
	for _, p := range slices.Backward(policies) {
		p = valueOf(p)
		n := node{p, l}
		if unequal = unequal || !reflect.ValueOf(p).Comparable(); unequal {
			l = list{n}
		} else {
			l = list{unique.Make(n)}
		}
	}
	return l
}

// form is the text form of a policy that consists of others, of any number and kind.
func (l *list) form() text.Form {
	return listForm(l.policies(), func(policies []Policy) (must string) {
		*l = newList(policies)
		return ""
	})
}

func (l list) policies() []Policy {
	var ps []Policy
	for l.node != nil {
		n, ok := l.node.(node)
		if !ok {
			n = l.node.(unique.Handle[node]).Value()
		}
		ps, l = append(ps, n.first), n.rest
	}
	return ps
}

// goString returns the %#v form of a composition.
func (l list) goString(name string) string {
	var parts []string
	for _, p := range l.policies() {
		parts = append(parts, fmt.Sprintf("%#v", p))
	}
	return "weir." + name + "(" + strings.Join(parts, ", ") + ")"
}

// saySame reports whether p and q are equal policies, each given as a value or as a pointer.
func saySame(p, q Policy) bool {
	p, q = valueOf(p), valueOf(q)
	if reflect.TypeOf(p) != reflect.TypeOf(q) {
		return false
	}
	if parts := Components(p); parts != nil {
		return slices.EqualFunc(parts, Components(q), saySame)
	}
	return reflect.DeepEqual(p, q)
}

// composed is the Decider of [All] and of [Tiers]. It lays out the states of its parts as one. The
// words of parts that never grow come first, each at its place. The parts that may grow follow, one
// after the other. Their lengths stand before them, except that of the last, which has the rest.
type composed struct {
	parts  []part // in their order
	tiers  bool   // else All
	shape  string // equal for compositions of the same form, whatever their leaves are
	leaves []Rule
	paid   []int // see chargesAt
	order  []int // in which the parts decide; in All, the last part that may grow decides last
	grows  bool
	words  int // of a new state
	fixed  int // words that come before the parts that may grow

	wide func() Decider // see wideOf; made once, when a policy first changes
}

type part struct {
	Rule
	admitWord wordAdmitter // Decider if it is one, else nil
	limit     int          // of admitWord
	admit     admitter     // likewise

	from, to int // its leaves
	size     int // words of a new state
	at       int // where its words start, or -1 if it may grow

	// length is the place of the word that has the length of a part that may grow. The word is the
	// length less size, and therefore zero in a new state. length is -1 for the last of these
	// parts.
	length int
}

func (p *part) grows() bool { return p.at < 0 }

// newComposed returns the composition of policies for a kind of composition, whose name stands in
// the errors.
func newComposed(kind string, policies []Policy) (Decider, error) {
	if len(policies) == 0 {
		return nil, fmt.Errorf("weir: %s of no policies, must be at least 1", kind)
	}
	c := &composed{parts: make([]part, len(policies)), tiers: kind == "Tiers"}
	var errs []error
	for i, policy := range policies {
		p := &c.parts[i]
		p.Rule = Rule{Policy: policy, id: new(byte)}
		if isNil(policy) {
			errs = append(errs, fmt.Errorf("weir: component %d of %s is %s, must be a Policy", i, kind, nilText(policy)))
			continue
		}
		var err error
		p.Decider, err = deciderOf(policy)
		errs = append(errs, text.Within(fmt.Sprintf("component %d of %s", i, kind), err)...)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	c.layOut()
	if c.words > maxWords {
		return nil, fmt.Errorf("weir: %s of %d policies takes %d words for a key, must be at most %d",
			kind, len(policies), c.words, maxWords)
	}
	c.shape = kind
	for _, p := range c.parts {
		c.shape += "(" + shape(p.Decider) + ")"
	}
	c.wide = sync.OnceValue(c.makeWide)
	return c, nil
}

func (c *composed) makeWide() Decider {
	w := &composed{parts: slices.Clone(c.parts), tiers: c.tiers, shape: c.shape}
	for i := range w.parts {
		w.parts[i].Decider = wideOf(w.parts[i].Decider)
	}
	w.layOut()
	return w
}

func (c *composed) layOut() {
	last := len(c.parts) - 1
	for i := range c.parts {
		p := &c.parts[i]
		p.size = p.Decider.Words()
		if p.admitWord, _ = p.Decider.(wordAdmitter); p.admitWord != nil {
			p.limit = int(p.admitWord.allowance())
		}
		p.admit, _ = p.Decider.(admitter)
		p.from = len(c.leaves)
		c.leaves = append(c.leaves, p.leaves()...)
		p.to = len(c.leaves)
		c.words += p.size
		if p.at = c.fixed; mayGrow(p.Decider) {
			p.at, c.grows, last = -1, true, i
		} else {
			c.fixed += p.size
		}
	}
	c.paid = chargesAt(c.leaves)
	for i := range c.parts {
		p := &c.parts[i]
		if p.length = -1; p.grows() && i != last {
			p.length = c.fixed
			c.fixed++
			c.words++
		}
		if c.tiers || i != last {
			c.order = append(c.order, i)
		}
	}
	if !c.tiers {
		c.order = append(c.order, last)
	}
}

// mayGrow reports whether the states of d may differ in size. This holds for a policy of another
// package, unless it is a WordDecider.
func mayGrow(d Decider) bool {
	switch d := d.(type) {
	case *composed:
		return d.grows
	case grower:
		return true
	case counter, WordDecider:
		return false
	}
	return true
}

func (c *composed) Words() int { return c.words }

func (c *composed) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !c.laidOut(state) {
		return state, broken()
	}
	var results []Result
	if ask.ByComponent != nil {
		*ask.ByComponent = slices.Grow((*ask.ByComponent)[:0], len(c.parts))[:len(c.parts)]
		results = *ask.ByComponent
	}
	ask.ByComponent, ask.MaxWait = nil, 0
	ask.Charges = c.charges(ask)
	if b := ask.beside; b != nil && len(b.promised) != len(c.leaves) { // a policy of another package hands on its own
		ask.beside = nil
	}
	decide := (*composed).askAll
	if c.tiers {
		decide = (*composed).askTiers
	}
	granted := 0
	if ask.Mode == UpTo && ask.N > 0 {
		var look Answer
		state, look = decide(c, state, now, Ask{}, nil)
		granted = min(ask.N, look.Remaining)
		ask.N, ask.Mode = max(granted, 1), AllOrNone
	}
	state, a := decide(c, state, now, ask, results)
	if a.Allowed {
		a.Granted = granted
	}
	if ask.More && a.Remaining < a.Limit { // one event more is denied, which changes nothing
		var more Answer
		state, more = decide(c, state, now, Ask{N: a.Remaining + 1}, nil)
		a.MoreAfter = more.RetryAfter
	}
	return state, a
}

// Expiry implements [Decider]. A composed state expires when all its parts have expired.
func (c *composed) Expiry(state []uint64) int64 {
	last := int64(0)
	walk(c, state, func(leaf Decider, words []uint64) { last = max(last, leaf.Expiry(words)) })
	return last
}
