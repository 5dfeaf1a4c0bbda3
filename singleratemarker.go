package weir

import (
	"math"
	"slices"
)

// SingleRateMarker marks events as the single rate three color marker of RFC 2697 marks packets: green while
// the committed burst lasts, yellow while the excess burst lasts, and red, which is denied. Part of
// a granted Result is 0 for green and 1 for yellow.
//
// A key has two buckets of tokens, which start full. Committed has the RFC's rate (CIR) and size
// (CBS); of Excess the RFC's size is EBS. Tokens are earned at the committed rate, by the first
// bucket, and what overflows it goes to the second. So yellow are those events that go beyond the
// committed burst, as far as the key was below its rate before. All events of an ask have one color: it
// is green if the first bucket has a token for each, else yellow if the second has, else red, and red
// takes nothing.
//
// It differs from [Tiers] of two buckets in that they share one rate, and so it never grants more than
// Committed.Limit per Per in the long run. It is the mode that the RFC calls color-blind: what an event
// was marked before does not count, since [Keyed.Take] has no place to tell it.
//
// Limit and Remaining are those of the bucket that has more. Part of a denial tells which color the
// same ask will have after RetryAfter. A debt is charged to the second bucket. Events that are given
// back go to the second bucket as far as it lacks tokens, and then to the first: so what was
// yellow does not become green. Where the policy changes to one of another kind, both buckets count as one (see
// [Carry]). The state is four words.
type SingleRateMarker struct {
	Committed TokenBucket // rate, and size of the bucket for green
	Excess    int         // tokens that the bucket for yellow holds; at least 0
}

// Decider implements [Policy].
func (p SingleRateMarker) Decider() (Decider, error) {
	f := faults{policy: p}
	_, err := p.Committed.Decider()
	f.errs = within("Committed of a SingleRateMarker", err)
	f.atLeastZero("Excess", p.Excess)
	if err := f.err(); err != nil {
		return nil, err
	}
	r := newRate(p.Committed.Limit, p.Committed.Per)
	size := func(n int, most uint64) bucket {
		return bucket{rate: r, limit: n, full: r.cost(uint64(n)), most: uint128{most, 0}}
	}
	burst := p.Committed.Burst
	if burst == 0 {
		burst = p.Committed.Limit
	}
	return &singleRate{rate: r, green: size(burst, 2<<62), yellow: size(p.Excess, 3<<62)}, nil
}

// singleRate keeps two instants, in units of the rate, in two words each: when the bucket for green
// will be full, and when that for yellow will be, which fills only after the first. So the latest that
// the first can be lies before the latest that the second can be: a debt of both, which only a change of policy
// leaves, stays in the second.
type singleRate struct {
	rate
	green, yellow bucket
}

// markerOwed is what the two buckets lack.
type markerOwed struct{ green, yellow uint128 }

func (d *singleRate) owed(state []uint64, now int64) markerOwed {
	at := d.units(now)
	greenFull, yellowFull := uint128{state[0], state[1]}, uint128{state[2], state[3]}
	green := greenFull.sub(at)
	return markerOwed{green, yellowFull.sub(at.add(green))}
}

// set makes the state of what the buckets lack, and returns what they lack by it: a debt has an end.
func (d *singleRate) set(state []uint64, now int64, o markerOwed) markerOwed {
	at := d.units(now)
	greenFull := min128(at.add(o.green), d.green.most)
	yellowFull := greenFull.add(min128(o.yellow, d.yellow.most.sub(greenFull)))
	state[0], state[1] = greenFull.hi, greenFull.lo
	state[2], state[3] = yellowFull.hi, yellowFull.lo
	return markerOwed{greenFull.sub(at), yellowFull.sub(greenFull)}
}

// Words implements [Decider].
func (d *singleRate) Words() int { return 4 }

