package weir_test

import (
	"math"
	"math/big"

	"github.com/weir-go/weir"
)

// carriedModel is what the rules of weir.Carry make of a model that another policy left, at the instant now,
// and whether it is exact.
func carriedModel(from model, to weir.Policy, now int64) (model, bool) {
	look, from := from.ask(now, weir.Ask{})
	fresh := modelOf(to)
	if look.ResetAfter == 0 {
		return fresh, true
	}
	switch from := from.(type) {
	case tokenModel:
		if to, ok := fresh.(tokenModel); ok {
			return to.succeed(from), true
		}
	case queueModel:
		if to, ok := fresh.(queueModel); ok {
			return to.succeed(from), true
		}
	case windowModel:
		if to, ok := fresh.(windowModel); ok {
			return to.succeed(from)
		}
	case slidingModel:
		if to, ok := fresh.(slidingModel); ok && to.width == from.width && to.buckets == from.buckets {
			for i, c := range from.counts {
				to = to.in(i, from.moved(c, to.most))
			}
			to.seen = now
			return to, true
		}
	case logModel:
		if to, ok := fresh.(logModel); ok {
			for _, e := range from.events {
				if from.leaves(e) > 0 {
					to.events = append(to.events, e)
				}
			}
			to.seen = now
			return to, true
		}
	}
	used, limit := usedOf(from), big.NewInt(int64(look.Limit))
	if used.Sign() == 0 {
		return fresh, true
	}
	toLook, _ := fresh.ask(now, weir.Ask{})
	share, beyond := used, new(big.Int)
	if used.Cmp(limit) > 0 {
		share, beyond = limit, new(big.Int).Sub(used, limit)
	}
	part := new(big.Rat).SetFrac(share, limit)
	events := beyond.Add(beyond, big.NewInt(ceil(times(part, rat(int64(toLook.Limit))))))
	_, carried := fresh.ask(now, weir.Ask{N: int(min(capped(events), math.MaxInt)), How: weir.Regardless})
	return carried, false
}

// usedOf is how many events of its allowance a key has used up, with its debts.
func usedOf(m model) *big.Int {
	used := new(big.Int)
	switch m := m.(type) {
	case tokenModel:
		used.SetInt64(ceil(minus(rat(int64(m.size)), m.tokens)))
	case queueModel:
		if busy := ceil(over(minus(m.slot, rat(m.seen)), m.perEvent)); busy > 0 { // then nothing is granted
			used.Add(big.NewInt(int64(m.capacity)-1), big.NewInt(busy))
		}
	case countModel:
		used = m.counted(0)
	}
	return big.NewInt(capped(used))
}

// succeed takes over a level in proportion, and what is missing beyond a full bucket in tokens.
func (m tokenModel) succeed(from tokenModel) model {
	missing := minus(rat(int64(from.size)), from.tokens)
	level := smaller(missing, rat(int64(from.size)))
	share := times(rat(int64(m.size)), over(level, rat(int64(from.size))))
	m.tokens = minus(rat(int64(m.size)), plus(share, minus(missing, level)))
	m.seen = from.seen
	debt := minus(missing, level)
	if late := minus(m.full(), m.end); late.Sign() > 0 || from.full().Cmp(from.end) == 0 || !countable(debt) {
		m.tokens = plus(m.tokens, over(late, m.perToken))
	}
	return m
}

// countable tells that a debt is not so large that it counts as all that are larger.
func countable(events *big.Rat) bool { return events.Cmp(pow2(64)) < 0 }

// succeed takes over the events in the queue.
func (m queueModel) succeed(from queueModel) model {
	m.seen = from.seen
	events := over(minus(from.slot, rat(from.seen)), from.perEvent)
	m.slot = smaller(m.end, plus(rat(m.seen), times(events, m.perEvent)))
	if from.slot.Cmp(from.end) == 0 || !countable(events) {
		m.slot = m.end
	}
	return m
}

// succeed takes over the count. It is exact if the window that it now counts in began no later.
func (m windowModel) succeed(from windowModel) (model, bool) {
	m.seen = from.seen
	if from.count.Sign() == 0 {
		return m, true
	}
	m.start, m.count = from.start, from.moved(from.count, m.most)
	switch at := max(from.seen, from.start); {
	case !m.fromFirst:
		m.start = at - at%m.per
		return m, from.start >= m.start
	case at-from.start >= m.per:
		m.start = at
		return m, false
	}
	return m, true
}

// moved is a count where one of most or more stands for all from there on.
func (t tally) moved(count, most *big.Int) *big.Int {
	if count.Cmp(t.most) == 0 || count.Cmp(most) > 0 {
		return most
	}
	return count
}

// rounded is the model, which knows no rounding, in the state of a bucket that was carried over; and by how
// much that is too late, in the smallest part of a nanosecond that the state tells. It is nil for other
// policies, and for a bucket that owes nothing.
func rounded(m model, state []uint64) (model, *big.Rat) {
	sum := new(big.Int)
	for _, word := range state {
		sum.Add(sum.Lsh(sum, 64), new(big.Int).SetUint64(word))
	}
	paidAt := func(event *big.Rat) *big.Rat { return new(big.Rat).SetFrac(sum, event.Denom()) }
	units := func(d, event *big.Rat) *big.Rat { return times(d, new(big.Rat).SetInt(event.Denom())) }
	switch m := m.(type) {
	case tokenModel:
		paid, was := paidAt(m.perToken), m.full()
		if sum.Sign() > 0 {
			m.tokens = minus(rat(int64(m.size)), over(minus(paid, rat(m.seen)), m.perToken))
			return m, units(minus(paid, was), m.perToken)
		}
	case queueModel:
		if sum.Sign() > 0 {
			late := units(minus(paidAt(m.perEvent), m.slot), m.perEvent)
			m.slot = paidAt(m.perEvent)
			return m, late
		}
	}
	return m, nil
}
