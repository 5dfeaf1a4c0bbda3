package weir_test

import (
	"maps"
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir"
)

// windowModel is one window with a count.
type windowModel struct {
	limit     int
	per       int64
	fromFirst bool
	start     int64
	count     int
	seen      int64
}

func (m windowModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	if m.count == 0 || m.seen-m.start >= m.per {
		m.start, m.count = m.seen, 0
		if !m.fromFirst {
			m.start -= m.seen % m.per
		}
	}
	left := time.Duration(m.per - (m.seen - m.start))
	granted := ask.N <= m.limit-m.count
	switch {
	case ask.N < 0:
		m.count += max(ask.N, -m.count)
	case granted:
		m.count += ask.N
	}
	a := weir.Answer{Result: weir.Result{Allowed: granted, Limit: m.limit, Remaining: m.limit - m.count}}
	if m.count > 0 {
		a.ResetAfter = left
	}
	switch {
	case ask.N > m.limit:
		a = never(a)
	case !granted:
		a.RetryAfter = left
	}
	return a, m
}

// slidingModel counts by sub-window, and forgets none.
type slidingModel struct {
	limit   int
	width   int64
	buckets int64
	counts  map[uint64]int
	seen    int64
}

func (m slidingModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	granted := m.fits(0, ask.N)
	switch {
	case ask.N < 0:
		m = m.giveBack(ask.N)
	case granted && ask.N > 0:
		m.counts = maps.Clone(m.counts)
		if m.counts == nil {
			m.counts = map[uint64]int{}
		}
		m.counts[uint64(m.seen/m.width)] += ask.N
	}
	a := weir.Answer{Result: weir.Result{
		Allowed:    granted,
		Limit:      m.limit,
		Remaining:  int(capped(new(big.Int).Sub(big.NewInt(int64(m.limit)), m.estimate(0)))),
		ResetAfter: m.until(func(d uint64) bool { return m.estimate(d).Sign() == 0 }),
	}}
	switch {
	case ask.N > m.limit:
		a = never(a)
	case !granted:
		a.RetryAfter = m.until(func(d uint64) bool { return m.fits(d, ask.N) })
	}
	return a, m
}

// estimate is that after d nanoseconds.
func (m slidingModel) estimate(d uint64) *big.Int {
	sum, width := new(big.Int), uint64(m.width)
	current, elapsed := (uint64(m.seen)+d)/width, (uint64(m.seen)+d)%width
	for i, count := range m.counts {
		c := big.NewInt(int64(count))
		switch back := current - i; {
		case back < uint64(m.buckets):
			sum.Add(sum, c)
		case back == uint64(m.buckets):
			c.Mul(c, new(big.Int).SetUint64(width-elapsed))
			sum.Add(sum, c.Div(c, new(big.Int).SetUint64(width)))
		}
	}
	return sum
}

// fits tells whether n events would be granted after d nanoseconds.
func (m slidingModel) fits(d uint64, n int) bool {
	sum := m.estimate(d)
	return n <= 0 || sum.Add(sum, big.NewInt(int64(n))).Cmp(big.NewInt(int64(m.limit))) <= 0
}

// until is the least d at which is holds. The estimate only falls while nothing is added.
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

// giveBack takes -n events out of the counts, the latest first.
func (m slidingModel) giveBack(n int) slidingModel {
	m.counts = maps.Clone(m.counts)
	for n < 0 && len(m.counts) > 0 {
		var latest uint64
		for i := range m.counts {
			latest = max(latest, i)
		}
		back := min(m.counts[latest], -max(n, -math.MaxInt))
		n += back
		if m.counts[latest] -= back; m.counts[latest] == 0 {
			delete(m.counts, latest)
		}
	}
	return m
}
