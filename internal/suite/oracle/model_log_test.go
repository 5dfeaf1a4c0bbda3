package oracle

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// logModel is the list of all events ever granted, those of one instant together.
type logModel struct {
	tally
	per    int64
	events []logged
	seen   int64
}

type logged struct {
	at int64
	n  *big.Int // above zero
}

func (m logModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	return askCounting(m, ask)
}

// leaves is how long from now an entry counts: not at all if it is zero or less.
func (m logModel) leaves(e logged) int64 { return m.per - (m.seen - e.at) }

func (m logModel) counted(d uint64) *big.Int {
	sum := new(big.Int)
	for _, e := range m.events {
		if left := m.leaves(e); left > 0 && d < uint64(left) {
			sum.Add(sum, e.n)
		}
	}
	return sum
}

func (m logModel) until(is func(d uint64) bool) time.Duration {
	if is(0) {
		return 0
	}
	for _, e := range m.events { // the oldest first
		if left := m.leaves(e); left > 0 && is(uint64(left)) {
			return time.Duration(left)
		}
	}
	panic("not even at the end")
}

func (m logModel) add(n int) countModel {
	m.events = slices.DeleteFunc(slices.Clone(m.events), func(e logged) bool { return m.leaves(e) <= 0 })
	last := len(m.events) - 1
	switch sum := m.counted(0); {
	case sum.Add(sum, big.NewInt(int64(n))).Cmp(m.most) > 0:
		m.events = []logged{{m.seen, m.most}}
	case last >= 0 && (m.events[last].at == m.seen || m.isLong()):
		m.events[last] = logged{m.seen, m.plus(m.events[last].n, n)}
	default:
		m.events = append(m.events, logged{m.seen, big.NewInt(int64(n))})
	}
	return m
}

// isLong reports that the log has more than two words for each event of the limit, because of a
// debt. New events are then no longer told apart from the latest ones.
func (m logModel) isLong() bool {
	words := uint64(0)
	for _, e := range m.events {
		words++
		if e.n.Cmp(big.NewInt(1)) > 0 {
			words++
		}
	}
	return m.counted(0).Cmp(big.NewInt(int64(m.limit))) > 0 && words > 2*uint64(m.limit)
}

func (m logModel) giveBack(n *big.Int, grantedAt int64) countModel {
	m.events = slices.Clone(m.events)
	tally := m.tally
	if int64(m.limit) == math.MaxInt64 { // no count of that limit is a debt
		tally.most = new(big.Int).SetUint64(math.MaxUint64)
	}
	for i := len(m.events) - 1; i >= 0; i-- {
		if e := &m.events[i]; grantedAt == 0 || e.at <= grantedAt {
			e.n, n = tally.minus(e.n, n)
		}
	}
	m.events = slices.DeleteFunc(m.events, func(e logged) bool { return e.n.Sign() == 0 })
	return m
}
