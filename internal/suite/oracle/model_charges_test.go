package oracle

import (
	"math"
	"math/big"

	"github.com/weir-go/weir"
)

// parts are those of a model that is composed of others, or nil.
func parts(m model) []model {
	switch m := m.(type) {
	case allModel:
		return m.parts
	case tiersModel:
		return m.tiers
	}
	return nil
}

// leavesOf is of how many policies a model is composed that are not composed themselves.
func leavesOf(m model) int {
	if parts(m) == nil {
		return 1
	}
	n := 0
	for _, p := range parts(m) {
		n += leavesOf(p)
	}
	return n
}

// chargesFor are those that an ask names, or room for them; nil if it names none of the model's,
// and wants none.
func chargesFor(m model, ask weir.Ask) []weir.Charge {
	switch {
	case ask.Charges == nil || ask.N == 0:
		return nil
	case ask.N > 0:
		*ask.Charges = make([]weir.Charge, leavesOf(m))
	case ask.GrantedAt == 0 || len(*ask.Charges) != leavesOf(m):
		return nil
	}
	return *ask.Charges
}

// ownCharges are those of part i.
func ownCharges(parts []model, charges []weir.Charge, i int) []weir.Charge {
	if charges == nil {
		return nil
	}
	from := 0
	for _, p := range parts[:i] {
		from += leavesOf(p)
	}
	return charges[from : from+leavesOf(parts[i])]
}

// askPart puts an ask to a part, whose charges are own, if they are wanted or named.
func askPart(part model, now int64, ask weir.Ask, own []weir.Charge) (weir.Answer, model) {
	ask.Charges = nil
	switch {
	case own == nil:
		return part.ask(now, ask)
	case ask.N < 0:
		if leavesOf(part) == 1 {
			ask.N = -min(-max(ask.N, -math.MaxInt), own[0].N)
		}
		ask.Charges = &own
		return part.ask(now, ask)
	}
	var told []weir.Charge
	ask.Charges = &told
	a, next := part.ask(now, ask)
	clear(own)
	switch {
	case !a.Allowed:
	case leavesOf(part) == 1 && (len(told) == 0 || told[0].N == 0):
		own[0] = weir.Charge{N: ask.N, For: a.ResetAfter}
	default:
		copy(own, told)
	}
	return a, next
}

// usageOf is how many events are used up of how many: of Tiers all together; of All as many as
// leave what the part has that has least.
func usageOf(m model, now int64) (used, limit *big.Int) {
	used, limit = new(big.Int), new(big.Int)
	switch m := m.(type) {
	case tokenModel:
		_, at := m.ask(now, weir.Ask{})
		m = at.(tokenModel)
		missing := minus(rat(int64(m.size)), m.tokens)
		return owing(missing, m.full().Cmp(m.end) == 0), big.NewInt(int64(m.size))
	case queueModel:
		_, at := m.ask(now, weir.Ask{})
		m = at.(queueModel)
		limit.SetInt64(int64(m.capacity))
		if events := over(minus(m.slot, rat(m.seen)), m.perEvent); events.Sign() > 0 {
			if used = owing(events, m.slot.Cmp(m.end) == 0); used.Cmp(limit) < 0 {
				used = limit
			}
		}
		return used, limit
	case countModel:
		_, at := m.ask(now, weir.Ask{})
		m = at.(countModel)
		used, limit = fitted(m.counted(0)), big.NewInt(int64(m.bounds().limit))
		if _, log := m.(logModel); !log && used.Cmp(m.bounds().most) >= 0 { // it stands for all from it on
			used = new(big.Int).SetUint64(math.MaxUint64)
		}
		return used, limit
	case stateModel:
		if m.twin != nil {
			return usageOf(m.twin, now)
		}
		look, _ := m.ask(now, weir.Ask{})
		return big.NewInt(int64(look.Limit - look.Remaining)), big.NewInt(int64(look.Limit))
	case calendarModel:
		_, at := m.ask(now, weir.Ask{})
		m = at.(calendarModel)
		return m.used(), big.NewInt(int64(m.policy.Limit))
	case tiersModel:
		for _, tier := range m.tiers {
			u, l := usageOf(tier, now)
			used, limit = fitted(used.Add(used, u)), fitted(limit.Add(limit, l))
		}
		return used, limit
	case allModel:
		for i, p := range m.parts {
			if _, l := usageOf(p, now); i == 0 || l.Cmp(limit) < 0 {
				limit = l
			}
		}
		for _, p := range m.parts {
			u, l := usageOf(p, now)
			if beyond := new(big.Int).Sub(u, l); beyond.Add(beyond, limit).Cmp(used) > 0 {
				used = beyond
			}
		}
	}
	return used, limit
}

// owing is how many events a bucket owes, rounded up, or the largest number of a word. The latest
// instant that it can have stands for all debts.
func owing(events *big.Rat, latest bool) *big.Int {
	if latest {
		return new(big.Int).SetUint64(math.MaxUint64)
	}
	up := new(big.Int).Add(events.Num(), events.Denom())
	up.Sub(up, big.NewInt(1))
	return fitted(up.Div(up, events.Denom()))
}

// fitted is n, or the largest number of a word.
func fitted(n *big.Int) *big.Int {
	if n.IsUint64() {
		return n
	}
	return new(big.Int).SetUint64(math.MaxUint64)
}
