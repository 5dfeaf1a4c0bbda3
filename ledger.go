package weir

import (
	"math"
	"slices"
)

// A Ledger is for implementers of stores. It is the state of a key for which several policies have
// counted events. This happens after a change of policy, and if limiters of one name have different
// policies. The zero Ledger is the state of a new key.
//
// If another policy than the request's has written a state, the store makes a Ledger of it, and
// calls [Ledger.Decide]. If Decide reports a change, the store keeps the Ledger that it returns.
//
// The rules of a Ledger:
//
//   - Each policy counts only the events that it grants.
//   - Each policy other than the request's may have used up a share of its limit, such as a half.
//     The request's policy is charged the same share of its own limit. The sum of these charges is
//     rounded down to whole events.
//   - The charge ends when the other policies have recovered. It lasts at most for the time in
//     which the charged policy recovers from a fully used allowance (for a [SlidingWindow]: Per).
//     This time begins with the last grant of the other policies. The state of a Plain Ledger does
//     not record when that was: the time then begins with the first request for events under a
//     policy other than the Ledger's. Each component of [All] is charged separately.
//   - Policies that count in the same way share their counts, such as two FixedWindows that differ
//     only in Limit.
//
// A change of policy therefore gives no fresh allowance, whatever the order of changes. No change
// locks a key out.
type Ledger struct {
	// By lists the policies whose counts are in Words.
	By []Rule

	// Plain reports that By has one policy, and that Words is its state.
	Plain bool

	// Words must not be changed. If Plain is false, the meaning of Words may change with each
	// release of weir.
	Words []uint64
}

// Decide decides on ask with a rule. It returns the Ledger that the store must keep, and whether
// that Ledger differs from l. It returns an error that wraps [ErrRequest] if it finds in l Words
// that the rules of l never write. now must be at least 0.
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
// A Store can keep both numbers beside the Ledger. In a process that does not know the policy of
// the rule, the Store can then give the rule a Decider that computes Limit and Remaining from them.
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

// The words of a ledger are:
//
//   - its rest
//   - for each entry, the instants of its first and its last grant, that of its end, and the
//     numbers of its events and of its leaves
//   - behind these, for each leaf of the entry, the number of its account, its most, and a length
//   - behind the length of an account that no earlier entry has: which of all leaves counted in it
//     last, its promise and its words
//
// An entry without leaves has one account, whose words are the plain state of its policy. It was
// written by a process that does not know the policy. Such a process keeps all words of an entry as
// they are.
//
// The length is the number of words of the last item. It is zero for an account that an earlier
// entry has.

// open takes a Ledger apart. It reports false if a ledger never writes such words.
func (g *ledger) open(l Ledger, now int64) bool {
	switch {
	case len(l.By) == 0:
		return len(l.Words) == 0
	case l.Plain:
		// It is not known when the last event was granted, nor how many were granted in all: a
		// SlidingWindow, for example, still counts only some of them.
		e := g.entry(l.By[0])
		e.last, e.net = now, math.MaxUint64
		g.entries = []tally{e}
		return g.entries[0].fill(l.Words, now)
	}
	r := reader{words: l.Words}
	w := r.take(3)
	if w == nil || w[1]|w[2] > maxInstant {
		return false
	}
	g.rest = rest{w[0], int64(w[1]), int64(w[2])}
	var leaves []Rule
	for i, by := range l.By {
		if w = r.take(5); w == nil || w[0]|w[1]|w[2] > maxInstant || w[4] > uint64(len(r.words)) {
			return false
		}
		e := newTally(by)
		e.accounts, e.most = make([]*account, max(w[4], 1)), make([]uint64, max(w[4], 1))
		of := e.leaves()
		switch {
		case w[4] == 0: // fill checks the words
			of = make([]Rule, 1)
		case len(of) != len(e.accounts):
			return false
		}
		for j, leaf := range of {
			if e.accounts[j], e.most[j] = r.account(leaf, i); e.accounts[j] == nil {
				return false
			}
		}
		if e.until = int64(w[2]); w[4] == 0 {
			state := e.accounts[0].words
			if e = new(ledger).entry(by); !e.fill(state, now) {
				return false
			}
		}
		e.began, e.last, e.net = int64(w[0]), int64(w[1]), w[3]
		g.entries, leaves = append(g.entries, e), append(leaves, of...)
	}
	for i, a := range r.accounts {
		if r.counted[i] >= uint64(len(leaves)) || !a.readableBy(leaves[r.counted[i]]) {
			return false
		}
	}
	return len(r.words) == 0
}

