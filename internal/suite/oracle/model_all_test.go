package oracle

import (
	"slices"

	"github.com/weir-go/weir"
)

// An allModel answers as All does, from the models of its parts. Each part has a state of its own.
// A request that one part denies is never passed to the others.
type allModel struct{ parts []model }

// A stateModel asks a policy itself, on a state that it shares with no one. It serves as the model
// of a part for asks and policies that have no other.
type stateModel struct {
	weir.Decider
	state []uint64
	twin  model // is put the same asks, and tells how much is used up; nil if there is none
}

func (m stateModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	if m.twin != nil {
		_, m.twin = m.twin.ask(now, anew(ask))
	}
	next, a := m.Decide(slices.Clone(m.state), now, ask)
	m.state = next
	return a, m
}

func newStateModel(p weir.Policy, twin model) model {
	d, err := p.Decider()
	if err != nil {
		panic(err)
	}
	return stateModel{d, make([]uint64, d.Words()), twin}
}

func newAllModel(part func(weir.Policy) model, policies ...weir.Policy) model {
	m := allModel{}
	for _, p := range policies {
		m.parts = append(m.parts, part(p))
	}
	return m
}

// asks puts the same ask to each, and tells how many have granted it.
func asks(models []model, now int64, ask weir.Ask, charges []weir.Charge) (answers []weir.Answer, next []model, granted int) {
	for i, m := range models {
		a, n := askPart(m, now, ask, ownCharges(models, charges, i))
		answers, next = append(answers, a), append(next, n)
		if a.Allowed {
			granted++
		}
	}
	return answers, next, granted
}

func (m allModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	a, next, _ := m.askAll(now, ask)
	return a, next
}

// askAll is ask, with the results that the parts are to have.
func (m allModel) askAll(now int64, ask weir.Ask) (weir.Answer, model, []weir.Result) {
	ask.MaxWait = 0
	if ask.Mode == weir.UpTo && ask.N > 0 {
		look, _ := m.ask(now, weir.Ask{})
		n := min(ask.N, look.Remaining)
		a, next, results := m.askAll(now, weir.Ask{N: max(n, 1), Charges: ask.Charges})
		a.Granted = n
		return a, next, results
	}
	charges := chargesFor(m, ask)
	answers, next, granted := asks(m.parts, now, ask, charges)
	if granted < len(m.parts) {
		clear(charges)
		looks, _, _ := asks(m.parts, now, weir.Ask{}, nil)
		for i := range answers {
			if answers[i].Allowed {
				answers[i] = looks[i]
			}
		}
		next = m.parts
	}

	sum := weir.Answer{Result: answers[0].Result}
	sum.DecidedBy = 0
	for i, a := range answers {
		switch {
		case sum.Allowed && a.Allowed && a.Remaining < sum.Remaining,
			sum.Allowed && !a.Allowed,
			!a.Allowed && a.RetryAfter > sum.RetryAfter:
			sum.DecidedBy = i
		}
		sum.Allowed = sum.Allowed && a.Allowed
		sum.Limit = min(sum.Limit, a.Limit)
		sum.Remaining = min(sum.Remaining, a.Remaining)
		sum.RetryAfter = max(sum.RetryAfter, a.RetryAfter)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
	}
	return sum, allModel{next}, resultsOf(answers)
}

func resultsOf(answers []weir.Answer) []weir.Result {
	var rs []weir.Result
	for _, a := range answers {
		rs = append(rs, a.Result)
	}
	return rs
}
