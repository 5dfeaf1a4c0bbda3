package weir

import (
	"fmt"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// TwoRateMarker marks events as the two rate three color marker of RFC 2698 marks packets:
//
//   - red, if they exceed the rate and burst of Peak; red events are denied
//   - yellow, if they exceed only Committed; DecidedBy of the Result is 1
//   - green otherwise; DecidedBy is 0
//
// A key has two buckets of tokens, which start full and earn independently. Committed has the rate
// and size that the RFC calls CIR and CBS. Peak has the rate and size that the RFC calls PIR and
// PBS.
//
// A request takes a token from Peak for each event. If Peak has too few, the request is red and
// takes nothing. If Committed has enough too, the request also takes from it, and is green.
// Otherwise it is yellow. The marker works in the mode that the RFC calls color-blind: see
// [SingleRateMarker].
//
// Results, debts and give-backs:
//
//   - Limit, Remaining and RetryAfter are those of Peak.
//   - DecidedBy of a denial is the color that the same request will have after RetryAfter, or 0 if
//     RetryAfter is [Never].
//   - If [Reservation.Settle] charges more events than Peak can grant, Peak is then in debt.
//   - A [Reservation] gives its events back to Peak and, if they were green, to Committed, as far
//     as they still count there.
//   - [KeyedLimiter.Return] gives back only to Peak, because it is not known which events were
//     green.
type TwoRateMarker struct {
	Committed TokenBucket // for green
	Peak      TokenBucket // for green and yellow; its rate is at least that of Committed
}

// Decider implements [Policy].
func (p TwoRateMarker) Decider() (Decider, error) {
	f := faults{policy: p}
	_, err := p.Committed.Decider()
	f.errs = text.Within("Committed of a TwoRateMarker", err)
	_, err = p.Peak.Decider()
	f.errs = append(f.errs, text.Within("Peak of a TwoRateMarker", err)...)
	slow, fast := exact.Mul(uint64(p.Committed.Limit), uint64(p.Peak.Per)), exact.Mul(uint64(p.Peak.Limit), uint64(p.Committed.Per))
	if f.errs == nil && fast.Less(slow) {
		f.add("Peak", p.Peak, fmt.Sprintf("at least as fast as Committed, %v", p.Committed))
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &twoRate{newMarker(p.Committed, p.Peak)}
	d.green.most, d.yellow.most = pairMost, pairMost // each has two words, also where one would do
	return d, nil
}

// String returns the text form of p, such as "two-rate-marker(10/1s, 20/1s)".
func (p TwoRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TwoRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *TwoRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *TwoRateMarker) form() text.Form {
	return listForm([]Policy{p.Committed, p.Peak}, p.setBuckets)
}

func (p *TwoRateMarker) setBuckets(parts []Policy) (must string) {
	if len(parts) == 2 {
		committed, ok := parts[0].(TokenBucket)
		peak, too := parts[1].(TokenBucket)
		if ok && too {
			*p = TwoRateMarker{committed, peak}
			return ""
		}
	}
	return "two token-buckets, committed and peak"
}

// twoRate has Committed for green and Peak for yellow.
type twoRate struct{ marker }

func (d *twoRate) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	c, p, granted := &d.green, exact.Load(state[2:]), 0
	at := c.rate.Units(now)
	lacks := exact.Load(state).Sub(at) // of Committed
	switch {
	case ask.N < 0:
		green, all, _ := d.giveBack(state, now, ask)
		green.Store(state)
		all.Store(state[2:])
		return state, d.look(state, now, false)
	case ask.N == 0:
		return state, d.look(state, now, ask.More)
	case ask.Mode == UpTo:
		granted = min(ask.N, d.yellow.remaining(p.Sub(d.yellow.rate.Units(now))))
		ask.N = max(granted, 1)
	}

	before, would := lacks, lacks.Add(c.rate.Cost(uint64(ask.N)))
	early := would.Sub(c.full)
	next, a := d.yellow.decide(paid(p), now, Ask{N: ask.N, More: ask.More, Charges: ask.Charges})
	isGreen := early.IsZero()
	switch {
	case a.Allowed:
		if isGreen {
			lacks, would = would, at.Add(would)
			would.Store(state)
		}
	case ask.Mode == Regardless:
		next, a = d.yellow.decide(paid(p), now, ask)
		isGreen = false
	case ask.N > c.limit:
		isGreen = a.RetryAfter == Never
	default:
		isGreen = c.rate.Ceil(early) <= a.RetryAfter
	}
	next.store(state[2:])
	if a.Allowed && ask.Charges != nil {
		*ask.Charges = append(*ask.Charges, d.chargedGreen(isGreen, ask.N, before, lacks))
	}
	a = d.marked(a, lacks, isGreen)
	a.Granted = granted
	return state, a
}

// look is the answer to an ask for nothing.
func (d *twoRate) look(state []uint64, now int64, more bool) Answer {
	lacks := exact.Load(state).Sub(d.green.rate.Units(now))
	a := d.yellow.answer(exact.Load(state[2:]).Sub(d.yellow.rate.Units(now)), more)
	return d.marked(a, lacks, d.green.remaining(lacks) > 0 || a.Remaining == 0)
}

// marked is the answer of the peak with its color, when Committed lacks that much.
func (d *twoRate) marked(a Answer, lacks exact.Uint128, isGreen bool) Answer {
	if !isGreen {
		a.DecidedBy = 1
	}
	a.Delay, a.rest, a.ResetAfter = 0, 0, max(a.ResetAfter, d.green.rate.Ceil(lacks))
	return a
}

func (d *twoRate) admit(state []uint64, now int64) ([]uint64, bool) {
	granted := d.yellow.admitTo(state[2:], now)
	if granted {
		d.green.admitTo(state, now)
	}
	return state, granted
}

func (d *twoRate) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	state, a := d.Decide(state, now, Ask{N: n})
	return state, a.short(), a.DecidedBy
}

// The methods below are for changes of policy, see counter. Peak grants, and what Committed lacks
// is a color.

func (d *twoRate) counts() any { return [2]any{d.green.counts(), d.yellow.counts()} }

func (d *twoRate) allowance() uint64 { return d.yellow.allowance() }
