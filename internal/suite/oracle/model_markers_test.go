package oracle

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A singleRateModel is RFC 2697 with tokens that drip in continuously.
type singleRateModel struct {
	perToken *big.Rat // nanoseconds
	cbs, ebs int
	tc, te   *big.Rat // te is below zero in debt
	seen     int64
	end      *big.Rat // the latest instant at which E can be full; if it is, nothing changes that
}

func newSingleRateModel(p weir.SingleRateMarker) model {
	cbs := or(p.Committed.Burst, p.Committed.Limit)
	return singleRateModel{
		perToken: eventTime(p.Committed.Limit, p.Committed.Per), cbs: cbs, ebs: p.Excess,
		tc: rat(int64(cbs)), te: rat(int64(p.Excess)),
		end: endOfTime(false, eventTime(p.Committed.Limit, p.Committed.Per)),
	}
}

func (m singleRateModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	m.earn(over(minus(rat(now), rat(m.seen)), m.perToken))
	m.seen = now
	cbs, ebs, n := rat(int64(m.cbs)), rat(int64(m.ebs)), rat(int64(ask.N))
	look := m.look()
	switch {
	case ask.N == 0:
		return look, m
	case ask.N < 0:
		m.giveBack(now, ask)
		return m.look(), m
	case ask.Mode == weir.UpTo:
		return upTo(m, now, look.Remaining, ask)
	}
	part, before, green := 0, minus(m.full(), rat(now)), m.lacksGreen()
	switch {
	case atMost(n, m.tc) && (atMost(n, m.both()) || ask.Mode == weir.Regardless):
		m.tc = minus(m.tc, n)
	case atMost(n, m.te) && atMost(n, m.both()) || ask.Mode == weir.Regardless:
		m.te, part = minus(m.te, n), 1
	default:
		a := never(look)
		a.DecidedBy = 0
		if atMost(n, m.te) {
			a.RetryAfter, a.DecidedBy = time.Duration(ceil(times(minus(n, m.both()), m.perToken))), 1
		} else if atMost(n, cbs) {
			missing := larger(minus(n, m.tc), minus(n, m.both()))
			a.RetryAfter = time.Duration(ceil(times(missing, m.perToken)))
		} else if atMost(n, ebs) {
			tokens := plus(minus(cbs, m.tc), minus(n, m.te)) // C fills before E earns
			a.RetryAfter, a.DecidedBy = time.Duration(ceil(times(tokens, m.perToken))), 1
		}
		return a, m
	}
	if late := minus(m.full(), m.end); late.Sign() > 0 {
		m.te = plus(m.te, over(late, m.perToken))
	}
	a := m.look()
	a.DecidedBy = part
	charged(ask, before, minus(m.full(), rat(now)), m.perToken)
	chargedGreen(ask, part == 0, green, m.lacksGreen(), m.perToken)
	return a, m
}

// giveBack gives back to C, and to C and E together, what each was charged. If that is not known, E
// gets it until it is full, and then C.
func (m *singleRateModel) giveBack(now int64, ask weir.Ask) {
	all, ofGreen := ofBuckets(ask)
	green, both := m.lacksGreen(), minus(m.full(), rat(now))
	toGreen, _ := freed(ofGreen, now, green, m.perToken, -1)
	back, _ := freed(all, now, both, m.perToken, -1)
	if m.full().Cmp(m.end) == 0 {
		back = new(big.Rat)
	}
	green, both = minus(green, toGreen), minus(both, back)
	if _, known := countsUntil(all, m.perToken); known {
		both = larger(both, green)
	} else {
		green = smaller(both, green)
	}
	m.tc = minus(rat(int64(m.cbs)), over(green, m.perToken))
	m.te = minus(rat(int64(m.ebs)), over(minus(both, green), m.perToken))
}

// lacksGreen is the time until C will be full.
func (m singleRateModel) lacksGreen() *big.Rat {
	return times(minus(rat(int64(m.cbs)), m.tc), m.perToken)
}

// ofBuckets are the give-backs to the buckets of a marker. It gives back nothing to that for green if
// it is not known what that was charged.
func ofBuckets(ask weir.Ask) (all, green weir.Ask) {
	if ask.GrantedAt == 0 || ask.Charges == nil || len(*ask.Charges) != 2 {
		return ask, weir.Ask{}
	}
	of := func(i int) weir.Ask {
		own := (*ask.Charges)[i : i+1]
		return weir.Ask{N: -min(-max(ask.N, -math.MaxInt), own[0].N), GrantedAt: ask.GrantedAt, Charges: &own}
	}
	return of(0), of(1)
}

// chargedGreen adds what the bucket for green was charged to what was charged for all.
func chargedGreen(ask weir.Ask, green bool, before, after, event *big.Rat) {
	if ask.Charges == nil {
		return
	}
	own := []weir.Charge{{}}
	if green {
		charged(weir.Ask{N: ask.N, Charges: &own}, before, after, event)
	}
	*ask.Charges = append(*ask.Charges, own...)
}

// full is the instant at which E will be full, or the latest at which it was.
func (m singleRateModel) full() *big.Rat {
	missing := plus(minus(rat(int64(m.cbs)), m.tc), minus(rat(int64(m.ebs)), m.te))
	return plus(rat(m.seen), times(missing, m.perToken))
}

// both is what C and E have together: less than one has while the other is in debt.
func (m singleRateModel) both() *big.Rat { return plus(m.tc, m.te) }

// earn puts tokens into C, and what overflows it into E.
func (m *singleRateModel) earn(tokens *big.Rat) {
	toC := smaller(tokens, minus(rat(int64(m.cbs)), m.tc))
	m.tc = plus(m.tc, toC)
	m.te = smaller(rat(int64(m.ebs)), plus(m.te, minus(tokens, toC)))
}

