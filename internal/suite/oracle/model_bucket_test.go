package oracle

import (
	"math"
	"math/big"
	"time"

	"github.com/weir-go/weir"
)

// tokenModel is a bucket of tokens. There are less than none where tokens yet to be earned
// were given out ahead.
type tokenModel struct {
	perToken *big.Rat // nanoseconds
	size     int
	marks    bool // it is one of a marker, which books nothing ahead
	tokens   *big.Rat
	seen     int64
	end      *big.Rat // the latest instant at which the bucket can be full; if it is, nothing changes that
}

func (m tokenModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	now = max(now, m.seen)
	earned := over(minus(rat(now), rat(m.seen)), m.perToken)
	m.tokens = smaller(rat(int64(m.size)), plus(m.tokens, earned))
	m.seen = now

	n := rat(int64(ask.N))
	switch {
	case ask.N == 0:
		return m.look(), m
	case ask.N < 0 && m.full().Cmp(m.end) == 0:
		return m.look(), m
	case ask.N < 0:
		back, up := freed(ask, m.seen, m.owed(), m.perToken, m.ahead())
		m.tokens = plus(m.tokens, over(back, m.perToken))
		a := m.look()
		a.Delay = up
		return a, m
	case ask.Mode == weir.Regardless:
		before := m.owed()
		m.tokens = minus(m.tokens, n)
		if late := minus(m.full(), m.end); late.Sign() > 0 {
			m.tokens = plus(m.tokens, over(late, m.perToken))
		}
		charged(ask, before, m.owed(), m.perToken)
		return m.look(), m
	case ask.Mode == weir.UpTo:
		return upTo(m, m.seen, m.look().Remaining, ask)
	case ask.N > m.size:
		return never(m.look()), m
	}
	ready := times(minus(n, m.tokens), m.perToken) // when there will be n tokens
	patience := rat(max(int64(ask.MaxWait), 0))
	granted := atMost(ready, patience)
	if granted && ready.Sign() > 0 && atMost(m.end, plus(m.full(), times(n, m.perToken))) {
		return never(m.look()), m
	}
	if granted {
		before := m.owed()
		m.tokens = minus(m.tokens, n)
		charged(ask, before, m.owed(), m.perToken)
	}
	a := m.look()
	a.Allowed = granted
	if !granted {
		a.RetryAfter = time.Duration(ceil(minus(ready, patience)))
	}
	if ask.MaxWait > 0 {
		a.Delay = time.Duration(ceil(atLeastZero(ready)))
	}
	return a, m
}

// ahead is how many events it owes at most while no later grant lies ahead. It is below zero if none
// ever does.
func (m tokenModel) ahead() int {
	if m.marks {
		return -1
	}
	return m.size
}

// owed is the time until the bucket will be full.
func (m tokenModel) owed() *big.Rat { return times(minus(rat(int64(m.size)), m.tokens), m.perToken) }

// full is the instant at which the bucket will be full, or the latest at which it was.
func (m tokenModel) full() *big.Rat { return plus(rat(m.seen), m.owed()) }

func (m tokenModel) look() weir.Answer {
	return weir.Answer{Result: weir.Result{
		Allowed:    true,
		Limit:      m.size,
		Remaining:  int(floor(atLeastZero(m.tokens))),
		ResetAfter: time.Duration(ceil(m.owed())),
	}}
}

// freed is how much a bucket that owes a time frees of what is given back, and by how much those
// behind move up. An event takes the time event. A later grant lies ahead where the bucket owes
// more than ahead events, unless ahead is below zero.
func freed(ask weir.Ask, now int64, owed, event *big.Rat, ahead int) (back *big.Rat, up time.Duration) {
	back = smaller(times(new(big.Rat).Neg(rat(int64(ask.N))), event), owed)
	until, known := countsUntil(ask, event)
	switch left := minus(until, rat(now)); {
	case known && left.Cmp(owed) == 0: // the last grant
		return back, time.Duration(floor(back))
	case ahead >= 0 && !atMost(owed, times(rat(int64(ahead)), event)):
		return new(big.Rat), 0
	default:
		return smaller(back, atLeastZero(left)), 0
	}
}

