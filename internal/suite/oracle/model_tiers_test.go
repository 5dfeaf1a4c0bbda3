package oracle

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A tiersModel is what Tiers says, on the models of its tiers.
type tiersModel struct{ tiers []model }

func newTiersModel(part func(weir.Policy) model, policies ...weir.Policy) model {
	m := tiersModel{}
	for _, p := range policies {
		m.tiers = append(m.tiers, part(p))
	}
	return m
}

func (m tiersModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	a, next, _ := m.askTiers(now, ask)
	return a, next
}

func (m tiersModel) askTiers(now int64, ask weir.Ask) (weir.Answer, model, []weir.Result) {
	ask.MaxWait = 0
	charges := chargesFor(m, ask)
	granted := 0
	switch {
	case ask.N == 0:
		a, results := m.look(now)
		return a, m, results
	case ask.N < 0:
		return m.giveBack(now, ask, charges)
	case ask.Mode == weir.UpTo:
		look, _ := m.look(now)
		granted = min(ask.N, look.Remaining)
		ask.N, ask.Mode = max(granted, 1), weir.AllOrNone
	}
	regardless, short := ask.Mode == weir.Regardless, ask.N > m.left(now)
	ask.Mode = weir.AllOrNone
	last := len(m.tiers) - 1
	answers, _, _ := asks(m.tiers, now, weir.Ask{}, nil)
	pays := -1 // the tier that does
	for i := range m.tiers {
		switch {
		case short && !regardless:
			continue
		case i == last && regardless:
			ask.Mode = weir.Regardless
		case short:
			continue
		}
		a, next := askPart(m.tiers[i], now, ask, ownCharges(m.tiers, charges, i))
		if answers[i] = a; a.Allowed {
			pays = i
			m.tiers = slices.Clone(m.tiers)
			m.tiers[i] = next
			break
		}
	}
	if pays >= 0 {
		a, results := m.sum(now, answers, pays)
		a.Granted = granted
		return a, m, results
	}
	if short {
		return m.denyDebt(now, ask.N)
	}
	first := 0
	for i, a := range answers {
		if a.RetryAfter < answers[first].RetryAfter {
			first = i
		}
	}
	a, results := m.sum(now, answers, first)
	a.Allowed, a.RetryAfter = false, answers[first].RetryAfter
	return a, m, results
}

// denyDebt denies what the tiers have not got together until they have. The results say what each
// tier alone would answer. One that would grant has that of a look.
func (m tiersModel) denyDebt(now int64, n int) (weir.Answer, model, []weir.Result) {
	a, results := m.look(now)
	for i := range m.tiers {
		if alone, _ := askPart(m.tiers[i], now, weir.Ask{N: n}, nil); !alone.Allowed {
			results[i] = alone.Result
		}
	}
	a = never(a)
	a.DecidedBy = 0
	low, high := now, int64(math.MaxInt64)
	for low < high {
		middle := low + (high-low)/2
		if later, _ := m.look(middle); later.Remaining >= n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if n <= a.Limit && low < math.MaxInt64 {
		a.RetryAfter = time.Duration(low - now)
		looks, _, _ := asks(m.tiers, low, weir.Ask{}, nil)
		a.DecidedBy = slices.IndexFunc(looks, func(l weir.Answer) bool { return l.Remaining >= n })
	}
	return a, m, results
}

// giveBack gives back to the tier that paid; if that is not known, to the last that is not full.
func (m tiersModel) giveBack(now int64, ask weir.Ask, charges []weir.Charge) (weir.Answer, model, []weir.Result) {
	looks, _, _ := asks(m.tiers, now, weir.Ask{}, nil)
	pays := -1
	for i, l := range looks {
		own := ownCharges(m.tiers, charges, i)
		if charges == nil && l.ResetAfter > 0 || slices.ContainsFunc(own, func(c weir.Charge) bool { return c.N > 0 }) {
			pays = i
		}
	}
	if pays >= 0 {
		m.tiers = slices.Clone(m.tiers)
		_, m.tiers[pays] = askPart(m.tiers[pays], now, ask, ownCharges(m.tiers, charges, pays))
	}
	a, results := m.look(now)
	a.DecidedBy = max(pays, 0)
	return a, m, results
}

func (m tiersModel) look(now int64) (weir.Answer, []weir.Result) {
	looks, _, _ := asks(m.tiers, now, weir.Ask{}, nil)
	return m.sum(now, looks, max(0, slices.IndexFunc(looks, func(l weir.Answer) bool { return l.Remaining > 0 })))
}

// sum is the answer of a grant.
func (m tiersModel) sum(now int64, answers []weir.Answer, part int) (weir.Answer, []weir.Result) {
	sum := weir.Answer{Result: weir.Result{Allowed: true, DecidedBy: part}}
	for _, a := range answers {
		sum.Limit = max(sum.Limit, a.Limit)
		sum.Remaining = max(sum.Remaining, a.Remaining)
		sum.ResetAfter = max(sum.ResetAfter, a.ResetAfter)
	}
	sum.Remaining = min(sum.Remaining, m.left(now))
	return sum, resultsOf(answers)
}

// owes reports whether a policy, or one that it is composed of, is in debt.
func owes(m model, now int64) bool {
	in := func(part model) bool { return owes(part, now) }
	used, limit := usageOf(m, now)
	switch m := m.(type) {
	case tiersModel:
		return slices.ContainsFunc(m.tiers, in)
	case allModel:
		return slices.ContainsFunc(m.parts, in)
	}
	return limit.Cmp(used) < 0
}

// left is what all tiers have together, while one of them is in debt.
func (m tiersModel) left(now int64) int {
	if !owes(m, now) {
		return math.MaxInt
	}
	used, limit := usageOf(m, now)
	left := new(big.Int).Sub(limit, used)
	switch {
	case left.Sign() < 0:
		return 0
	case left.IsInt64() && left.Int64() < math.MaxInt:
		return int(left.Int64())
	}
	return math.MaxInt
}
