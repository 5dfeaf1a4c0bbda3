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
		back, up := freed(ask, m.seen, m.owed(), times(n, m.perToken), times(rat(int64(m.size)), m.perToken))
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
		charged(ask, before, m.owed())
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
		charged(ask, before, m.owed())
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

// freed is how much a bucket that owes a time frees of what is given back, which took the time
// -given, and by how much those behind move up. A later grant lies ahead where it owes more than
// ahead.
func freed(ask weir.Ask, now int64, owed, given, ahead *big.Rat) (back *big.Rat, up time.Duration) {
	back = smaller(minus(new(big.Rat), given), owed)
	until := countsUntil(ask)
	switch {
	case until < math.MaxInt64 && until == ceil(plus(rat(now), owed)): // the last grant
		return back, time.Duration(floor(back))
	case !atMost(owed, ahead):
		return new(big.Rat), 0
	}
	return smaller(back, rat(max(until-now, 0))), 0
}

// countsUntil is how long what is given back counts at most.
func countsUntil(ask weir.Ask) int64 {
	if ask.GrantedAt == 0 || ask.Charges == nil || len(*ask.Charges) != 1 {
		return math.MaxInt64
	}
	return saturated(ask.GrantedAt, int64((*ask.Charges)[0].For))
}

// charged tells what a grant is charged by a bucket that owed a time before it, and after it.
func charged(ask weir.Ask, before, after *big.Rat) {
	if ask.Charges != nil {
		*ask.Charges = []weir.Charge{{N: ask.N, Before: time.Duration(ceil(before)), For: time.Duration(ceil(after))}}
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
		back, up := freed(ask, m.seen, minus(m.slot, rat(m.seen)), takes, m.perEvent)
		m.slot = minus(m.slot, back)
		a := m.look()
		a.Delay = up
		return a, m
	case ask.Mode == weir.Regardless:
		before := minus(m.slot, rat(m.seen))
		m.slot = smaller(plus(m.slot, takes), m.end)
		charged(ask, before, minus(m.slot, rat(m.seen)))
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
		charged(ask, delay, plus(delay, takes))
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
