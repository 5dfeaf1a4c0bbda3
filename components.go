package weir

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unique"
)

// Components returns the policies that p is composed of by [All] or [Tiers], in the order in which
// they were given. It returns nil for other policies.
func Components(p Policy) []Policy {
	switch p := p.(type) {
	case all:
		return p.parts.policies()
	case tiers:
		return p.parts.policies()
	}
	return nil
}

// A list is policies in a value that can be compared with ==, however many they are. Limiters of
// equal compositions then share their states, as those of equal single policies do.
//
// It is nil, or the unique handle of a node: to compare and to hash a list then takes no longer
// than to do so with a pointer. From a policy on that cannot be compared it is the node itself.
type list struct{ node any }

type node struct {
	first Policy
	rest  list
}

func newList(policies []Policy) list {
	var l list
	unequal := false
	for _, p := range slices.Backward(policies) {
		n := node{p, l}
		if unequal = unequal || !reflect.ValueOf(p).Comparable(); unequal {
			l = list{n}
		} else {
			l = list{unique.Make(n)}
		}
	}
	return l
}

// set sets l to policies of any number and kind.
func (l *list) set(policies []Policy) (must string) {
	*l = newList(policies)
	return ""
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
func goString(name string, l list) string {
	var b strings.Builder
	for _, p := range l.policies() {
		fmt.Fprintf(&b, ", %#v", p)
	}
	return "weir." + name + "(" + strings.TrimPrefix(b.String(), ", ") + ")"
}

// saySame reports whether p and q are equal policies, each given as a value or as a pointer.
func saySame(p, q Policy) bool {
	p, _ = kindOf(p)
	q, _ = kindOf(q)
	if reflect.TypeOf(p) != reflect.TypeOf(q) {
		return false
	}
	if parts := Components(p); parts != nil {
		return slices.EqualFunc(parts, Components(q), saySame)
	}
	return reflect.DeepEqual(p, q)
}
