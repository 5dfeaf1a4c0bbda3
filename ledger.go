package weir

import (
	"reflect"
	"slices"
)

// A Ledger is the state of a key that several policies have left: after a change of policy, or where
// limiters of one name have different ones. It is for implementers of stores. A store that finds a
// state which the asking policy has not left by itself makes a Ledger of it, has that decide, and
// keeps what comes of it. The zero Ledger is that of a key never seen.
//
// Each policy counts the events that it grants, and none counts those of another. An ask is decided
// as if the share that others have used up had been charged to the asking policy, rounded down to
// whole events. That ends when the others have recovered, or the asking policy's own span after their
// last grant. Policies that count alike, such as two of one window and different limits, count
// together. So a changed policy is no fresh allowance, whatever the order of changes, and no change
// keeps a key shut.
type Ledger struct {
	// By are the policies that have left Words.
	By []Rule

	// Plain tells that there is one of them, and that Words are its state.
	Plain bool

	// Words are not to be changed; their meaning, unless they are Plain, may change with a release.
	Words []uint64
}

// A Rule is a policy, and how it decides.
type Rule struct {
	Policy  Policy // nil if it is not known
	Decider Decider

	// Tag is for the store, to know the rules of a Ledger by. Two that have the same one, unless it is
	// zero, are the same.
	Tag uint64
}

// same tells whether two rules are the same. One whose policy is not known is the same as itself.
func (r Rule) same(s Rule) bool {
	return r.Tag != 0 && r.Tag == s.Tag || reflect.DeepEqual(r.Policy, s.Policy) &&
		(r.Policy != nil || r.Tag == s.Tag && reflect.DeepEqual(r.Decider, s.Decider))
}

// Decide decides for a rule. It returns what the store is to keep, and whether that has changed. The
// error is that of [CheckState].
func (l Ledger) Decide(by Rule, now int64, ask Ask) (next Ledger, a Answer, changed bool, err error) {
	if len(l.By) == 0 || l.Plain && by.same(l.By[0]) {
		return l.decidePlain(by, now, ask)
	}
	var g ledger
	if now < 0 || !g.open(l, now) {
		return l, a, false, errState
	}
	g.settle(now)
	granted := false
	if ask.N < 0 {
		a, changed = g.giveBack(by, now, ask)
	} else {
		var charged bool
		a, charged = g.ask(by, now, ask)
		granted = ask.N > 0 && a.Allowed
		// A state does not tell when its last event was granted. A first denial because of it notes
		// that it was before.
		changed = granted || charged && l.Plain && ask.N > 0
	}
	if !changed {
		return l, a, false, nil
	}
	next = g.close(now, granted, ask.How)
	if next.Plain {
		a.ResetAfter = untilInstant(now, next.Expiry())
	}
	return next, a, true, nil
}

// decidePlain decides on a state that the rule has left by itself, or on a new one.
func (l Ledger) decidePlain(by Rule, now int64, ask Ask) (next Ledger, a Answer, changed bool, err error) {
	state := slices.Clone(l.Words)
	if len(l.By) == 0 {
		state = make([]uint64, by.Decider.Words())
	} else if err := CheckState(by.Decider, state); err != nil {
		return l, a, false, err
	}
	state, a = by.Decider.Decide(state, now, ask)
	if ask.N == 0 || !a.Allowed {
		return l, a, false, nil
	}
	return Ledger{By: []Rule{by}, Plain: true, Words: state}, a, true, nil
}

// Usage is how many events of how many one of By has used up at now, without those of others. They may be
// more than the limit. It is for values that outlive the processes which know the policy.
func (l Ledger) Usage(by Rule, now int64) (used, limit uint64) {
	var g ledger
	if !g.open(l, now) {
		return 0, 0
	}
	return g.entry(by).usage(nil, now)
}

// Expiry is the first instant from which on the key is as if never seen, see [Decider.Expiry].
func (l Ledger) Expiry() int64 {
	var g ledger
	switch {
	case l.Plain:
		return l.By[0].Decider.Expiry(l.Words)
	case g.open(l, 0):
		return g.expiry()
	}
	return 0
}
