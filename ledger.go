package weir

import "slices"

// A Ledger is for implementers of stores. It is the state of a key in which several policies have
// counted: after a change of policy, or if limiters of one name have different policies. The zero
// Ledger is the state of a new key.
//
// A store may find a state that was not written by the policy of the request, but by another one.
// It then makes a Ledger of that state, calls [Ledger.Decide], and keeps the Ledger that this
// returns.
//
// The rules of a Ledger:
//
//   - Each policy counts only the events that it grants.
//   - The shares that the other policies have used up are charged to the policy of the request.
//     Their sum is rounded down to whole events.
//   - The charge ends when the other policies have recovered. At the latest, it ends when the
//     charged policy would have recovered from a fully used allowance, counted from the last grant
//     of the other policies.
//   - Policies that count in the same way share their counts, such as two FixedWindows of the same
//     length with different limits.
//
// A changed policy therefore gives no fresh allowance, whatever the order of changes. No change
// locks a key out.
type Ledger struct {
	// By lists the policies whose counts are in Words.
	By []Rule

	// Plain reports that By has one policy, and that Words is its state.
	Plain bool

	// Words must not be changed. If Plain is false, its meaning may change with a release.
	Words []uint64
}

// Decide decides on ask with a rule. It returns the Ledger that the store must keep, and whether it
// differs from l. The error is an error of [CheckState].
func (l Ledger) Decide(by Rule, now int64, ask Ask) (next Ledger, a Answer, changed bool, err error) {
	if len(l.By) == 0 || l.Plain && by.same(l.By[0]) {
		return l.decidePlain(by, now, ask)
	}
	var g ledger
	if now < 0 || !g.open(l, now) {
		return l, a, false, errState
	}
	if g.settle(now); len(g.entries) == 0 && g.rest.share == 0 && ask.N >= 0 { // as of a new key
		if next, a, changed, err = (Ledger{}).decidePlain(by, now, ask); !changed {
			next = l
		}
		return next, a, changed, err
	}
	granted := false
	if ask.N < 0 {
		a, changed = g.giveBack(by, now, ask)
	} else {
		var charged bool
		a, charged = g.ask(by, now, ask)
		granted = ask.N > 0 && a.Allowed
		// A plain state does not say when its last event was granted. The first denial that it
		// causes is stored, to bound that instant.
		changed = granted || charged && l.Plain && ask.N > 0
	}
	if !changed {
		return l, a, false, nil
	}
	next = g.close(by, now, granted, ask.Mode)
	if next.Plain {
		a.ResetAfter = untilInstant(now, next.Expiry())
	}
	return next, a, true, nil
}

// decidePlain decides on a state that this rule alone has written, or on a new one.
func (l Ledger) decidePlain(by Rule, now int64, ask Ask) (next Ledger, a Answer, changed bool, err error) {
	state := slices.Clone(l.Words)
	if len(l.By) == 0 {
		state = make([]uint64, by.Decider.Words())
	} else if err := CheckState(by.Decider, state); err != nil {
		return l, a, false, err
	}
	state, a = by.Decider.Decide(state, now, ask)
	if ask.N == 0 || !a.Allowed || ask.N < 0 && (len(l.By) == 0 || slices.Equal(state, l.Words)) {
		return l, a, false, nil // a new key has nothing to give back
	}
	return Ledger{By: []Rule{by}, Plain: true, Words: state}, a, true, nil
}

// Usage returns how many events a rule of By has used up at now, and its limit. It does not include
// events of the other rules. used may be above limit.
//
// A Store can keep both numbers with a value. In a process that does not know the policy, the rule
// then has a Decider that reports them as Limit and Remaining.
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
