package weir

import (
	"reflect"
	"slices"
)

// A Ledger is for implementers of stores. It is the state of a key that several policies have left:
// after a change of policy, or if limiters of one name have different policies. The zero Ledger is
// that of a new key.
//
// A store may find a state that the policy of the request has not left by itself. It then makes a
// Ledger of that state, calls [Ledger.Decide], and keeps the Ledger that this returns.
//
// The rules of a Ledger:
//
//   - Each policy counts only the events that it grants.
//   - The share that the other policies have used up is charged to the policy of the request,
//     rounded down to whole events.
//   - The charge ends when the other policies have recovered. It ends at the latest one span of the
//     charged policy after their last grant.
//   - Policies that count alike count together, such as two of one window and different limits.
//
// A changed policy therefore gives no fresh allowance, whatever the order of changes. No change
// keeps a key shut.
type Ledger struct {
	// By is the policies that have left Words.
	By []Rule

	// Plain reports that By has one policy, and that Words is its state.
	Plain bool

	// Words must not be changed. If Plain is false, its meaning may change with a release.
	Words []uint64
}

// A Rule is for implementers of stores. It is a policy and its algorithm.
type Rule struct {
	Policy  Policy // nil if it is not known
	Decider Decider

	// Tag identifies the rules of a Ledger for the store. Two rules with the same nonzero Tag are
	// the same.
	Tag uint64
}

// same reports whether two rules are the same. A rule whose policy is not known is the same as
// itself.
func (r Rule) same(s Rule) bool {
	return r.Tag != 0 && r.Tag == s.Tag || reflect.DeepEqual(r.Policy, s.Policy) &&
		(r.Policy != nil || r.Tag == s.Tag && reflect.DeepEqual(r.Decider, s.Decider))
}

// Decide decides for a rule. It returns the Ledger that the store must keep, and whether that has
// changed. The error is that of [CheckState].
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
	next = g.close(now, granted, ask.Mode)
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

// Usage returns how many events a rule of By has used up at now, and its limit. It does not include
// events of the other rules. used may be above limit. It is for values that outlive the processes
// that know the policy.
func (l Ledger) Usage(by Rule, now int64) (used, limit uint64) {
	var g ledger
	if !g.open(l, now) {
		return 0, 0
	}
	return g.entry(by).usage(nil, now)
}

// Expiry returns the instant at which the key has fully recovered, see [Decider.Expiry].
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
