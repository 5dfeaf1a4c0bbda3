package weir

import "context"

// ReserveNow is Reserve that books nothing ahead: it grants the n events for now, or denies them, as
// [KeyedLimiter.TakeByComponent] does. Its Result is that of TakeByComponent, and so is *results. Use
// it to take from several limiters all or none: if one denies, cancel the reservations of the
// others.
//
// ReserveNow sets *r. To avoid allocations, use one Reservation again and again, when the one before
// is no longer needed. If results is nil, the results of components are not returned.
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
	return k.book(ctx, plan, key, Ask{N: n, ByComponent: results, More: true}, r)
}
