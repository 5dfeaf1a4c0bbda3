package weir

import (
	"context"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/line"
	"github.com/weir-go/weir/internal/outlive"
)

// A grant is a number of events that a store has granted. It identifies them when they are given
// back.
type grant struct {
	plan     *Plan
	n        int       // 0 if the events were denied
	at       int64     // the instant of the decision, by the clock of the store
	charges  []Charge  // what each policy charged for it
	room     [1]Charge // for charges by a single policy
	degraded bool      // not known to the shared store
}

// ask asks the store for events, and sets g. now is the instant of the decision, by the clock of
// the limiter.
//
// If the caller is cancelled meanwhile, ask still waits for the answer of a store over a network.
// Without it, nobody would know of the events, and nobody could give them back.
func (k *KeyedLimiter) ask(ctx context.Context, plan *Plan, key string, ask Ask, g *grant) (a Answer, now int64, err error) {
	caller := ctx
	if k.mem == nil && ctx.Done() != nil {
		var cancel context.CancelFunc
		ctx, cancel = outlive.Context(ctx, 0)
		defer cancel()
	}
	g.charges = g.room[:0]
	ask.Charges = &g.charges
	a, err = k.store.Do(ctx, Request{Plan: plan, Key: key, Ask: ask})
	if err != nil {
		outlive.Overtaken(caller)
		return a, 0, err
	}
	g.set(plan, ask.N, &a.Result, a.At)
	if now = a.At; a.ServerTime || a.At <= 0 { // not of the limiter's clock, or not set: rather too late than too early
		now = plan.Now()
	}
	return a, now, nil
}

// book asks the store for events. If there is a decision, it sets all fields of r. To clear r first
// would take a tenth of the time.
func (k *KeyedLimiter) book(ctx context.Context, plan *Plan, key string, ask Ask, r *Reservation) error {
	a, now, err := k.ask(ctx, plan, key, ask, &r.grant)
	if err != nil {
		return err
	}
	r.Result, r.at, r.ahead = a.Result, exact.After(now, a.Delay), a.At-now
	r.open(k, key)
	return nil
}

// open sets the other fields of r. The Result, the grant, at and ahead are set before, and reset to
// the number of resets that there were before the booking.
//
// Pointers are written only if they change, here and in bookNowQuickly: the garbage collector notes
// each pointer that is written while it works. That can take longer than the rest of a booking.
func (r *Reservation) open(k *KeyedLimiter, key string) {
	if r.limiter != k {
		r.limiter = k
	}
	r.key = key // even if it is equal: the memory of the earlier key may be used again
	if r.ended != nil || r.err != nil {
		r.ended, r.err = nil, nil
	}
	r.made, r.settling, r.settled, r.actual = true, false, false, 0
	for i := range r.grant.charges {
		k.resets.Reserved(r.grant.charges[i].until(r.grant.at - r.ahead).NS)
	}
	before := r.reset
	if r.reset = k.resets.Number(); r.reset > before && k.resets.Forgot(key, before) {
		r.reset = before
	}
}

// bookNowQuickly is ReserveNow for a known key whose state is a word. It takes half the time.
func (k *KeyedLimiter) bookNowQuickly(plan *Plan, key string, n int, r *Reservation) bool {
	if k.mem == nil {
		return false
	}
	mp, next, now, taken, ok := k.mem.take(plan, key, n)
	if !ok {
		return false
	}
	// Field by field: a Result made elsewhere would be copied in pieces other than those in which
	// it was written, and the processor would wait for the writes.
	r.Allowed, r.Degraded = taken.retryAfter == 0, false
	r.Limit, r.Remaining = mp.limit, taken.remaining
	r.RetryAfter, r.ResetAfter = taken.retryAfter, taken.resetAfter
	r.MoreAfter, r.DecidedBy = mp.admitWord.more(next, now, taken), 0
	g := &r.grant
	mp.admitWord.charge(&g.room[0], next, now, n, taken)
	if len(g.charges) != 1 || &g.charges[0] != &g.room[0] {
		g.charges = g.room[:1]
	}
	g.set(plan, n, &r.Result, now)
	r.at, r.ahead = now, 0
	r.open(k, key)
	return true
}

// set sets the other fields of g. The charges are set before.
func (g *grant) set(plan *Plan, n int, r *Result, at int64) {
	if !r.Allowed || n == 0 {
		*g = grant{plan: plan}
		return
	}
	if len(g.charges) == 0 { // the policy keeps no account of it
		g.charges = append(g.charges, Charge{N: n, For: r.ResetAfter})
	}
	if g.plan != plan {
		g.plan = plan
	}
	g.n, g.at, g.degraded = n, max(at, 1), r.Degraded
	if g.at > at { // zero stands for no instant: g.at is one later, and the charges count from there
		for i := range g.charges { // whose rests stay as they are
			g.charges[i].Before -= time.Duration(g.at - at)
			g.charges[i].For -= time.Duration(g.at - at)
			g.charges[i].Late -= time.Duration(g.at - at)
		}
	}
}

// booking is the grant as a line knows it. Only a single policy may book ahead.
func (g *grant) booking() line.Booking {
	paid := g.charges[0]
	b := line.Booking{
		By: by{g.plan}, N: g.n, At: g.at, Start: paid.from(g.at), End: paid.until(g.at),
		Apart: len(g.charges) != 1 || g.degraded,
	}
	if d, ok := g.plan.Decider.(interface{ pace(n int) line.Pace }); ok { // a bucket
		b.Pace = d.pace(g.n)
	}
	return b
}

// by is a Plan as a line knows it.
type by struct{ *Plan }

// Equal implements [line.Policy].
func (b by) Equal(other line.Policy) bool { return b.Plan.Equal(other.(by).Plan) }

