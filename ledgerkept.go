package weir

import (
	"cmp"
	"slices"

	"github.com/weir-go/weir/internal/exact"
)

// maxEntries bounds how many policies a ledger counts separately. The counts of other policies are
// kept as one share of the limit, which every policy is charged.
const maxEntries = 4

// ledger is a Ledger taken apart.
type ledger struct {
	entries []tally // the one that was granted events last is the last
	rest    rest
}

// A tally is an entry of a ledger: a policy that has granted events, and what they count.
type tally struct {
	Rule                // its Decider is wide: the words of accounts are not packed
	by       Rule       // as the store knows it
	began    int64      // the earliest instant of a grant, or 0 if it is not known
	last     int64      // when it last granted events, at the latest
	until    int64      // its events count until then at most
	net      uint64     // events that it granted, less those that were given back
	accounts []*account // of its leaves; entries whose leaves count alike share them
	most     []uint64   // of each leaf: how many of the events that its account counts are the entry's own, at most
	sealed   bool       // its only account is the plain state of a policy that is not known
}

// An account is what a leaf has counted, in the form of its state.
type account struct {
	Rule     // of the leaf that counted in it last
	words    []uint64
	promised int64 // until then a booking may lie ahead that was made with other numbers than the leaf's
}

// gone is the instant from which on no event of the account counts, whatever else is counted.
func (a *account) gone() int64 {
	if s, ok := a.Decider.(*eventCounts); ok {
		return s.gone(a.words)
	}
	return a.Decider.Expiry(a.words)
}

// promisedBeside is the instant until which a booking may lie ahead that was made with other
// numbers than those of the leaf l.
func (a *account) promisedBeside(l Rule) int64 {
	if l.same(a.Rule) {
		return a.promised
	}
	if b, ok := a.Decider.(*bucketPair); ok {
		return max(a.promised, b.goesAhead(exact.Load(a.words)))
	}
	return a.promised
}

// set makes words what a leaf has counted in an account. It reports whether the account changes: a
// tier that did not pay leaves it as it is.
func (a *account) set(leaf Rule, words []uint64) (changed bool) {
	if slices.Equal(a.words, words) {
		return false
	}
	*a = account{Rule: leaf, words: words, promised: a.promisedBeside(leaf)}
	return true
}

// state is what the accounts of an entry have counted, as a state of its policy.
func (e tally) state() []uint64 {
	words := make([][]uint64, len(e.accounts))
	for i, a := range e.accounts {
		words[i] = a.words
	}
	return join(e.Decider, words)
}

// plain is state, packed as the policy packs its states. It reports false if that would lose
// something.
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

// promised is, for each leaf, the instant until which a booking may lie ahead that the numbers of
// an entry do not show.
func (e tally) promised() []int64 {
	promised := make([]int64, len(e.accounts))
	for i, l := range e.leaves() {
		promised[i] = e.accounts[i].promisedBeside(l)
	}
	return promised
}

// promisedBut is what a give-back to the entry must know of bookings: see beside. While the grant
// that is given back lies ahead, by the numbers of the policy that made it, it is the last booking
// if the state ends with it. Once it has gone ahead, the bookings that lie ahead are others.
func (e tally) promisedBut(by Rule, now int64, ask Ask) []int64 {
	promised := e.promised()
	if ask.GrantedAt == 0 {
		return promised
	}
	own := newTally(by).leaves()
	paid := chargesAt(own)
	for i, l := range own {
		b, ok := l.Decider.(*bucketPair)
		if !ok {
			continue
		}
		promised[i] = cmp.Or(promised[i], -1)
		if ask.Charges == nil || len(*ask.Charges) != paid[len(own)] {
			continue
		}
		end := (*ask.Charges)[paid[i]].paid(ask.GrantedAt, b.rate)
		switch at := b.goesAhead(end); {
		case at <= now:
		case end == exact.Load(e.accounts[i].words):
			promised[i] = 0
		default:
			promised[i] = at
		}
	}
	return promised
}

// freed sets the accounts of an entry to a state in which some of its own events were given back.
func (e tally) freed(state []uint64, now int64) {
	leaves := e.leaves()
	for i, words := range split(e.Decider, state) {
		a, leaf := e.accounts[i], leaves[i]
		used := usedOf(leaf.Decider, a.words, now)
		e.most[i] -= min(e.most[i], used-min(used, usedOf(leaf.Decider, words, now)))
		a.set(leaf, words)
	}
}

