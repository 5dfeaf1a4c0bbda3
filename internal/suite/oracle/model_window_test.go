package oracle

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// windowModel is one window with a count.
type windowModel struct {
	tally
	per       int64
	fromFirst bool
	start     int64
	count     *big.Int // nil before the first event
	seen      int64
}

func (m windowModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	if m.count == nil || m.count.Sign() == 0 || m.seen-m.start >= m.per {
		m.start, m.count = m.seen, new(big.Int)
		if !m.fromFirst {
			m.start -= m.seen % m.per
		}
	}
	return askCounting(m, ask)
}

func (m windowModel) left() uint64 { return uint64(m.per - (m.seen - m.start)) }

func (m windowModel) counted(d uint64) *big.Int {
	if d >= m.left() {
		return new(big.Int)
	}
	return m.count
}

func (m windowModel) until(is func(d uint64) bool) time.Duration {
	if is(0) {
		return 0
	}
	return time.Duration(m.left())
}

func (m windowModel) add(n int) countModel {
	m.count = m.plus(m.count, n)
	return m
}

func (m windowModel) giveBack(n *big.Int, grantedAt int64) countModel {
	if grantedAt == 0 || grantedAt >= m.start {
		m.count, _ = m.minus(m.count, n)
	}
	return m
}

// slidingModel counts by sub-window, and forgets none.
type slidingModel struct {
	tally
	width   int64
	buckets int64
	counts  map[uint64]*big.Int
	seen    int64
}

// A grant is charged until the window has left its sub-window, however little of it counts at last.
func (m slidingModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	a, next := askCounting(m, ask)
	if ask.Mode == weir.UpTo {
		ask.N = a.Granted
	}
	if ask.Charges != nil && ask.N > 0 && a.Allowed {
		last := new(big.Int).Add(big.NewInt(m.seen/m.width), big.NewInt(m.buckets+1))
		last.Mul(last, big.NewInt(m.width))
		charge := weir.Charge{N: ask.N, For: weir.Never}
		if last.IsInt64() && last.Int64() < math.MaxInt64 {
			charge.For = time.Duration(last.Int64() - m.seen)
		}
		*ask.Charges = []weir.Charge{charge}
	}
	return a, next
}

// counted is the estimate. A count that is not told apart from larger ones leaves as a whole.
func (m slidingModel) counted(d uint64) *big.Int {
	sum, width := new(big.Int), uint64(m.width)
	current, elapsed := (uint64(m.seen)+d)/width, (uint64(m.seen)+d)%width
	for i, c := range m.counts {
		switch back := current - i; {
		case back < uint64(m.buckets), back == uint64(m.buckets) && c.Cmp(m.most) == 0:
			sum.Add(sum, c)
		case back == uint64(m.buckets):
			share := new(big.Int).Mul(c, new(big.Int).SetUint64(width-elapsed))
			sum.Add(sum, share.Div(share, new(big.Int).SetUint64(width)))
		}
	}
	return sum
}

func (m slidingModel) until(is func(d uint64) bool) time.Duration {
	low, high := uint64(0), uint64(math.MaxInt64)
	for low < high {
		if middle := (low + high) / 2; is(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return time.Duration(low)
}

// in is a copy that counts c in sub-window i.
func (m slidingModel) in(i uint64, c *big.Int) slidingModel {
	m.counts = maps.Clone(m.counts)
	if m.counts == nil {
		m.counts = map[uint64]*big.Int{}
	}
	m.counts[i] = c
	return m
}

func (m slidingModel) count(i uint64) *big.Int {
	if c := m.counts[i]; c != nil {
		return c
	}
	return new(big.Int)
}

func (m slidingModel) add(n int) countModel {
	i := uint64(m.seen / m.width)
	return m.in(i, m.plus(m.count(i), n))
}

func (m slidingModel) giveBack(n *big.Int, grantedAt int64) countModel {
	var less *big.Int
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(m.counts))) {
		if grantedAt == 0 || i <= uint64(grantedAt/m.width) {
			less, n = m.minus(m.count(i), n)
			m = m.in(i, less)
		}
	}
	return m
}
