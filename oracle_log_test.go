package weir_test

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// logModel is the list of all events ever granted, those of one ask together.
type logModel struct {
	limit  int
	per    int64
	events []logged
	seen   int64
}

type logged struct {
	at int64
	n  int
}

func (m logModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	granted := ask.N <= m.limit-m.count(0)
	switch {
	case ask.N < 0:
		m = m.giveBack(ask.N)
	case granted && ask.N > 0:
		m.events = append(slices.Clip(m.events), logged{m.seen, ask.N})
	}
	a := weir.Answer{Result: weir.Result{
		Allowed:    granted,
		Limit:      m.limit,
		Remaining:  m.limit - m.count(0),
		ResetAfter: m.until(func(d uint64) bool { return m.count(d) == 0 }),
	}}
	switch {
	case ask.N > m.limit:
		a = never(a)
	case !granted:
		a.RetryAfter = m.until(func(d uint64) bool { return ask.N <= m.limit-m.count(d) })
	}
	return a, m
}

// count is how many events the window holds after d nanoseconds.
func (m logModel) count(d uint64) int {
	sum := 0
	for _, e := range m.events {
		if uint64(m.seen-e.at)+d < uint64(m.per) {
			sum += e.n
		}
	}
	return sum
}

// until is the least d at which is holds: now, or when some event leaves.
func (m logModel) until(is func(d uint64) bool) time.Duration {
	if is(0) {
		return 0
	}
	least := uint64(math.MaxInt64)
	for _, e := range m.events {
		if age := m.seen - e.at; age < m.per && is(uint64(m.per-age)) {
			least = min(least, uint64(m.per-age))
		}
	}
	return time.Duration(least)
}

// giveBack takes -n events out of the list, the latest first.
func (m logModel) giveBack(n int) logModel {
	m.events = slices.Clone(m.events)
	for n < 0 && len(m.events) > 0 {
		latest := &m.events[len(m.events)-1]
		back := min(latest.n, -max(n, -math.MaxInt))
		n += back
		if latest.n -= back; latest.n == 0 {
			m.events = m.events[:len(m.events)-1]
		}
	}
	return m
}
