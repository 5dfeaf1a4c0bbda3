package weir

import (
	"math"
	"slices"
)

// All returns the policy that grants what each of the policies grants: several limits at once. What
// it grants is charged to all of them, in one step, and what one of them denies is charged to none.
// It has one state for a key, and so needs one look-up, and works on every [Store] as a single policy
// does.
//
// Its answers keep the rules that those of single policies do:
//
//   - Limit and Remaining are the least of the parts'.
//   - RetryAfter is the longest of the parts', and [Never] if one part can never grant.
//   - ResetAfter is the longest of the parts'.
//   - Part tells which part denied; of several, the one with the longest RetryAfter. In a grant it is
//     the part with the least Remaining. It counts from zero, in the order given; of equals it is the
//     first.
//
// [Keyed.TakeParts] gives each part's own Result, too.
//
// [Keyed.TakeUpTo] grants as many events as every part has. What is given back, every part gets
// back. All books nothing ahead: [Keyed.Wait] asks again when all parts may grant, and
// [Keyed.Reserve] grants what there is now, or denies.
//
// The parts can be of any kind, [Tiers] and All too. A grant costs what they cost together, and the
// look-up once; a denial up to twice that, if the last part is the one that denies. The state is the
// words of all parts. To be able to undo, a decision copies those of all parts but one, beyond 32
// words with an allocation. Of parts that may grow, which are [SlidingLog] and policies of other
// packages, one is not copied; each of the others takes a word more.
//
// New refuses All of no policies, and one with a part that is nil or that it would refuse alone. The
// new state of a key may have 100,002 words at most, as that of the largest [SlidingWindow] has.
func All(policies ...Policy) Policy { return all{newList(policies)} }

type all struct{ parts list }

// GoString implements [fmt.GoStringer].
func (p all) GoString() string { return goString("All", p.parts) }

// Decider implements [Policy].
func (p all) Decider() (Decider, error) {
	return newComposed("All", p.parts.policies())
}

// savedWords is how many words can be saved without an allocation.
const savedWords = 32

// askAll asks one part after the other, and undoes it if one denies.
func (c *composed) askAll(state []uint64, now int64, ask Ask, results []Result) ([]uint64, Answer) {
	var room [savedWords]uint64
	saved := room[:0]
	if ask.N != 0 {
		saved = append(saved, state[:c.undone(state)]...)
	}
	sum, denier := newAllSum(results), -1
	var a Answer
	for _, i := range c.order {
		state = c.ask(state, i, now, ask, &a)
		if !a.Allowed && ask.N != 0 { // a part denies a look if its state is not sound
			sum, denier = newAllSum(results), i
			sum.add(i, &a)
			break
		}
		sum.add(i, &a)
	}
	if denier < 0 {
		return state, sum.Answer
	}
	state = c.restore(state, saved)
	if ask.Charges != nil {
		clear(*ask.Charges)
		ask.Charges = nil
	}
	for i := range c.parts {
		if i != denier {
			state = c.would(state, now, ask, i, &a)
			sum.add(i, &a)
		}
	}
	return state, sum.Answer
}

// undone is how much of the state there is to save: all that comes before the part that decides
// last. If that one denies it has changed nothing, and if it grants all have granted.
func (c *composed) undone(state []uint64) int {
	from, _ := c.span(state, c.order[len(c.order)-1])
	return from
}

func (c *composed) restore(state, saved []uint64) []uint64 {
	if to := c.undone(state); to != len(saved) {
		return slices.Replace(state, 0, to, saved...)
	}
	copy(state, saved)
	return state
}

// would is what part i says to ask, which is denied by another: its denial, or a look if it would
// grant.
func (c *composed) would(state []uint64, now int64, ask Ask, i int, a *Answer) []uint64 {
	state = c.ask(state, i, now, Ask{}, a)
	if a.Remaining >= ask.N {
		return state
	}
	if _, log := c.parts[i].Decider.(eventLog); log && ask.How == AllOrNone {
		return c.ask(state, i, now, ask, a) // denies, and so need not be saved, which may be long
	}
	var room [savedWords]uint64
	from, to := c.span(state, i)
	saved := append(room[:0], state[from:to]...)
	look := *a
	state = c.ask(state, i, now, ask, a)
	if a.Allowed {
		_, to = c.span(state, i)
		state = c.put(state, i, from, to, saved)
		*a = look
	}
	return state
}

// An allSum makes one answer of those of the parts.
type allSum struct {
	Answer
	results []Result // of the parts, if asked for
}

func newAllSum(results []Result) allSum {
	return allSum{Answer{Result: Result{Allowed: true, Limit: math.MaxInt, Remaining: math.MaxInt, Part: math.MaxInt}}, results}
}

// add adds the answer of part i. They come in any order. Part is that with the least Remaining, or, if one
// denies, that with the longest RetryAfter; of equals it is the first.
func (s *allSum) add(i int, a *Answer) {
	if s.results != nil {
		s.results[i] = a.Result
	}
	switch { // where another part is told
	case a.Allowed && (!s.Allowed || a.Remaining > s.Remaining || a.Remaining == s.Remaining && i > s.Part):
	case !a.Allowed && !s.Allowed && (a.RetryAfter < s.RetryAfter || a.RetryAfter == s.RetryAfter && i > s.Part):
	default:
		s.Part = i
	}
	s.Allowed = s.Allowed && a.Allowed
	s.Limit = min(s.Limit, a.Limit)
	s.Remaining = min(s.Remaining, a.Remaining)
	s.RetryAfter = max(s.RetryAfter, a.RetryAfter)
	s.ResetAfter = max(s.ResetAfter, a.ResetAfter)
}