// rest stands for entries beyond maxEntries.
type rest struct {
	share uint64 // that they have used, in parts of wholeShare
	last  int64  // when they were granted events, at the latest
	until int64  // when they count no more
}

const wholeShare = 1 << 32

func (g *ledger) expiry() int64 {
	last := g.rest.until
	for _, e := range g.entries {
		last = max(last, e.expiry())
	}
	return last
}

// expiry is the instant from which on the accounts of an entry count nothing.
func (e tally) expiry() (last int64) {
	for _, a := range e.accounts {
		last = max(last, a.Decider.Expiry(a.words))
	}
	return last
}

// settle drops entries that no longer count. For the others, it lowers the bounds on how many
// events are the entry's own. While there is a rest that counts, the last entry is kept with it,
// even if that entry has ended. Which entries are left depends only on now, and not on the instants
// at which the ledger was settled before.
func (g *ledger) settle(now int64) {
	if over(g.rest.until, now) {
		g.rest = rest{}
	}
	kept := g.entries[:0]
	for i, e := range g.entries {
		if over(e.end(), now) && (i < len(g.entries)-1 || g.rest.share == 0) {
			continue
		}
		for leaf := range e.most {
			if !e.unknown() {
				e.most[leaf] = e.used(leaf, now)
			}
		}
		kept = append(kept, e)
	}
	g.entries = kept
}

// over reports whether an entry or a rest whose end is at the instant end has ended at now. The
// last instant also stands for all later instants. An entry that ends there therefore never ends.
func over(end, now int64) bool { return end <= now && end < maxInstant }

// end is the instant from which on no event that e was granted counts. If a later entry shares an
// account with e, the account then counts events of that entry only.
func (e tally) end() int64 { return min(e.expiry(), e.until) }

// used is how much of a leaf an entry has used up: the events that the leaf's account counts, but
// no more than can be the entry's own.
func (e tally) used(leaf int, now int64) uint64 {
	if over(e.until, now) {
		return 0
	}
	if e.unknown() {
		return usedOf(e.Decider, e.accounts[leaf].words, now)
	}
	return min(usedOf(e.leaves()[leaf].Decider, e.accounts[leaf].words, now), e.most[leaf])
}

// find is the index of the entry that has the shape of a rule, or -1. There are several if they
// were written by a process that does not know that they count alike. The entry of the rule itself
// goes before others.
func (g *ledger) find(by Rule) int {
	found := -1
	for i, e := range g.entries {
		if sameShape(by, e.Rule) && (found < 0 || by.Tag == e.by.Tag && by.same(e.by)) {
			found = i
		}
	}
	return found
}

// keepsMore reports whether a leaf of e keeps more of what it has counted than the same leaf of f,
// which has the same shape.
func (e tally) keepsMore(f tally) bool {
	of := f.leaves()
	for i, l := range e.leaves() {
		if g, ok := l.Decider.(grower); ok && g.keepsMore(of[i].Decider) {
			return true
		}
	}
	return false
}

// newTally is an entry that has nothing yet.
func newTally(by Rule) tally {
	return tally{Rule: Rule{Policy: by.Policy, Decider: wideOf(by.Decider), Tag: by.Tag}, by: by}
}

// entry returns the entry of a rule with the rule's numbers. If there is none, it returns the entry
// that the rule would get.
func (g *ledger) entry(by Rule) tally {
	e := newTally(by)
	if i := g.find(by); i >= 0 {
		known := g.entries[i]
		known.Rule, known.by = e.Rule, by
		return known
	}
	ls := e.leaves()
	e.accounts, e.most = g.match(ls), make([]uint64, len(ls))
	return e
}

// match finds an account for each leaf: the account of an equal leaf in any entry, or else of a
// leaf that counts alike, or else a new one.
func (g *ledger) match(ls []Rule) []*account {
	var known []*account
	var of []Rule // whose leaf each is; several may share one
	for _, e := range g.entries {
		known, of = append(known, e.accounts...), append(of, e.leaves()...)
	}
	found := make([]*account, len(ls))
	for _, equal := range []bool{true, false} {
		for i, l := range ls {
			for j, a := range known {
				if found[i] == nil && !slices.Contains(found, a) && l.like(of[j]) && (!equal || l.same(of[j])) {
					found[i] = a
				}
			}
		}
	}
	for i, l := range ls {
		if found[i] == nil {
			found[i] = &account{Rule: l, words: make([]uint64, l.Decider.Words())}
		}
	}
	return found
}
