package weir

import "fmt"

// TwoRateMarker marks events as the two rate three color marker of RFC 2698 marks packets: red, and
// so denied, if they exceed the peak rate; else yellow if they exceed the committed rate; else green.
// Part of a granted Result is 0 for green and 1 for yellow.
//
// A key has two buckets of tokens, which start full and earn independently. Committed has the RFC's
// rate and size CIR and CBS, Peak has PIR and PBS. An ask takes from Peak if that has a token for each
// event, and is red if not, which takes nothing. If Committed has enough as well it
// takes from that too, and is green. It is the mode that the RFC calls color-blind; see [SingleRateMarker].
//
// Limit, Remaining and RetryAfter are those of Peak. Part of a denial tells which color the same
// ask will have after RetryAfter. A debt is charged to Peak. Events that are given back go to Peak,
// since it is not known which of them were green.
type TwoRateMarker struct {
	Committed TokenBucket // for green
	Peak      TokenBucket // for green and yellow; its rate is at least that of Committed
}

// Decider implements [Policy].
func (p TwoRateMarker) Decider() (Decider, error) {
	f := faults{policy: p}
	committed, err := p.Committed.Decider()
	f.errs = within("Committed of a TwoRateMarker", err)
	peak, err := p.Peak.Decider()
	f.errs = append(f.errs, within("Peak of a TwoRateMarker", err)...)
	slow, fast := mul64(uint64(p.Committed.Limit), uint64(p.Peak.Per)), mul64(uint64(p.Peak.Limit), uint64(p.Committed.Per))
	if f.errs == nil && fast.less(slow) {
		f.add("Peak", p.Peak, fmt.Sprintf("at least as fast as Committed, %v", p.Committed))
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	d := &twoRate{composed{parts: []part{
		committedPart: {Decider: committed, policy: p.Committed, index: committedPart, length: -1},
		peakPart:      {Decider: peak, policy: p.Peak, index: peakPart, length: -1},
	}}}
	d.layOut()
	return d, nil
}

// twoRate is composed of the two buckets.
type twoRate struct{ composed }

const (
	committedPart = iota
	peakPart
)

// Decide implements [Decider].
func (d *twoRate) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	ask.Parts, ask.MaxWait = nil, 0
	switch {
	case ask.N == 0:
		return d.look(state, now)
	case ask.N < 0:
		var a Answer
		state = d.ask(state, peakPart, now, ask, &a)
		return d.look(state, now)
	case ask.How == UpTo:
		state, look := d.look(state, now)
		n := min(ask.N, look.Remaining)
		state, a := d.take(state, now, Ask{N: max(n, 1)})
		a.Granted = n
		return state, a
	}
	return d.take(state, now, ask)
}

func (d *twoRate) take(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	var c, p Answer
	all := Ask{N: ask.N}
	state = d.ask(state, peakPart, now, all, &p)
	switch {
	case p.Allowed:
		state = d.ask(state, committedPart, now, all, &c)
		return state, marked(c, p, c.Allowed)
	case ask.How == Regardless:
		state = d.ask(state, peakPart, now, ask, &p)
		state = d.ask(state, committedPart, now, Ask{}, &c)
		return state, marked(c, p, false)
	}
	var saved [2]uint64 // a bucket has no more
	from, to := d.span(state, committedPart)
	copy(saved[:], state[from:to])
	state = d.ask(state, committedPart, now, all, &c)
	green := c.RetryAfter <= p.RetryAfter
	if c.Allowed {
		copy(state[from:to], saved[:])
		state = d.ask(state, committedPart, now, Ask{}, &c)
	}
	return state, marked(c, p, green)
}

func (d *twoRate) look(state []uint64, now int64) ([]uint64, Answer) {
	var c, p Answer
	state = d.ask(state, peakPart, now, Ask{}, &p)
	state = d.ask(state, committedPart, now, Ask{}, &c)
	return state, marked(c, p, c.Remaining > 0 || p.Remaining == 0)
}

// marked is the answer of the peak, with the color that it has.
func marked(c, p Answer, green bool) Answer {
	if !green {
		p.Part = 1
	}
	p.Delay, p.ResetAfter = 0, max(p.ResetAfter, c.ResetAfter)
	return p
}

// admit implements admitter.
func (d *twoRate) admit(state []uint64, now int64) ([]uint64, bool) {
	state, granted := d.composed.admit(state, peakPart, now)
	if granted {
		state, _ = d.composed.admit(state, committedPart, now)
	}
	return state, granted
}

func (d *twoRate) every() bool { return false }