// Decide implements [Decider].
func (d *singleRate) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	owed := d.owed(state, now)
	look := d.look(owed)
	granted := 0
	switch {
	case ask.N == 0:
		return state, look
	case ask.N < 0:
		return state, d.giveBack(state, now, owed, d.cost(magnitude(ask.N)))
	case ask.How == UpTo:
		granted = min(ask.N, look.Remaining)
		ask.N = max(granted, 1)
	}

	cost := d.cost(uint64(ask.N))
	part := 0
	switch {
	case fits(owed.green, cost, d.green):
		owed.green = owed.green.add(cost)
	case fits(owed.yellow, cost, d.yellow):
		owed.yellow, part = owed.yellow.add(cost), 1
	case ask.How == Regardless:
		owed.yellow, part = owed.yellow.add(cost), 1
	default:
		return state, d.deny(look, owed, cost, ask.N)
	}
	a := d.look(d.set(state, now, owed))
	a.Part, a.Granted = part, granted
	return state, a
}

func fits(owed, cost uint128, b bucket) bool { return !b.full.less(owed.add(cost)) }

// deny tells when the first of the buckets will have enough: that for green, if it is large enough
// at all, since the other fills only after it.
func (d *singleRate) deny(look Answer, owed markerOwed, cost uint128, n int) Answer {
	a := look.never()
	a.Part = 0
	switch {
	case n <= d.green.limit:
		a.RetryAfter = d.ceil(owed.green.add(cost).sub(d.green.full))
	case n <= d.yellow.limit:
		a.RetryAfter = d.ceil(owed.green.add(owed.yellow).add(cost).sub(d.yellow.full))
		a.Part = 1
	}
	return a
}

func (d *singleRate) giveBack(state []uint64, now int64, owed markerOwed, back uint128) Answer {
	if !(uint128{state[2], state[3]}).less(d.yellow.most) {
		back = uint128{}
	}
	toYellow := min128(back, owed.yellow)
	owed.yellow = owed.yellow.sub(toYellow)
	owed.green = owed.green.sub(back.sub(toYellow))
	d.set(state, now, owed)
	a := d.look(owed)
	a.Part = 0
	if !toYellow.isZero() {
		a.Part = 1
	}
	return a
}

// look is the answer when the buckets lack owed. Part is the first bucket that has a token, or 0.
func (d *singleRate) look(owed markerOwed) Answer {
	green, yellow := d.green.remaining(owed.green), d.yellow.remaining(owed.yellow)
	a := Answer{Result: Result{
		Allowed:    true,
		Limit:      max(d.green.limit, d.yellow.limit),
		Remaining:  max(green, yellow),
		ResetAfter: d.ceil(owed.green.add(owed.yellow)),
	}}
	if green == 0 && yellow > 0 {
		a.Part = 1
	}
	return a
}

// Expiry implements [Decider]. The bucket for yellow is never full before the other.
func (d *singleRate) Expiry(state []uint64) int64 {
	return int64(d.ceil(uint128{state[2], state[3]}))
}

// split and join take the marker for two buckets, so that a change of it is carried as that of two.
func (d *singleRate) split(state []uint64, now int64) []splitPart {
	at, owed := d.units(now), d.owed(state, now)
	part := func(b bucket, paidAt uint128) splitPart {
		return splitPart{nil, bucketPair{&b}, []uint64{paidAt.hi, paidAt.lo}}
	}
	yellow := at.add(owed.yellow)
	if !(uint128{state[2], state[3]}).less(d.yellow.most) {
		yellow = d.yellow.most // it stands for all from it on in the other policy, too
	}
	return []splitPart{part(d.green, at.add(owed.green)), part(d.yellow, yellow)}
}

// sum is both buckets as one, which earns at the rate that they share.
func (d *singleRate) sum(state []uint64) splitPart {
	b := d.yellow
	b.limit = d.green.limit + min(d.yellow.limit, math.MaxInt-d.green.limit)
	b.full = min128(d.green.full.add(d.yellow.full), uint128{1<<62 - 1, math.MaxUint64}) // as mulShare asks for; less leaves less
	return splitPart{nil, bucketPair{&b}, slices.Clone(state[2:])}
}

func (d *singleRate) join(words [][]uint64, now int64) []uint64 {
	state := make([]uint64, d.Words())
	at := d.units(now)
	owed := func(words []uint64) uint128 { return uint128{words[0], words[1]}.sub(at) }
	d.set(state, now, markerOwed{owed(words[0]), owed(words[1])})
	return state
}

func (d *singleRate) every() bool { return false }
