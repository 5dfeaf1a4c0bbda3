package weir

import (
	"math"
	"slices"
)

// spare is how many words a decision of a log adds. A part that is followed by others gets room for
// them, so that it need not be copied to grow.
const spare = 2

// ask lets part i decide on its words, and returns the state with what it made of them. The answer
// goes to *a: it is large, and copying it costs as much as making it.
func (c *composed) ask(state []uint64, i int, now int64, ask Ask, a *Answer) []uint64 {
	p := &c.parts[i]
	switch {
	case ask.Charges != nil:
		return c.askCharged(state, i, now, ask, a)
	case p.admitWord != nil && ask.N >= 0 && ask.Mode == AllOrNone:
		next, r := p.admitWord.takeWord(state[p.at], now, ask.N)
		state[p.at] = next
		*a = Answer{Result: Result{
			Allowed: r.retryAfter == 0, Limit: p.limit,
			Remaining: r.remaining, RetryAfter: r.retryAfter, ResetAfter: r.resetAfter,
		}}
		if ask.More {
			a.MoreAfter = p.admitWord.more(next, now, r)
		}
		return state
	}
	return c.askPart(state, i, now, ask, a)
}

// askPart is ask, with all that an ask can have.
func (c *composed) askPart(state []uint64, i int, now int64, ask Ask, a *Answer) []uint64 {
	p := &c.parts[i]
	if ask.beside != nil {
		ask.beside = &beside{promised: own(c, ask.beside.promised, i)}
	}
	from, to := c.span(state, i)
	var words []uint64
	switch {
	case !p.grows():
		_, *a = p.Decider.Decide(state[from:to:to], now, ask)
		return state
	case p.length < 0:
		words, *a = p.Decider.Decide(state[from:], now, ask)
		if len(words) > 0 && from < cap(state) && &words[0] == &state[:from+1][from] {
			return state[:from+len(words)]
		}
		return append(state[:from], words...)
	default:
		var room [spare]uint64
		state = slices.Insert(state, to, room[:]...)
		words, *a = p.Decider.Decide(state[from:to:to+spare], now, ask)
		return c.put(state, i, from, to+spare, words)
	}
}

// put makes words those of part i, in place of state[from:to].
func (c *composed) put(state []uint64, i, from, to int, words []uint64) []uint64 {
	if p := &c.parts[i]; p.length >= 0 {
		state[p.length] = uint64(len(words) - p.size)
	}
	return slices.Replace(state, from, to, words...)
}

func (c *composed) admit(state []uint64, now int64) ([]uint64, bool) {
	var room [savedWords]uint64
	saved := room[:0]
	if !c.tiers {
		saved = append(saved, state[:c.undone(state)]...)
	} else if left, _ := c.left(state, now); left < 1 {
		return state, false
	}
	for _, i := range c.order {
		var granted bool
		state, granted = c.admitPart(state, i, now)
		switch {
		case c.tiers && granted:
			return state, true
		case !c.tiers && !granted:
			return c.restore(state, saved), false
		}
	}
	return state, !c.tiers
}

// take implements admitter. It decides itself if all parts of All grant.
func (c *composed) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	if c.tiers || n == 0 || !c.laidOut(state) {
		return c.takeSlowly(state, now, n)
	}
	var room [savedWords]uint64
	saved := append(room[:0], state[:c.undone(state)]...)
	all, decidedBy := shortResult{remaining: math.MaxInt}, 0
	for _, i := range c.order {
		var r shortResult
		if state, r = c.takePart(state, i, now, n); r.retryAfter > 0 {
			return c.takeSlowly(c.restore(state, saved), now, n)
		}
		if r.remaining < all.remaining || r.remaining == all.remaining && i < decidedBy {
			all.remaining, decidedBy = r.remaining, i
		}
		all.resetAfter = max(all.resetAfter, r.resetAfter)
	}
	return state, all, decidedBy
}

func (c *composed) takeSlowly(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	state, a := c.Decide(state, now, Ask{N: n})
	return state, a.short(), a.DecidedBy
}

// takePart asks part i for n events.
func (c *composed) takePart(state []uint64, i int, now int64, n int) (_ []uint64, r shortResult) {
	switch p := &c.parts[i]; {
	case p.admitWord != nil:
		state[p.at], r = p.admitWord.takeWord(state[p.at], now, n)
	case p.admit != nil && !p.grows():
		_, r, _ = p.admit.take(state[p.at:p.at+p.size:p.at+p.size], now, n)
	default:
		var a Answer
		state = c.ask(state, i, now, Ask{N: n}, &a)
		r = a.short()
	}
	return state, r
}

// admitPart asks part i for one event.
func (c *composed) admitPart(state []uint64, i int, now int64) ([]uint64, bool) {
	switch p := &c.parts[i]; {
	case p.admitWord != nil:
		next, granted := p.admitWord.admitWord(state[p.at], now)
		state[p.at] = next
		return state, granted
	case p.admit != nil && !p.grows():
		_, granted := p.admit.admit(state[p.at:p.at+p.size:p.at+p.size], now)
		return state, granted
	default:
		var a Answer
		state = c.ask(state, i, now, Ask{N: 1}, &a)
		return state, a.Allowed
	}
}

// charges returns the Charges of an ask as a composed policy needs them. If the ask is for events,
// they have room for the charges of its leaves. For a give-back that does not name one of its
// grants, they are nil.
func (c *composed) charges(ask Ask) *[]Charge {
	n := c.paid[len(c.leaves)]
	switch {
	case ask.Charges == nil || ask.N == 0:
		return nil
	case ask.N > 0:
		*ask.Charges = make([]Charge, n)
	case ask.GrantedAt == 0 || len(*ask.Charges) != n:
		return nil
	}
	return ask.Charges
}

// charged returns the charges of part i.
func (c *composed) charged(charges []Charge, i int) []Charge {
	p := &c.parts[i]
	from, to := c.paid[p.from], c.paid[p.to]
	return charges[from:to:to]
}

// askCharged is ask for an ask whose Charges are to be reported, or given back.
func (c *composed) askCharged(state []uint64, i int, now int64, ask Ask, a *Answer) []uint64 {
	place := c.charged(*ask.Charges, i)
	told := place // the part may replace the slice
	if ask.Charges = &told; ask.N < 0 && len(place) == 1 {
		ask = ask.naming(&told)
	}
	state = c.askPart(state, i, now, ask, a)
	switch {
	case ask.N <= 0:
	case !a.Allowed:
		clear(place)
	case len(place) == 1 && (len(told) == 0 || told[0].N == 0):
		place[0] = Charge{N: ask.N, For: a.ResetAfter}
	default:
		copy(place, told)
	}
	return state
}
