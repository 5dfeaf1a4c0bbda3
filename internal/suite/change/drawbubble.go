package change

import (
	"math/rand/v2"
	"time"
)

// drawBubble draws a trial with waiters. Its policies change by SetPolicy, so that all wait at one
// limiter.
func drawBubble(seed uint64, policies []tree) *Trial {
	r := rand.New(rand.NewPCG(seed, 18))
	d := newDraw(r, 1)
	d.limit, d.per = pick(r, 1, 1, 2, 3, 3, 10), pick(r, time.Second, time.Minute, time.Minute, 1, 3)
	t := &Trial{Seed: seed, Bubble: true, Policies: policies}
	if policies == nil {
		t.Policies = d.queues()
	}
	b := &bubbleDraw{stepDraw: stepDraw{draw: d, t: t, moving: true}}
	b.hurry = r.IntN(3) == 0
	for range 3 + r.IntN(25) {
		b.next()
	}
	if r.IntN(4) == 0 {
		b.steadily()
	}
	return t
}

// steadily adds waiters faster than they are granted, after a change of policy, so that the line
// never empties.
func (d *bubbleDraw) steadily() {
	d.wait(1, -1)
	d.at = d.by()
	d.add(Step{Op: opTake, By: d.at})
	pause := max(d.per/time.Duration(d.limit)/2, 1)
	for range 40 {
		d.wait(1, -1)
		d.add(Step{Op: opAdvance, By: d.at, D: pause})
	}
}

func (d *bubbleDraw) wait(n int, within time.Duration) {
	d.waits = append(d.waits, len(d.t.Steps)+1)
	d.add(Step{Op: opWait, By: d.at, N: n, D: within})
}

// queues returns policies that mostly book.
func (d *draw) queues() []tree {
	var drawn []tree
	for range pick(d.Rand, 1, 1, 2, 2, 3) {
		p := d.tree(1)
		if d.IntN(2) == 0 {
			p = d.queue()
		}
		if d.IntN(4) == 0 {
			p = allOf(d.queue(), d.queue())
		}
		drawn = append(drawn, p)
	}
	return drawn
}

func (d *draw) queue() tree {
	for {
		if p := d.leaf(); isBucket(p.leaf) {
			return p
		}
	}
}

type bubbleDraw struct {
	stepDraw
	waits []int // IDs
	at    int   // the policy
	hurry bool
}

func (d *bubbleDraw) next() {
	s := Step{By: d.at, D: -1}
	if d.IntN(20) == 0 {
		s.Key = 1
	}
	switch n := d.IntN(20); {
	case n < 7:
		s.Op, s.N = opWait, pick(d.Rand, 1, 1, 1, 2, 3, d.number())
		if d.IntN(4) == 0 {
			s.D = d.pause() * time.Duration(1+d.IntN(5))
		}
		d.waits = append(d.waits, len(d.t.Steps)+1)
	case n < 10:
		if len(d.waits) == 0 {
			return
		}
		s.Op, s.Of = opGiveUp, d.waits[d.IntN(len(d.waits))]
	case n < 12:
		d.at = d.by()
		s.Op, s.By, s.N = opTake, d.at, 0
	case n < 13:
		s.Op = opReset
	case n < 14:
		s.Op, s.N = pick(d.Rand, opTake, opUpTo, opAllow), pick(d.Rand, 1, 1, 2)
	case n < 15:
		s.Op, s.N, s.D = opReserve, pick(d.Rand, 1, 2, 5, d.number()), pick(d.Rand, -1, -1, 5*d.per, forNow)
	case n < 16:
		s.Op, s.Of, s.N = opSettle, d.IntN(3), pick(d.Rand, 0, 0, 0, 1, 2, d.number())
	case n < 17:
		s.Op, s.N = opReturn, 1
	default:
		s.Op, s.D = opAdvance, d.pause()
	}
	s.Hurry = d.hurry && s.Op != opWait && s.Op != opAdvance && d.IntN(2) == 0
	d.add(s)
}