// Follows implements [line.Policy]. The numbers may differ.
func (b by) Follows(other line.Policy) bool {
	return b.Equal(other) || sameShape(b.rule(), other.(by).rule())
}

// Return gives back (refunds) n events of key that were granted before. Use it to count failures
// only: take an event before each login, and return it after a success. A key never has more left
// than its full allowance. If callers wait for the key in [KeyedLimiter.Wait] of this limiter, the
// first of them that has booked nothing asks the store again at once.
//
// Return does not know which grant the events belong to; only a [Reservation] does. Return gives
// back the latest events of the key:
//
//   - Windows and [SlidingLog] free the latest events that they still count.
//   - A [TokenBucket] frees tokens until it is full. It frees nothing while instants booked by
//     [KeyedLimiter.Wait] or [KeyedLimiter.Reserve] are still to come, or while the key is in debt.
//   - A [LeakyBucket] frees only the last event, and only if no other event occupies the outlet.
//   - [All] gives the events back to every component. [Tiers] gives them back to the last tier that
//     does not have its full allowance. For markers, see their types.
//   - After a change of policy, the policy that granted last gives back first: at most as many
//     events as it granted and still counts. The policy before it gives back the rest. If the
//     events that were freed are those of an open reservation, its Cancel may then free nothing,
//     and the events that you meant stay counted until they expire.
//
// Do not give back more events than were granted, or an event twice. Do not give back events of a
// [Result] that is Degraded: the shared store has not counted them, and would free the events of
// another caller.
//
// If the store fails, Return returns an error, and the events may have been given back. Do not call
// Return again for them.
//
// An n below 0 is an error. A ctx that has ended is not an error, because callers often give back
// when they are cancelled. If ctx ends, Return still waits for other calls of the key, but only
// until a second after its own start. It then waits for the store, a second at most. Return is safe
// for concurrent use.
func (k *KeyedLimiter) Return(ctx context.Context, key string, n int) error {
	ctx, cancel := k.unended(ctx)
	defer cancel()
	if err := k.check(ctx, n); err != nil || n == 0 {
		return callError("Return of", n, err)
	}
	plan, err := k.plans.of(ctx, key)
	if err == nil {
		_, err = k.giveBack(ctx, key, nil, false, func(*line.Line) (Request, line.Back) {
			return Request{Plan: plan, Ask: Ask{N: -n}}, line.Back{}
		})
	}
	return callError("Return of", n, err)
}

// unended returns a context with the values of ctx for a call that gives back. It ends with ctx,
// but not before a second has passed: callers often give back when they are cancelled, at that very
// moment. For a MemStore the context never ends, because nothing takes that long there. With
// [WithPolicyFor] it ends there, too: the function may take longer, and other calls of the key may
// wait for it.
func (k *KeyedLimiter) unended(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case ctx.Done() == nil:
		return ctx, func() {}
	case k != nil && k.mem != nil && k.plans.forKey == nil:
		return context.WithoutCancel(ctx), func() {}
	case ctx.Err() != nil:
		return context.WithTimeout(context.WithoutCancel(ctx), outlive.Within)
	}
	return outlive.Context(ctx, outlive.Within)
}

// giveBack makes the request that name returns, and then moves up the waiters behind what is given
// back. The request is for events of a grant, of waiters that are about to leave, or of both. If it
// has no Plan, there are none. w is the waiter that leaves, or nil. Meanwhile no call books in the
// line of the key. With alone, the request is for a booking, and no other call gives back bookings
// either, because which events are free depends on those.
//
// It reports whether it asked the store, or found that there is nothing to give back.
func (k *KeyedLimiter) giveBack(
	ctx context.Context, key string, w *line.Waiter, alone bool, name func(*line.Line) (Request, line.Back),
) (asked bool, err error) {
	ln, waited, err := k.start(ctx, key, line.Returning, w)
	if err != nil {
		return false, err
	}
	defer ln.End()
	asking := waited
	if alone {
		done, err := ln.Alone(ctx)
		if err != nil {
			return false, err
		}
		defer done()
		// ctx does not tell the store how long this call has waited. If it did, a Fallback could
		// stop waiting for a store that frees the events, and the waiters would not move up.
		asking = ctx
	}
	r, back := name(ln)
	if r.Plan == nil {
		return true, nil
	}
	r.Key = key
	asking, cancel := k.unended(asking) // the store has a second, however long the call has waited
	defer cancel()
	a, err := k.store.Do(asking, r)
	if err == nil {
		ln.GivenBack(back, line.Freed{Up: a.Delay, Rest: a.rest})
	}
	return true, err
}

// ofGrant gives back n events of a grant at the instant now of the store. If all later bookings are
// of the last run of the line, these are to move up.
func ofGrant(ln *line.Line, g *grant, n int, now int64) (Request, line.Back) {
	b := g.booking()
	if rate := b.Pace.Rate; rate.Den > 0 {
		counting := min(n, rate.Events(rate.At(b.End).Sub(rate.Units(now))))
		if back, ok := ln.BackBefore(b, n, counting); ok {
			return ofLine(back), back
		}
	}
	return Request{Plan: g.plan, Ask: Ask{N: -n, GrantedAt: g.at, Charges: &g.charges}}, line.Back{}
}

// ofLine gives back what a line says.
func ofLine(b line.Back) Request {
	charges := []Charge{{
		N:      b.N,
		Before: time.Duration(b.Start.NS - b.At), BeforeRest: b.Start.Rest,
		For: time.Duration(b.End.NS - b.At), ForRest: b.End.Rest,
	}}
	return Request{Plan: b.By.(by).Plan, Ask: Ask{N: -b.N, GrantedAt: b.At, Charges: &charges, beside: &beside{stay: b.Stay}}}
}
