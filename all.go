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
//   - RetryAfter is the longest of the parts', and Never if one part can never grant.
//   - ResetAfter is the longest of the parts'.
//   - Part tells which part denied; of several, the one with the longest RetryAfter. In a grant it is
//     the part with the least Remaining. It counts from zero, in the order given; of equals it is the
//     first.
//
// [Keyed.TakeParts] gives each part's own Result, too.
//
// [Keyed.TakeUpTo] grants as many events as every part has. What is given back, every part gets
// back. [Keyed.Wait] books ahead if all parts are [TokenBucket] or [LeakyBucket], or All of
// such; the place is then that of the slowest. With any other part it asks again when all parts may
// grant: a window counts events when they go ahead, and has no place for those of later.
//
// The parts can be of any kind, [Tiers] and All too. A grant costs what they cost together, and the
// look-up once; a denial up to twice that, if the last part is the one that denies. The state is the
// words of all parts. To be able to undo, a decision copies those of all parts but one, beyond 32
// words with an allocation. Of parts that may grow, which are [SlidingLog] and policies of other
// packages, one is not copied; each of the others takes a word more.
//
// New refuses All of no policies, and one with a part that is nil or that it would refuse alone.
func All(policies ...Policy) Policy { return all{newList(policies)} }

type all struct{ parts list }

// GoString implements [fmt.GoStringer].
func (p all) GoString() string { return goString("All", p.parts) }

// Decider implements [Policy].
func (p all) Decider() (Decider, error) {
	c, err := newComposed("All", p.parts.policies())
	if err != nil {
		return nil, err
	}
	d := &allDecider{composed: *c, queue: true}
	for i := range d.parts {
		d.queue = d.queue && keepsQueue(d.parts[i].Decider)
	}
	// The parts that grow decide last: what has decided before the last one may have to be undone.
	slices.SortStableFunc(d.parts, func(p, q part) int {
		switch {
		case p.grows == q.grows:
			return 0
		case q.grows:
			return -1
		}
		return 1
	})
	return d, nil
}

// keepsQueue tells whether d may grant events for a later instant.
func keepsQueue(d Decider) bool {
	if d, ok := d.(*allDecider); ok {
		return d.queue
	}
	_, ok := d.(bucketDecider)
	return ok
}

type allDecider struct {
	composed
	queue bool // whether each part keeps one
}

// Decide implements [Decider].
func (d *allDecider) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	sum := allSum{results: ask.Parts}
	ask.Parts = nil
	if !d.queue {
		ask.MaxWait = 0
	}
	if ask.How != UpTo || ask.N <= 0 {
		return d.decide(state, now, ask, sum)
	}
	state, look := d.decide(state, now, Ask{}, allSum{})
	n := min(ask.N, look.Remaining)
	ask.N, ask.How = max(n, 1), AllOrNone
	state, a := d.decide(state, now, ask, sum)
	if a.Allowed {
		a.Granted = n
	}
	return state, a
}

// savedWords is how many words can be saved without an allocation.
const savedWords = 32

// decide asks one part after the other, and undoes it if one denies.
func (d *allDecider) decide(state []uint64, now int64, ask Ask, sum allSum) ([]uint64, Answer) {
	var room [savedWords]uint64
	saved := room[:0]
	if ask.N > 0 {
		saved = append(saved, state[:d.undone(state)]...)
	}
	sum.start(ask, len(d.parts))
	var a Answer
	for i := range d.parts {
		if state = d.ask(state, i, now, ask, &a); !a.Allowed {
			return d.deny(d.restore(state, saved), now, ask, sum, i, &a)
		}
		sum.add(d.parts[i].index, &a)
	}
	return state, sum.answer()
}

// undone is how much of the state there is to save: all that comes before the part that decides
// last. If that one denies it has changed nothing, and if it grants all have granted.
func (d *allDecider) undone(state []uint64) int {
	from, _ := d.span(state, len(d.parts)-1)
	return from
}

func (d *allDecider) restore(state, saved []uint64) []uint64 {
	if to := d.undone(state); to != len(saved) {
		return slices.Replace(state, 0, to, saved...)
	}
	copy(state, saved)
	return state
}

// deny is the answer when part denier answered denial. All that was granted by others is undone.
func (d *allDecider) deny(state []uint64, now int64, ask Ask, sum allSum, denier int, denial *Answer) ([]uint64, Answer) {
	sum.start(ask, len(d.parts))
	var a Answer
	for i := range d.parts {
		if i != denier {
			state = d.would(state, now, ask, i, &a)
			sum.add(d.parts[i].index, &a)
		} else {
			sum.add(d.parts[i].index, denial)
		}
	}
	return state, sum.answer()
}

// would is what part i says to ask, which is denied by another: its denial, or a look if it would
// grant.
func (d *allDecider) would(state []uint64, now int64, ask Ask, i int, a *Answer) []uint64 {
	state = d.ask(state, i, now, Ask{}, a)
	if a.Remaining >= ask.N && ask.MaxWait <= 0 {
		return state
	}
	if _, log := d.parts[i].Decider.(eventLog); log && ask.How == AllOrNone {
		return d.ask(state, i, now, ask, a) // denies, and so need not be saved, which may be long
	}
	var room [savedWords]uint64
	from, to := d.span(state, i)
	saved := append(room[:0], state[from:to]...)
	look := *a
	state = d.ask(state, i, now, ask, a)
	if a.Allowed {
		_, to = d.span(state, i)
		state = d.put(state, i, from, to, saved)
		look.Delay = a.Delay
		*a = look
	}
	return state
}

// admit implements admitter.
func (d *allDecider) admit(state []uint64, now int64) ([]uint64, bool) {
	var room [savedWords]uint64
	saved := append(room[:0], state[:d.undone(state)]...)
	for i := range d.parts {
		var granted bool
		state, granted = d.composed.admit(state, i, now)
		if !granted {
			return d.restore(state, saved), false
		}
	}
	return state, true
}

// An allSum makes one answer of those of the parts.
type allSum struct {
	Answer
	results  *[]Result // of the parts, if asked for
	back     bool      // events are given back
	tightest int       // the part with the least Remaining
}

func (s *allSum) start(ask Ask, parts int) {
	s.Answer = Answer{Result: Result{Allowed: true, Limit: math.MaxInt, Remaining: math.MaxInt}}
	if s.back = ask.N < 0; s.back {
		s.Delay = math.MaxInt64
	}
	s.tightest = math.MaxInt
	if s.results != nil {
		*s.results = resized(*s.results, parts)
	}
}

// add adds the answer of the part with that index. They come in any order.
func (s *allSum) add(index int, a *Answer) {
	if s.results != nil {
		(*s.results)[index] = a.Result
	}
	if a.Remaining < s.Remaining || a.Remaining == s.Remaining && index < s.tightest {
		s.Remaining, s.tightest = a.Remaining, index
	}
	s.Limit = min(s.Limit, a.Limit)
	s.ResetAfter = max(s.ResetAfter, a.ResetAfter)
	if s.back {
		s.Delay = min(s.Delay, a.Delay)
	} else {
		s.Delay = max(s.Delay, a.Delay)
	}
	if a.Allowed {
		return
	}
	if s.Allowed || a.RetryAfter > s.RetryAfter || a.RetryAfter == s.RetryAfter && index < s.Part {
		s.Part = index
	}
	s.Allowed, s.RetryAfter = false, max(s.RetryAfter, a.RetryAfter)
	s.QueueFull = s.QueueFull || a.QueueFull
}

func (s *allSum) answer() Answer {
	if s.Allowed {
		s.Part = s.tightest
	}
	return s.Answer
}
