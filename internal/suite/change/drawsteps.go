package change

import (
	"math/rand/v2"
	"time"
)

// drawTrial draws the trial of a seed. It also draws the policies, if there are none.
func drawTrial(seed uint64, policies []tree, grain time.Duration) *Trial {
	r := rand.New(rand.NewPCG(seed, 20))
	d := newDraw(r, grain)
	t := &Trial{Seed: seed, Mode: pick(r, bySetPolicy, bySetPolicy, byContext, byPeers), Policies: policies}
	if policies == nil {
		t.Policies = d.policies()
	}
	// Mock clocks start at the Unix epoch. A full hour is a boundary of most windows.
	hour := int64(1767225600) * int64(time.Second)
	t.Start = pick(r, 0, hour, hour+int64(d.per/2), hour+r.Int64N(int64(time.Hour)))
	t.Start -= t.Start % int64(grain)
	s := &stepDraw{draw: d, t: t, moving: r.IntN(2) == 0}
	switch r.IntN(14) {
	case 0:
		s.debts()
	case 1:
		s.named = r.IntN(2) == 0
		s.blocks(1+r.IntN(2), 20)
		s.add(Step{Op: opAllBack, By: s.by(), N: r.IntN(2)})
	case 2: // asked all the time
		s.moving = true
		s.steadily(200)
	default:
		s.blocks(1+r.IntN(4), 60)
	}
	return t
}

// A stepDraw draws steps, in blocks that repeat: many faults need rounds.
type stepDraw struct {
	*draw
	t        *Trial
	moving   bool
	named    bool  // events are granted to reservations alone, and given back by these as a whole
	reserved []int // IDs
}

func (d *stepDraw) add(s Step) {
	s.ID = len(d.t.Steps) + 1
	if d.named {
		switch s.Op {
		case opAllow, opTake, opUpTo, opReserve:
			s.Op, s.N, s.D = opReserve, 1+s.N%5, forNow
		case opSettle:
			s.N = 0
		case opReturn, opReset:
			return
		}
	}
	switch s.Op {
	case opReserve:
		d.reserved = append(d.reserved, s.ID)
	case opSettle: // Of counts from the latest
		if s.Of >= len(d.reserved) {
			return
		}
		s.Of = d.reserved[len(d.reserved)-1-s.Of]
		if d.t.Mode == byPeers {
			s.By = d.t.Steps[s.Of-1].By // a reservation belongs to its limiter
		}
	}
	d.t.Steps = append(d.t.Steps, s)
}

func (d *stepDraw) by() int { return d.IntN(len(d.t.Policies)) }

func (d *stepDraw) blocks(n, most int) {
	for range n {
		block := make([]Step, 1+d.IntN(5))
		for i := range block {
			block[i] = d.step()
		}
		for range pick(d.Rand, 1, 1, 2, 4, 12) {
			for _, s := range block {
				if len(d.t.Steps) < most {
					d.add(s)
				}
			}
		}
	}
}

// steadily asks by the policies in turn, with small steps of time between.
func (d *stepDraw) steadily(n int) {
	pause := d.pause()
	for i := range n {
		d.add(Step{Op: opTake, By: i % len(d.t.Policies), N: 1})
		d.add(Step{Op: opAdvance, D: pause})
	}
}

// debts makes one policy run up debts: reserve 1, settle many, as often as granted.
func (d *stepDraw) debts() {
	by, much := d.by(), 1+d.number()
	for range 40 {
		d.add(Step{Op: opOverrun, By: by, N: much})
		if d.IntN(3) > 0 {
			d.add(Step{Op: opAdvance, D: d.pause()})
		} else {
			d.add(Step{Op: opRetry})
		}
	}
}

func (d *stepDraw) pause() time.Duration {
	p := d.per
	g := d.grain
	return max(g, pick(d.Rand, g, p/time.Duration(d.limit), p/10, p/50, p/2, p-g, p, p+g, 2*p, time.Duration(d.Int64N(int64(p)))).Truncate(g))
}

func (d *stepDraw) step() Step {
	s := Step{By: d.by(), D: -1}
	if d.IntN(12) == 0 {
		s.Key = 1
	}
	if d.moving && d.IntN(4) == 0 {
		s.Op, s.D = opAdvance, d.pause()
		if d.IntN(3) == 0 {
			s.Op, s.D = opRetry, pick(d.Rand, 0, 0, -d.grain, d.grain)
		}
		return s
	}
	switch d.IntN(24) {
	case 0, 1:
		s.Op = opAllow
	case 2, 3, 4, 5, 6, 7:
		s.Op, s.N = opTake, pick(d.Rand, 1, 1, 1, 2, 3, d.number())
	case 8, 9, 10, 11, 12:
		s.Op, s.N = opUpTo, pick(d.Rand, 1<<30, 1<<30, d.number())
	case 13, 14, 15, 16:
		s.Op, s.N, s.D = opReserve, pick(d.Rand, 1, 1, 2, 5, d.number(), 0), pick(d.Rand, 0, -1, -1, 5*d.per, forNow)
	case 17, 18, 19, 20:
		s.Op, s.N, s.Of = opSettle, pick(d.Rand, 0, 0, 0, 1, 2, d.number()), pick(d.Rand, 0, 0, 1, 2, d.IntN(20))
	case 21, 22:
		s.Op, s.N = opReturn, pick(d.Rand, 1, 1, 2, d.number())
	case 23:
		s.Op, s.N = opTake, 1
		if d.IntN(3) == 0 {
			s.Op = opReset
		}
	}
	switch s.Op {
	case opTake, opSettle, opReturn:
		s.Ended = d.IntN(25) == 0
	}
	return s
}
