package weir

import "math"

// Tiers returns the policy that asks the first of the policies, and where that denies the next: an
// allowance for the usual, and others for what goes beyond it. Part of the Result tells which one
// paid, so that the caller can treat the events by it: those of the first as promised, those of the
// next at a lower priority, or with a warning.
//
// All the events of an ask are paid by one tier, the first that has so many; it is denied if none
// has. The answers keep the rules that those of single policies do:
//
//   - Limit and Remaining are the largest of the tiers'. What all of them have together cannot be had at
//     once.
//   - RetryAfter is the shortest of the tiers', and Never if none can ever grant.
//   - ResetAfter is the longest of the tiers'.
//   - Part of a grant is the tier that paid, and of a denial the one that will grant first. Of a look it is the
//     first tier that has something left, or 0.
//
// [Keyed.TakeUpTo] grants as many as Remaining tells, and they are paid by one tier, too. What has
// to be charged in any case is charged to the last tier if none has so much.
//
// Events that are given back go to the last tier that is not full: it may not be the one that
// paid, but then it is one of less worth. What that one can't take is lost. So nothing is minted,
// and no tier gives out more than it would have.
//
// Tiers keep no queue: [Keyed.Wait] asks again when the first of them may grant.
//
// Each tier has a state of its own, so that this is not quite what routers do, where tiers are filled
// from one source; for that there are [SingleRateMarker] and [TwoRateMarker]. New refuses Tiers of no
// policies, and those with a tier that is nil or that it would refuse alone.
func Tiers(policies ...Policy) Policy { return tiers{newList(policies)} }

type tiers struct{ parts list }

// GoString implements [fmt.GoStringer].
func (p tiers) GoString() string { return goString("Tiers", p.parts) }

// Decider implements [Policy].
func (p tiers) Decider() (Decider, error) {
	c, err := newComposed("Tiers", p.parts.policies())
	if err != nil {
		return nil, err
	}
	return &tiersDecider{*c}, nil
}

type tiersDecider struct{ composed }

// Decide implements [Decider].
func (d *tiersDecider) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	results := ask.Parts
	ask.Parts, ask.MaxWait = nil, 0
	switch {
	case ask.N == 0:
		return d.look(state, now, results)
	case ask.N < 0:
		state, tier := d.giveBack(state, now, ask)
		state, a := d.look(state, now, results)
		a.Part = tier
		return state, a
	case ask.How == UpTo:
		state, look := d.look(state, now, nil)
		n := min(ask.N, look.Remaining)
		ask.N, ask.How = max(n, 1), AllOrNone
		state, a := d.take(state, now, ask, results)
		if a.Allowed {
			a.Granted = n
		}
		return state, a
	}
	return d.take(state, now, ask, results)
}

// take asks one tier after the other, until one pays.
func (d *tiersDecider) take(state []uint64, now int64, ask Ask, results *[]Result) ([]uint64, Answer) {
	sum := tiersSum{results: results}
	sum.start(len(d.parts))
	how := ask.How
	ask.How = AllOrNone
	var a Answer
	for i := range d.parts {
		switch {
		case sum.Allowed:
			ask = Ask{} // a look
		case i == len(d.parts)-1:
			ask.How = how
		}
		state = d.ask(state, i, now, ask, &a)
		sum.add(i, &a)
	}
	return state, sum.Answer
}

func (d *tiersDecider) look(state []uint64, now int64, results *[]Result) ([]uint64, Answer) {
	sum := tiersSum{results: results}
	sum.start(len(d.parts))
	first := 0
	var a Answer
	for i := range d.parts {
		state = d.ask(state, i, now, Ask{}, &a)
		if a.Remaining > 0 && sum.Remaining == 0 {
			first = i
		}
		sum.add(i, &a)
	}
	sum.Part = first
	return state, sum.Answer
}

// giveBack gives back to the last tier that is not full, and tells which one it is.
func (d *tiersDecider) giveBack(state []uint64, now int64, ask Ask) ([]uint64, int) {
	var a Answer
	for i := len(d.parts) - 1; i >= 0; i-- {
		state = d.ask(state, i, now, Ask{}, &a)
		if a.Remaining < a.Limit {
			return d.ask(state, i, now, ask, &a), i
		}
	}
	return state, 0
}

// admit implements admitter.
func (d *tiersDecider) admit(state []uint64, now int64) ([]uint64, bool) {
	for i := range d.parts {
		var granted bool
		if state, granted = d.composed.admit(state, i, now); granted {
			return state, true
		}
	}
	return state, false
}

// A tiersSum makes one answer of those of the tiers.
type tiersSum struct {
	Answer
	results *[]Result // of the tiers, if asked for
}

func (s *tiersSum) start(tiers int) {
	s.RetryAfter = math.MaxInt64
	if s.results != nil {
		*s.results = resized(*s.results, tiers)
	}
}

// add adds the answer of tier i. They come in their order, and those after the one that paid are looks.
func (s *tiersSum) add(i int, a *Answer) {
	if s.results != nil {
		(*s.results)[i] = a.Result
	}
	s.Limit = max(s.Limit, a.Limit)
	s.Remaining = max(s.Remaining, a.Remaining)
	s.ResetAfter = max(s.ResetAfter, a.ResetAfter)
	switch {
	case s.Allowed:
	case a.Allowed:
		s.Allowed, s.RetryAfter, s.Part = true, 0, i
	case a.RetryAfter < s.RetryAfter:
		s.RetryAfter, s.Part = a.RetryAfter, i
	}
}
