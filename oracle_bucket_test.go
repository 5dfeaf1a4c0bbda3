package weir_test

import (
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
		m.tokens = smaller(rat(int64(m.size)), minus(m.tokens, n))
		a := m.look()
		a.Delay = time.Duration(floor(times(minus(new(big.Rat), n), m.perToken)))
		return a, m
	case ask.How == weir.Regardless:
		m.tokens = minus(m.tokens, n)
		if late := minus(m.full(), m.end); late.Sign() > 0 {
			m.tokens = plus(m.tokens, over(late, m.perToken))
		}
		return m.look(), m
	case ask.How == weir.UpTo:
		return upTo(m, m.seen, m.look().Remaining, ask.N)
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
		m.tokens = minus(m.tokens, n)
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

// full is the instant at which the bucket will be full, or the latest at which it was.
func (m tokenModel) full() *big.Rat {
	return plus(rat(m.seen), times(minus(rat(int64(m.size)), m.tokens), m.perToken))
}

func (m tokenModel) look() weir.Answer {
	missing := minus(rat(int64(m.size)), m.tokens)
	return weir.Answer{Result: weir.Result{
		Allowed:    true,
		Limit:      m.size,
		Remaining:  int(floor(atLeastZero(m.tokens))),
		ResetAfter: time.Duration(ceil(times(missing, m.perToken))),
	}}
}

// upTo asks for as many of n as there are, or, if there is none, for one.
func upTo(m model, now int64, there, n int) (weir.Answer, model) {
	if there == 0 {
		return m.ask(now, weir.Ask{N: 1})
	}
	n = min(n, there)
	a, next := m.ask(now, weir.Ask{N: n})
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
		m.slot = larger(rat(m.seen), plus(m.slot, takes))
		a := m.look()
		a.Delay = time.Duration(floor(minus(new(big.Rat), takes)))
		return a, m
	case ask.How == weir.Regardless:
		m.slot = smaller(plus(m.slot, takes), m.end)
		return m.look(), m
	case ask.How == weir.UpTo:
		return upTo(m, m.seen, m.look().Remaining, ask.N)
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