// A reader reads the words of a ledger.
type reader struct {
	words    []uint64 // that are left
	accounts []*account
	counted  []uint64 // which of all leaves did last, in each
	entries  []int    // the last entry that has each
}

// take returns the next n words, or nil if there are fewer.
func (r *reader) take(n uint64) (next []uint64) {
	if n <= uint64(len(r.words)) {
		next, r.words = r.words[:n:n], r.words[n:]
	}
	return next
}

// account reads the account of a leaf of an entry, and its most. It returns nil if the account
// cannot be that leaf's, or is already that of another leaf of the entry.
func (r *reader) account(leaf Rule, entry int) (a *account, most uint64) {
	w := r.take(3)
	if w == nil || w[0] > uint64(len(r.accounts)) {
		return nil, 0
	}
	if w[0] == uint64(len(r.accounts)) {
		of := r.take(w[2])
		if len(of) < 2 || of[1] > maxInstant {
			return nil, 0
		}
		r.counted, r.entries = append(r.counted, of[0]), append(r.entries, -1)
		r.accounts = append(r.accounts, &account{words: of[2:], promised: int64(of[1])})
	}
	if a = r.accounts[w[0]]; r.entries[w[0]] == entry || !a.readableBy(leaf) {
		return nil, 0
	}
	r.entries[w[0]] = entry
	return a, w[1]
}

// readableBy reports whether a leaf can have left the words of an account. The account is then the
// leaf's. A leaf that is not known can have left any, and leaves the account to one that is known.
func (a *account) readableBy(leaf Rule) bool {
	switch {
	case leaf.Decider == nil || a.Decider != nil && leaf.unknown():
		return true
	case a.Decider == nil || a.unknown():
		a.Rule = leaf
		return sound(leaf.Decider, a.words)
	case leaf.like(a.Rule):
		a.Rule = leaf
		return true
	}
	return false
}

// close puts a Ledger together again. If only one policy counts after its own grant, the result is
// the plain state of that policy, which does not say when the last grant was. A debt is rounded up
// there, as in a state that was always plain.
func (g *ledger) close(by Rule, now int64, granted bool, mode GrantMode) (l Ledger) {
	g.settle(now)
	if len(g.entries) == 0 {
		return l
	}
	if len(g.entries) == 1 && g.rest.share == 0 && granted && g.find(by) == 0 && slices.Max(g.entries[0].promised()) <= now {
		if state, whole := g.entries[0].plain(); whole || mode == Regardless {
			return Ledger{By: []Rule{g.entries[0].by}, Plain: true, Words: state}
		}
	}
	w := []uint64{g.rest.share, uint64(g.rest.last), uint64(g.rest.until)}
	var leaves []Rule
	for _, e := range g.entries {
		leaves = append(leaves, e.leaves()...)
	}
	opened, numbers := 0, map[*account]int{} // of leaves, and of the accounts that are written
	for _, e := range g.entries {
		l.By = append(l.By, e.by)
		n := len(e.accounts)
		if e.sealed {
			n = 0
		}
		w = append(w, uint64(e.began), uint64(e.last), uint64(e.until), e.net, uint64(n))
		for i, a := range e.accounts {
			number, written := numbers[a]
			var words []uint64
			if !written {
				number = len(numbers)
				numbers[a] = number
				counted := -1
				if !a.unknown() {
					counted = slices.IndexFunc(leaves, a.same)
				}
				if counted < 0 { // its entry is gone, or has such leaves only
					counted = opened + i
				}
				words = append([]uint64{uint64(counted), uint64(a.promisedBeside(leaves[counted]))}, a.words...)
			}
			w = append(w, uint64(number), e.most[i], uint64(len(words)))
			w = append(w, words...)
		}
		opened += len(e.accounts)
	}
	l.Words = w
	return l
}