func (m singleRateModel) look() weir.Answer {
	both := atLeastZero(m.both())
	tc, te := int(floor(smaller(m.tc, both))), int(floor(smaller(atLeastZero(m.te), both)))
	a := weir.Answer{Result: weir.Result{
		Allowed: true, Limit: max(m.cbs, m.ebs), Remaining: max(tc, te),
		ResetAfter: time.Duration(ceil(minus(m.full(), rat(m.seen)))),
	}}
	if tc == 0 && te > 0 {
		a.DecidedBy = 1
	}
	return a
}

// A twoRateModel is RFC 2698 on the models of its two buckets.
type twoRateModel struct{ c, p model }

// Each bucket of a marker has two words, also where one would do.
func newTwoRateModel(p weir.TwoRateMarker) model {
	c, peak := modelOf(p.Committed).(tokenModel), modelOf(p.Peak).(tokenModel)
	c.end, peak.end = endOfTime(false, c.perToken), endOfTime(false, peak.perToken)
	c.marks, peak.marks = true, true
	return twoRateModel{c, peak}
}

func (m twoRateModel) ask(now int64, ask weir.Ask) (weir.Answer, model) {
	ask.MaxWait = 0
	c, _ := m.c.ask(now, weir.Ask{})
	if ask.N < 0 {
		m = m.giveBack(now, ask)
		c, _ = m.c.ask(now, weir.Ask{})
		ask.N = 0
	}
	if ask.N == 0 {
		p, _ := m.p.ask(now, weir.Ask{})
		return m.marked(c, p, c.Remaining > 0 || p.Remaining == 0), m
	}
	if ask.Mode == weir.UpTo {
		p, _ := m.p.ask(now, weir.Ask{})
		return upTo(m, now, p.Remaining, ask)
	}
	p, left := m.p.ask(now, weir.Ask{N: ask.N, Charges: ask.Charges})
	taken, paid := m.c.ask(now, weir.Ask{N: ask.N})
	switch {
	case p.Allowed && taken.Allowed:
		_, before := m.c.ask(now, weir.Ask{})
		chargedGreen(ask, true, before.(tokenModel).owed(), paid.(tokenModel).owed(), paid.(tokenModel).perToken)
		return m.marked(taken, p, true), twoRateModel{paid, left}
	case ask.Mode == weir.Regardless && !p.Allowed:
		p, left = m.p.ask(now, ask)
		fallthrough
	case p.Allowed:
		chargedGreen(ask, false, nil, nil, nil)
		return m.marked(c, p, false), twoRateModel{m.c, left}
	}
	return m.marked(c, p, taken.RetryAfter <= p.RetryAfter), m
}

// giveBack gives back to each bucket what it was charged, or to Peak if that is not known.
func (m twoRateModel) giveBack(now int64, ask weir.Ask) twoRateModel {
	all, green := ofBuckets(ask)
	return twoRateModel{freedBy(m.c, now, green), freedBy(m.p, now, all)}
}

// freedBy is a bucket after a give-back. It is the same as before if that has freed nothing.
func freedBy(m model, now int64, ask weir.Ask) model {
	if _, left := m.ask(now, ask); left.(tokenModel).full().Cmp(m.(tokenModel).full()) < 0 {
		return left
	}
	return m
}

func (m twoRateModel) marked(c, p weir.Answer, green bool) weir.Answer {
	if !green {
		p.DecidedBy = 1
	}
	p.ResetAfter = max(p.ResetAfter, c.ResetAfter)
	return p
}

func (tp *tape) bucket() weir.TokenBucket {
	limit, per := tp.rate()
	return weir.TokenBucket{Limit: limit, Per: per, Burst: max(tp.size(limit), 0)}
}

func TestR9_DebtsOfMarkers(t *testing.T) {
	b := weir.TokenBucket{Limit: 2, Per: 10 * time.Hour}
	single, two := weir.SingleRateMarker{Committed: b, Excess: 1}, weir.TwoRateMarker{Committed: b, Peak: b}
	for p, m := range map[weir.Policy]model{single: newSingleRateModel(single), two: newTwoRateModel(two)} {
		for _, now := range []int64{0, kit.T0, math.MaxInt64} {
			x := newComposedTrial(t, p, m, true)
			for _, n := range []int{1 << 18, 1 << 19, 1 << 20, 1 << 30, math.MaxInt} { // the first is one of 150 years
				x.ask(now, weir.Ask{N: n, Mode: weir.Regardless})
				x.ask(now, weir.Ask{N: 1})
			}
		}
	}
}

func FuzzMarkers(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, bytes []byte) {
		tp := &tape{bytes}
		single := weir.SingleRateMarker{Committed: tp.bucket(), Excess: pick(tp, 0, 1, 10, int(tp.any(math.MaxInt)))}
		two := weir.TwoRateMarker{Committed: tp.bucket(), Peak: tp.bucket()}
		p, m := weir.Policy(single), newSingleRateModel(single)
		if tp.byte()%2 == 0 {
			p, m = two, newTwoRateModel(two)
		}
		if _, err := p.Decider(); err != nil {
			t.Skip(err)
		}
		var cs []course
		for _, b := range []weir.TokenBucket{single.Committed, two.Committed, two.Peak} {
			limit := max(or(b.Burst, b.Limit), single.Excess)
			cs = append(cs, course{tape: tp, limit: limit, width: int64(b.Per), event: max(int64(b.Per)/int64(b.Limit), 1)})
		}
		if p == weir.Policy(two) {
			cs = cs[1:]
		} else {
			cs = cs[:1]
		}
		newComposedTrial(t, p, m, true).run(tp, cs)
	})
}
