package weir_test

import (
	"math"
	"slices"

	"github.com/weir-go/weir"
)

// An allModel is what All says, on the models of its parts: each has a state of its own, and what is
// denied by one is never put to the others.
type allModel struct {
	parts []model
	queue bool // whether each part keeps one
}

// A tiersModel is what Tiers says, in the same way.
type tiersModel struct{ tiers []model }

// A stateModel asks a policy itself, on a state that it shares with no one. It serves as the model of
// a part for asks and policies that have no other.
type stateModel struct {
	weir.Decider
	state []uint64
}

func (m stateModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	next, a := m.Decide(slices.Clone(m.state), now, ask)
	m.state = next
	return a, m
}

func newStateModel(p weir.Policy) model {
	d, err := p.Decider()
	if err != nil {
		panic(err)
	}
	return stateModel{d, make([]uint64, d.Words())}
}

func newAllModel(part func(weir.Policy) model, policies ...weir.Policy) model {
	m := allModel{queue: true}
	for _, p := range policies {
		m.parts = append(m.parts, part(p))
		m.queue = m.queue && isBucket(p)
	}
	return m
}

func newTiersModel(part func(weir.Policy) model, policies ...weir.Policy) model {
	m := tiersModel{}
	for _, p := range policies {
		m.tiers = append(m.tiers, part(p))
	}
	return m
}

func isBucket(p weir.Policy) bool {
	switch p.(type) {
	case weir.TokenBucket, weir.LeakyBucket:
		return true
	}
	return false
}

// asks puts the same ask to each, and tells how many have granted it.
func asks(models []model, now int64, ask weir.Ask) (answers []weir.Answer, next []model, granted int) {
	for _, m := range models {
		a, n := m.ask(now, ask)
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
	if !m.queue {
		ask.MaxWait = 0
	}
	if ask.How == weir.UpTo && ask.N > 0 {
		look, _ := m.ask(now, weir.Ask{})
		n := min(ask.N, look.Remaining)
		a, next, results := m.askAll(now, weir.Ask{N: max(n, 1)})
		a.Granted = n
		return a, next, results
	}
	answers, next, granted := asks(m.parts, now, ask)
	if granted < len(m.parts) {
		looks, _, _ := asks(m.parts, now, weir.Ask{})
		for i := range answers {
			if answers[i].Allowed {
				looks[i].Delay = answers[i].Delay
				answers[i] = looks[i]
			}
		}
		next = m.parts
	}

	sum := answers[0]
	sum.Part = 0
	for i, a := range answers {
		switch {
		case sum.Allowed && a.Allowed && a.Remaining < sum.Remaining,
			sum.Allowed && !a.Allowed,
			!a.Allowed && a.RetryAfter > sum.RetryAfter:
			sum.Part = i
		}
		sum.Allowed = sum.Allowed && a.Allowed
		sum.Limit = min(sum.Limit, a.Limit)
		sum.Remaining = min(sum.Remaining, a.Remaining)
		sum.RetryAfter = max(sum.RetryAfter, a.RetryAfter)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
		sum.QueueFull = sum.QueueFull || a.QueueFull
		if ask.N < 0 {
			sum.Delay = min(sum.Delay, a.Delay)
		} else {
			sum.Delay = max(sum.Delay, a.Delay)
		}
	}
	return sum, allModel{next, m.queue}, resultsOf(answers)
}

func resultsOf(answers []weir.Answer) []weir.Result {
	var rs []weir.Result
	for _, a := range answers {
		rs = append(rs, a.Result)
	}
	return rs
}

func (m tiersModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	a, next, _ := m.askTiers(now, ask)
	return a, next
}

func (m tiersModel) askTiers(now int64, ask weir.Ask) (weir.Answer, model, []weir.Result) {
	looks, _, _ := asks(m.tiers, now, weir.Ask{})
	most := 0
	for _, l := range looks {
		most = max(most, l.Remaining)
	}
	last := len(m.tiers) - 1
	ask.MaxWait = 0
	pays := -1 // the tier that does
	var granted int
	switch {
	case ask.N == 0:
		return m.sum(now, looks, max(0, slices.IndexFunc(looks, func(l weir.Answer) bool { return l.Remaining > 0 })))
	case ask.N < 0:
		for i, l := range looks {
			if l.Remaining < l.Limit {
				pays = i
			}
		}
		if pays < 0 {
			return m.sum(now, looks, 0)
		}
		m.tiers = slices.Clone(m.tiers)
		_, m.tiers[pays] = m.tiers[pays].ask(now, ask)
		looks, _, _ = asks(m.tiers, now, weir.Ask{})
		return m.sum(now, looks, pays)
	case ask.How == weir.UpTo:
		granted = min(ask.N, most)
		ask.N, ask.How = max(granted, 1), weir.AllOrNone
	}

	regardless := ask.How == weir.Regardless
	ask.How = weir.AllOrNone
	answers, next, _ := asks(m.tiers, now, ask)
	pays = slices.IndexFunc(answers, func(a weir.Answer) bool { return a.Allowed })
	if pays < 0 && regardless {
		ask.How = weir.Regardless
		answers[last], next[last] = m.tiers[last].ask(now, ask)
		pays = last
	}
	if pays < 0 {
		first := 0
		for i, a := range answers {
			if a.RetryAfter < answers[first].RetryAfter {
				first = i
			}
		}
		a, _, results := m.sum(now, answers, first)
		a.Allowed, a.RetryAfter = false, answers[first].RetryAfter
		return a, m, results
	}
	m.tiers = slices.Clone(m.tiers)
	m.tiers[pays] = next[pays]
	copy(answers[pays+1:], looks[pays+1:])
	a, left, results := m.sum(now, answers, pays)
	a.Granted = granted
	return a, left, results
}

// sum is the answer of a grant, and m itself.
func (m tiersModel) sum(_ int64, answers []weir.Answer, part int) (weir.Answer, model, []weir.Result) {
	sum := weir.Answer{Result: weir.Result{Allowed: true, Part: part}}
	for _, a := range answers {
		sum.Limit = max(sum.Limit, a.Limit)
		sum.Remaining = max(sum.Remaining, a.Remaining)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
	}
	return sum, m, resultsOf(answers)
}

var _ = math.MaxInt
