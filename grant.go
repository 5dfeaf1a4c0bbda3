package weir

import (
	"context"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/line"
)

// A grant is a number of events that a store has granted. It identifies them when they are given
// back.
type grant struct {
	plan     *Plan
	n        int
	at       int64    // the instant of the decision, by the clock of the store
	charges  []Charge // what each policy charged for it
	degraded bool     // not known to the shared store
}

// A reply is the answer of the store.
type reply struct {
	Answer
	grant grant // if it is allowed
	now   int64 // the instant of the decision, by the clock of the limiter
}

// ask asks the store for events.
func (k *KeyedLimiter) ask(ctx context.Context, s *Plan, key string, ask Ask) (reply, error) {
	var asked struct { // one allocation
		charges []Charge
		room    [1]Charge
	}
	asked.charges = asked.room[:0]
	ask.Charges = &asked.charges
	a, err := k.store.Do(ctx, Request{Plan: s, Key: key, Ask: ask})
	if err != nil {
		return reply{}, err
	}
	now := a.At
	if a.ServerTime || now <= 0 { // not of the limiter's clock, or not set: rather too late than too early
		now = s.Now()
	}
	r := reply{Answer: a, now: now}
	if a.Allowed && ask.N > 0 {
		r.grant = newGrant(s, ask.N, a, asked.charges)
	}
	return r, nil
}

func newGrant(s *Plan, n int, a Answer, charges []Charge) grant {
	if len(charges) == 0 { // the policy keeps no account of it
		charges = []Charge{{N: n, For: a.ResetAfter}}
	}
	g := grant{plan: s, n: n, at: max(a.At, 1), charges: charges, degraded: a.Degraded}
	if g.at > a.At { // zero stands for no instant: the charges are told from one later
		for i := range charges {
			charges[i].Before -= time.Duration(g.at - a.At)
			charges[i].For -= time.Duration(g.at - a.At)
		}
	}
	return g
}

// booking is the grant as a line knows it. Only a single policy may book ahead.
func (g *grant) booking() line.Booking {
	return line.Booking{
		By: by{g.plan}, N: g.n, At: g.at, Start: g.start(), End: g.end(),
		Apart: len(g.charges) != 1 || g.degraded,
	}
}

// by is a Plan as a line knows it.
type by struct{ *Plan }

// Equal implements [line.Policy].
func (b by) Equal(other line.Policy) bool { return b.Plan.Equal(other.(by).Plan) }

// Follows implements [line.Policy]. The numbers may differ.
func (b by) Follows(other line.Policy) bool {
	return b.Equal(other) || sameShape(b.rule(), other.(by).rule())
}

// start and end are the instants of the store between which a bucket pays for the events.
func (g *grant) start() int64 { return exact.After(g.at, g.charges[0].Before) }
func (g *grant) end() int64   { return exact.After(g.at, g.charges[0].For) }

// back gives back n of the events.
func (g *grant) back(n int) Ask { return Ask{N: -n, GrantedAt: g.at, Charges: &g.charges} }

// counting is how many of n events still count at the instant now of the store.
func (g *grant) counting(n int, now int64) int {
	left, cost := g.end()-now, g.end()-g.start()
	switch {
	case left <= 0:
		return 0
	case left >= cost:
		return n
	}
	return min(n, int(exact.Portion(uint64(left), uint64(g.n), uint64(cost))))
}
