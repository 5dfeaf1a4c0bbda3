package weir

import (
	"math"
	"slices"
)

// All returns a policy with several limits at once. It grants a request only if each of the
// policies grants it. A grant is charged to all of them, in one step. A denial is charged to none.
// All works with the stores of weir.
//
// A Result means the same as the Result of a single policy:
//
//   - Limit and Remaining are the smallest of the components'.
//   - RetryAfter is the longest of the components'.
//   - ResetAfter is the longest of the components'. After a change of policy it can be longer.
//   - DecidedBy is the number of a component, counted from zero in the order given. For a denial,
//     it is the component that denied. If several denied, it is the one with the longest
//     RetryAfter. For a grant, it is the component with the smallest Remaining. If several
//     components qualify, it is the first of them.
//
// [KeyedLimiter.TakeByComponent] also returns the Result of each component.
//
// With other methods:
//
//   - [KeyedLimiter.TakeUpTo] grants n events, or as many as the component that has least left can
//     grant.
//   - [KeyedLimiter.Return], [Reservation.Settle] and [Reservation.Cancel] give events back to every
//     component. Each component frees those that it can free by its own rules.
//   - All books no events for a later instant. [KeyedLimiter.Wait] asks again when all components
//     may grant. [KeyedLimiter.Reserve] grants the events now, or denies them.
//
// The components can be of any kind, including [Tiers] and All. [New] refuses All without policies,
// or with a component that is nil or itself invalid. It also refuses All if the state of a new key
// would have more than 100,002 words, the size of the largest [SlidingWindow].
//
// The costs in time and memory are:
//
//   - A grant needs the decisions of all components, but only one look-up of the key.
//   - A denial takes up to about three times as long as a grant. The worst case is that only the
//     last component denies.
//   - The state has the words of all components. It has one word more for each component whose
//     state may grow, except for one of them. The state of a component may grow if the component is
//     a [SlidingLog] or a policy of another package without a [WordDecider], or contains one of
//     these.
//   - To be able to undo a denied request, a decision copies the words of all components but one. A
//     copy of more than 32 words needs an allocation.
func All(policies ...Policy) Policy { return all{newList(policies)} }

type all struct{ list }

// GoString implements [fmt.GoStringer].
func (p all) GoString() string { return p.goString("All") }

// Decider implements [Policy].
func (p all) Decider() (Decider, error) { return newComposed("All", p.policies()) }

// String returns the text form of p, such as "all(300/1m, 15750/1h)".
func (p all) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p all) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// savedWords is the number of words that can be saved without an allocation.
const savedWords = 32

// askAll asks one component after the other. If one denies, askAll undoes what those before it have
// granted.
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

// Hold implements [Holder]. Events may be held for the shortest of the times that the components
// allow. Events of Tiers cannot be held.
func (c *composed) Hold(at int64, charges []Charge) Hold {
	if c.tiers || len(charges) != c.paid[len(c.leaves)] {
		return Hold{}
	}
	all := Hold{For: math.MaxInt64, Span: math.MaxInt64}
	for i := range c.parts {
		h, ok := c.parts[i].Decider.(Holder)
		if !ok {
			return Hold{}
		}
		one := h.Hold(at, c.charged(charges, i))
		if one.For <= 0 {
			return Hold{}
		}
		all = all.both(one)
	}
	return all
}

// undone returns how many words of the state to save: all before the component that decides last.
// If that component denies, it has changed nothing. If it grants, all have granted.
func (c *composed) undone(state []uint64) int {
	from, _ := c.span(state, c.order[len(c.order)-1])
	return from
}

func (c *composed) restore(state, saved []uint64) []uint64 {
	return slices.Replace(state, 0, c.undone(state), saved...)
}

// would returns the answer of component i to an ask that another component has denied. If i would
// deny it, that is its denial. If i would grant it, that is the answer to a look.
func (c *composed) would(state []uint64, now int64, ask Ask, i int, a *Answer) []uint64 {
	state = c.ask(state, i, now, Ask{More: ask.More}, a)
	if a.Remaining >= ask.N {
		return state
	}
	if _, grows := c.parts[i].Decider.(grower); grows && ask.Mode == AllOrNone {
		return c.ask(state, i, now, ask, a) // it denies: the state, which may be long, need not be saved
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

// An allSum combines the answers of the components into one.
type allSum struct {
	Answer
	results []Result // of the parts, if asked for
}

func newAllSum(results []Result) allSum {
	return allSum{Answer{Result: Result{Allowed: true, Limit: math.MaxInt, Remaining: math.MaxInt, DecidedBy: math.MaxInt}}, results}
}

// add adds the answer of component i. The components come in any order. DecidedBy is the one with
// the least Remaining. If a component denies, it is the one with the longest RetryAfter. Of equals
// it is the first.
func (s *allSum) add(i int, a *Answer) {
	if s.results != nil {
		s.results[i] = a.Result
	}
	switch { // another part is reported in these cases
	case a.Allowed && (!s.Allowed || a.Remaining > s.Remaining || a.Remaining == s.Remaining && i > s.DecidedBy):
	case !a.Allowed && !s.Allowed && (a.RetryAfter < s.RetryAfter || a.RetryAfter == s.RetryAfter && i > s.DecidedBy):
	default:
		s.DecidedBy = i
	}
	s.Allowed = s.Allowed && a.Allowed
	s.Limit = min(s.Limit, a.Limit)
	s.Remaining = min(s.Remaining, a.Remaining)
	s.RetryAfter = max(s.RetryAfter, a.RetryAfter)
	s.ResetAfter = max(s.ResetAfter, a.ResetAfter)
}