// countsUntil is how long what is given back counts at most. If that is not known, it is longer than
// any instant.
func countsUntil(ask weir.Ask, event *big.Rat) (until *big.Rat, known bool) {
	if ask.GrantedAt == 0 || ask.Charges == nil || len(*ask.Charges) != 1 {
		return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 200)), false
	}
	c := (*ask.Charges)[0]
	after := func(d time.Duration, rest uint64) *big.Rat {
		parts := new(big.Rat).SetInt(new(big.Int).SetUint64(rest))
		return minus(rat(saturated(ask.GrantedAt, int64(d))), over(parts, new(big.Rat).SetInt(event.Denom())))
	}
	until = after(c.For, c.ForRest)
	if saturated(ask.GrantedAt, int64(c.For)) == math.MaxInt64 && saturated(ask.GrantedAt, int64(c.Before)) < math.MaxInt64 {
		paid := plus(after(c.Before, c.BeforeRest), times(rat(int64(max(c.N, 0))), event))
		until = larger(until, paid)
	}
	return until, true
}

// charged tells what a grant is charged by a bucket that owed a time before it, and after it. Times
// are rounded up, and the rests are in the largest parts of a nanosecond in which events are whole.
func charged(ask weir.Ask, before, after, event *big.Rat) {
	rest := func(t *big.Rat) uint64 {
		return atLeastZero(times(minus(rat(ceil(t)), t), new(big.Rat).SetInt(event.Denom()))).Num().Uint64()
	}
	if ask.Charges != nil {
		*ask.Charges = []weir.Charge{{
			N:      ask.N,
			Before: time.Duration(ceil(before)), BeforeRest: rest(before),
			For: time.Duration(ceil(after)), ForRest: rest(after),
		}}
	}
}

// upTo asks for as many of n as there are, or, if there is none, for one.
func upTo(m model, now int64, there int, ask weir.Ask) (weir.Answer, model) {
	if there == 0 {
		return m.ask(now, weir.Ask{N: 1})
	}
	n := min(ask.N, there)
	a, next := m.ask(now, weir.Ask{N: n, Charges: ask.Charges})
	a.Granted = n
	return a, next
}

// queueModel is an outlet that is busy until the next free slot.
type queueModel struct {
	perEvent *big.Rat // nanoseconds
	capacity int
	slot     *big.Rat // the next free one, in nanoseconds since the epoch
	seen     int64
	end      *big.Rat // the latest slot; if it is the next, nothing changes that
}

func (m queueModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.seen = max(now, m.seen)
	m.slot = larger(rat(m.seen), m.slot)

	takes := times(rat(int64(ask.N)), m.perEvent)
	switch {
	case ask.N == 0:
		return m.look(), m
	case ask.N < 0 && m.slot.Cmp(m.end) == 0:
		return m.look(), m
	case ask.N < 0:
		back, up := freed(ask, m.seen, minus(m.slot, rat(m.seen)), m.perEvent, 1)
		m.slot = minus(m.slot, back)
		a := m.look()
		a.Delay = up
		return a, m
	case ask.Mode == weir.Regardless:
		before := minus(m.slot, rat(m.seen))
		m.slot = smaller(plus(m.slot, takes), m.end)
		charged(ask, before, minus(m.slot, rat(m.seen)), m.perEvent)
		return m.look(), m
	case ask.Mode == weir.UpTo:
		return upTo(m, m.seen, m.look().Remaining, ask)
	case ask.N > m.capacity:
		return never(m.look()), m
	}
	delay := minus(m.slot, rat(m.seen))
	room := times(rat(int64(m.capacity)), m.perEvent)
	patience := smaller(room, rat(max(int64(ask.MaxWait), 0)))
	granted := atMost(delay, patience)
	if granted && delay.Sign() > 0 && atMost(m.end, plus(m.slot, takes)) {
		return never(m.look()), m
	}
	if granted {
		m.slot = plus(m.slot, takes)
		charged(ask, delay, plus(delay, takes), m.perEvent)
	}
	a := m.look()
	a.Allowed = granted
	if !granted {
		a.RetryAfter = time.Duration(ceil(minus(delay, patience)))
	}
	if ask.MaxWait > 0 {
		a.Delay = time.Duration(ceil(delay))
		a.QueueFull = !atMost(delay, room)
	}
	return a, m
}

func (m queueModel) look() weir.Answer {
	busy := minus(m.slot, rat(m.seen))
	a := weir.Answer{Result: weir.Result{
		Allowed:    true,
		Limit:      m.capacity,
		ResetAfter: time.Duration(ceil(busy)),
	}}
	if busy.Sign() == 0 {
		a.Remaining = m.capacity
	}
	return a
}
