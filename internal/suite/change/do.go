package change

import (
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// do makes the call of a step, and records it in the ledger.
func (w *world) do(s Step) answer {
	a := answer{Step: s}
	switch s.Op {
	case opAdvance:
		w.clock.ns += int64(s.D)
		a.at = w.now()
		return a
	case opRetry:
		if a.skipped = w.retry == 0 || w.retry == weir.Never || w.retry > maxRetry; !a.skipped {
			w.clock.ns += max(w.suite.up(w.retry)+int64(s.D), 0)
		}
		w.retry = 0
		a.at = w.now()
		return a
	}
	a.at = w.now()
	l := w.ledger(s)
	k := w.limiter(s.By)
	switch s.Op {
	case opAllow:
		a.asked = 1
		if w.Mode == byContext && s.By != 0 { // Allow has no context
			a.result, a.err = k.Take(w.ctx(s), key(s), 1)
		} else {
			a.result = w.look(s.By, s.Key)
			a.result.Allowed = k.Allow(key(s))
			if after := w.look(s.By, s.Key); a.result.Allowed {
				a.result = after
			}
		}
		if a.result.Allowed {
			a.granted = 1
		}
	case opTake:
		a.asked = s.N
		if a.result, a.err = k.Take(w.ctx(s), key(s), s.N); a.result.Allowed {
			a.granted = s.N
		}
	case opUpTo:
		a.asked = s.N
		a.granted, a.result, a.err = k.TakeUpTo(w.ctx(s), key(s), s.N)
	case opReserve:
		w.reserve(k, &a)
	case opOverrun:
		if w.reserve(k, &a); a.granted > 0 {
			w.settle(k, &a, w.held[s.ID], s.N)
		}
	case opSettle:
		h := w.held[s.Of]
		if a.skipped = h == nil || h.key != s.Key; !a.skipped {
			if w.Mode == byPeers { // a reservation belongs to its limiter
				a.By = h.by
			}
			w.settle(k, &a, h, s.N)
		}
	case opReturn:
		w.giveBack(k, &a, s.N)
	case opReset:
		if a.err = k.Reset(w.ctx(s), key(s)); a.err == nil {
			l.reset(w.limiterOf(s.By))
		}
	case opAllBack:
		w.allBack(k, &a)
	}
	if a.err == nil && a.asked > 0 && s.Op != opReserve && s.Op != opOverrun {
		l.note(&a)
	}
	if a.err == nil && a.asked > 0 && a.granted == 0 && s.Op != opUpTo {
		w.retry = a.result.RetryAfter
	}
	return a
}

// maxRetry keeps clocks within a century.
const maxRetry = 1000 * 24 * time.Hour

func (w *world) reserve(k *weir.KeyedLimiter, a *answer) {
	a.asked = a.N
	if a.Op == opOverrun {
		a.asked = 1
	}
	r := new(weir.Reservation)
	if a.Op == opReserve && a.D == forNow {
		a.err = k.ReserveNow(w.ctx(a.Step), key(a.Step), a.asked, r, nil)
	} else {
		r, a.err = k.Reserve(w.ctx(a.Step), key(a.Step), a.asked)
	}
	if a.err != nil {
		return
	}
	a.result = r.Result
	h := &held{Reservation: r, by: a.By, key: a.Key, limiter: w.limiterOf(a.By)}
	if r.Allowed {
		a.granted, a.delay, h.n = a.asked, r.Delay(), a.asked
	}
	l := w.ledger(a.Step)
	l.note(a)
	if r.Allowed {
		lasts := max(int64(a.result.ResetAfter), w.Policies[a.By].span()) // with others, its share counts for longer
		h.deed, h.era, h.end = l.latest, l.era, later(max(a.at, 1), lasts+l.grain)
	}
	w.held[a.ID] = h
}

func (w *world) settle(k *weir.KeyedLimiter, a *answer, h *held, n int) {
	if n < h.n && !h.settled && (a.at >= h.end || w.ledger(a.Step).forgot(h)) {
		before := w.look(a.By, a.Key).Remaining
		defer func() { a.freed = w.look(a.By, a.Key).Remaining - before }()
	}
	if n == 0 {
		a.err = h.Cancel(w.ctx(a.Step))
	} else {
		a.err = h.Settle(w.ctx(a.Step), n)
	}
	if a.err != nil || h.settled {
		return
	}
	h.settled = true
	l := w.ledger(a.Step)
	if n > h.n {
		l.owe(w, a, h, n-h.n)
		return
	}
	a.returned = h.n - n
	l.cancelled(a, h, h.n-n)
	h.n = n
	if h.era == l.era {
		l.loose += n
	}
}

func (w *world) giveBack(k *weir.KeyedLimiter, a *answer, n int) {
	if a.err = k.Return(w.ctx(a.Step), key(a.Step), n); a.err == nil {
		l := w.ledger(a.Step)
		a.returned, a.over = n, n > l.net()
		l.returned(a, n)
		// With a bucket, the event that is too many may have used events that earlier ones did not
		// use.
		l.lost = l.lost || l.doubled && slices.ContainsFunc(w.Policies, func(p tree) bool { return p.any(isBucket) })
	}
}

// allBack gives back all events that the key was granted.
func (w *world) allBack(k *weir.KeyedLimiter, a *answer) {
	l := w.ledger(a.Step)
	rest := l.loose
	if a.N&1 == 1 && rest > 0 {
		w.giveBack(k, a, rest)
	}
	for _, s := range w.Steps { // in order
		if h := w.held[s.ID]; h != nil && h.key == a.Key && !h.settled {
			w.settle(k, a, h, 0)
		}
	}
	if a.N&1 == 0 && rest > 0 {
		w.giveBack(k, a, rest)
	}
}
