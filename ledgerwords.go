package weir

import (
	"math"
	"slices"
)

// The words of a ledger are:
//
//   - its rest
//   - for each entry, the instants of its first and its last grant, that of its end, and the numbers
//     of its events and of its leaves
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
	for _, by := range l.By {
		if w = r.take(5); w == nil || w[0]|w[1]|w[2] > maxInstant || w[4] > uint64(len(r.words)) {
			return false
		}
		e := newTally(by)
		of := e.leaves()
		switch {
		case w[4] == 0:
			of = make([]Rule, 1)
		case by.unknown():
			of = slices.Repeat(of, int(w[4]))
		case w[4] != uint64(len(of)):
			return false
		}
		for _, leaf := range of {
			a, most := r.account(leaf)
			if a == nil || slices.Contains(e.accounts, a) {
				return false
			}
			e.accounts, e.most = append(e.accounts, a), append(e.most, most)
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
}

// take returns the next n words, or nil if there are fewer.
func (r *reader) take(n uint64) (next []uint64) {
	if n <= uint64(len(r.words)) {
		next, r.words = r.words[:n:n], r.words[n:]
	}
	return next
}

// account reads the account of a leaf, and its most. It returns nil if it is none of that leaf.
func (r *reader) account(leaf Rule) (a *account, most uint64) {
	w := r.take(3)
	if w == nil || w[0] > uint64(len(r.accounts)) {
		return nil, 0
	}
	if w[0] == uint64(len(r.accounts)) {
		of := r.take(w[2])
		if len(of) < 2 || of[1] > maxInstant {
			return nil, 0
		}
		r.counted = append(r.counted, of[0])
		r.accounts = append(r.accounts, &account{words: of[2:], promised: int64(of[1])})
	}
	if a = r.accounts[w[0]]; !a.readableBy(leaf) {
		return nil, 0
	}
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

// fill sets what a new entry has counted to a state of its policy. It reports false if the policy
// never leaves that state.
func (e *tally) fill(state []uint64, now int64) bool {
	if !sound(e.by.Decider, state) {
		return false
	}
	words := split(e.by.Decider, state)
	for i, a := range e.accounts {
		a.words = widen(e.by.leaves()[i].Decider, words[i])
		e.until = max(e.until, a.gone())
		e.most[i] = usedOf(a.Decider, a.words, now)
	}
	e.sealed = e.by.unknown()
	return true
}

// plain is what the accounts of an entry have counted, as a state of its policy. It reports false
// if that would lose something.
func (e tally) plain() (state []uint64, whole bool) {
	words := make([][]uint64, len(e.accounts))
	whole = true
	for i, leaf := range e.by.leaves() {
		a := e.accounts[i]
		words[i] = narrow(leaf.Decider, a.words)
		whole = whole && slices.Equal(widen(leaf.Decider, words[i]), a.words)
	}
	return join(e.by.Decider, words), whole
}

// close puts a Ledger together again. If only one policy counts after its own grant, the result is
// the plain state of that policy, which does not say when the last grant was. A debt is rounded up
// there, as in a state that was always plain.
func (g *ledger) close(by Rule, now int64, granted bool, mode GrantMode) (l Ledger) {
	g.settle(now)
	if len(g.entries) == 0 {
		return l
	}
	if len(g.entries) == 1 && g.rest.share == 0 && granted && g.find(by) == 0 && g.entries[0].promised() <= now {
		if state, whole := g.entries[0].plain(); whole || mode == Regardless {
			return Ledger{By: []Rule{g.entries[0].by}, Plain: true, Words: state}
		}
	}
	w := []uint64{g.rest.share, uint64(g.rest.last), uint64(g.rest.until)}
	var known []*account
	var leaves []Rule
	for _, e := range g.entries {
		leaves = append(leaves, e.leaves()...)
	}
	opened := 0 // of leaves
	for _, e := range g.entries {
		l.By = append(l.By, e.by)
		n := len(e.accounts)
		if e.sealed {
			n = 0
		}
		w = append(w, uint64(e.began), uint64(e.last), uint64(e.until), e.net, uint64(n))
		for i, a := range e.accounts {
			at, words := slices.Index(known, a), []uint64(nil)
			if at < 0 {
				counted := slices.IndexFunc(leaves, a.same)
				if counted < 0 || a.unknown() { // its entry is gone, or has such leaves only
					counted = opened + i
				}
				promised := a.promisedBeside(leaves[counted])
				at, words = len(known), append([]uint64{uint64(counted), uint64(promised)}, a.words...)
				known = append(known, a)
			}
			w = append(w, uint64(at), e.most[i], uint64(len(words)))
			w = append(w, words...)
		}
		opened += len(e.accounts)
	}
	l.Words = w
	return l
}
