package weir

import "context"

// ReserveNow is Reserve that books nothing ahead: it grants the n events for now, or denies them,
// as [KeyedLimiter.TakeByComponent] does. Its Result is that of TakeByComponent, and so is
// *results. Use it to take from several limiters all or none: if one denies, cancel the
// reservations of the others.
//
// ReserveNow sets *r. To avoid allocations, use one Reservation again and again, when the one
// before is no longer needed. If results is nil, the results of components are not returned.
//
// An error means that there is no decision. The errors are those of Reserve. Cancel and Settle of r
// are then errors, too. ReserveNow is safe for concurrent use, if each call has a Reservation and a
// slice of its own.
func (k *KeyedLimiter) ReserveNow(ctx context.Context, key string, n int, r *Reservation, results *[]Result) error {
	if results != nil {
		*results = (*results)[:0]
	}
	r.limiter = nil // if the store panics
	err := k.reserveNow(ctx, key, n, r, results)
	if err != nil {
		*r = Reservation{}
		if results != nil {
			*results = (*results)[:0]
		}
	}
	return callError("Reserve of", n, err)
}

// reserveNow needs no turn in the line of the key: like Take, it gets what no waiter has booked.
func (k *KeyedLimiter) reserveNow(ctx context.Context, key string, n int, r *Reservation, results *[]Result) error {
	if err := k.check(ctx, n); err != nil {
		return err
	}
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return err
	}
	if k.mem != nil && k.bookQuickly(plan, key, n, r) {
		return nil
	}
	return k.book(ctx, plan, key, Ask{N: n, ByComponent: results, More: true}, r)
}

// bookQuickly is book for a known key whose state is a word. It takes half the time.
func (k *KeyedLimiter) bookQuickly(plan *Plan, key string, n int, r *Reservation) bool {
	reset := k.resets.number.Load() // as in book
	sc, next, now, taken, ok := k.mem.take(plan, key, n)
	if !ok {
		return false
	}
	r.Result = Result{
		Allowed: taken.retryAfter == 0, Limit: sc.limit, Remaining: taken.remaining,
		RetryAfter: taken.retryAfter, ResetAfter: taken.resetAfter, MoreAfter: sc.admitWord.more(next, now, taken),
	}
	r.charges = append(r.room[:0], sc.admitWord.charge(next, now, n, taken)) // of a grant
	r.at, r.ahead, r.reset = now, 0, reset
	r.set(k, plan, key, n, now)
	return true
}
