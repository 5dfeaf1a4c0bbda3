package weir

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reserve books n events of key before it is known how many they will be. [Reservation.Settle]
// says so afterwards, and [Reservation.Cancel] that they do not happen. It is for costs that show
// only in the doing, as tokens of a language model or bytes of an answer do, and for callers who
// want to know their turn and not to be held up until it comes, as [Keyed.Wait] does.
//
// With [TokenBucket] and [LeakyBucket] it books ahead, as Wait does: as far as the deadline of ctx, or
// however far if ctx has none; a LeakyBucket no further than its Capacity. The work
// may go ahead after [Reservation.Delay]. Other policies grant what they can grant now. If the
// events cannot be booked, the Reservation is denied, which is no error; its RetryAfter tells when
// they could be.
//
// [All] books nothing ahead. Nor does a bucket while events that another policy granted still count,
// after a change.
//
// A Reservation that is neither settled nor cancelled keeps what it has booked. It costs nothing
// while it is open, and needs no closing.
//
// An error means that there is no decision; the Reservation is then nil. An n below 0 and a ctx
// that has ended are errors. With n = 0 it books nothing: all is charged when it is settled.
func (k *Keyed) Reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	r, err := k.reserve(ctx, key, n)
	return r, callError("Reserve of", n, err)
}

// reserve takes its turn with those who join the line, so that nobody books ahead of those who are
// given new turns.
func (k *Keyed) reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	if err := k.check(ctx, n); err != nil {
		return nil, err
	}
	ln, ctx, err := k.lines.start(ctx, key, returning)
	if err != nil {
		return nil, err
	}
	defer k.lines.end(ln)
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return nil, err
	}
	a, err := k.ask(ctx, scope, key, Ask{N: n, MaxWait: k.patience(ctx)})
	if err != nil {
		return nil, err
	}
	a.grant.scope = scope // of a denial, too
	ahead := a.At - a.now
	return &Reservation{
		Result: a.Result, limiter: k, key: key, settling: make(chan struct{}, 1),
		grant: a.grant, at: saturatingAdd(a.now, a.Delay), ahead: ahead,
		reset: k.lines.reserved(a.grant.at-ahead, a.grant.charges),
	}, nil
}

// A Reservation is events that [Keyed.Reserve] has booked, or was denied. All methods are safe for
// concurrent use.
//
// Of the calls of Settle and Cancel, the first counts. All others wait for it as long as their ctx
// lets them, do nothing, and return what it returned. So it is good practice to defer a Cancel, and to settle when the cost is
// known.
//
// If the store fails in that call it is not known whether it counted, and it is not tried again:
// nothing is given back or charged twice. An error from before the store was asked leaves the
// Reservation open. To call again after an error is right in either case.
type Reservation struct {
	// Result is the answer when it was made: whether the events are booked, and what is left.
	Result

	limiter *Keyed
	key     string
	grant   grant  // of no events if it is denied
	at      int64  // when they may go ahead, by the limiter's clock
	ahead   int64  // of which the store's is ahead
	reset   uint64 // the last of the limiter before it was made

	settling chan struct{} // held by the call that is under way, and guards the others
	settled  bool
	err      error // what the call that counted returned
}

// Delay is the time from now until the events may go ahead: zero if at once, [Never] if they were
// denied. They may also go ahead later. Delay does not shrink when earlier reservations are
// cancelled.
func (r *Reservation) Delay() time.Duration {
	if r == nil || r.limiter == nil || !r.Allowed {
		return Never
	}
	return time.Duration(max(r.at-r.limiter.plans.clock.now(), 0))
}

var (
	errNotReserved = errors.New("weir: this Reservation is nil or zero, must be made by Reserve")
	errPanicked    = errors.New("the store panicked")
)

// Cancel gives back all that was booked, as far as [Reservation.Settle] says that it is free again. It
// is Settle for 0 events. If the reservation has been settled, it does nothing, and returns what
// Settle returned.
//
// What is given back after Delay has passed can be used at once. In a [LeakyBucket] the next events
// may then follow each other more closely, once.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r == nil || r.limiter == nil {
		return errNotReserved
	}
	if err := r.settle(ctx, 0); err != nil {
		return fmt.Errorf("weir: Cancel: %w", err)
	}
	return nil
}

// Settle charges for the actual number of events in place of those that were booked.
//
// The policy that booked the events settles them, even if it was changed since:
//
//   - Fewer events: the rest is given back, as far as it still counts. [Tiers] give it back to the tier
//     that paid, [All] to every part.
//   - More events: they are charged now, even if there are not as many left. The key is then in debt,
//     and later callers wait for it. Of a reservation that was denied, all events are charged.
//   - A reservation that is [Result.Degraded]: nothing is given back, because the shared store has not
//     booked it. Nor is it after a [Keyed.Reset] of the key, which forgets what was booked.
//
// In a bucket, what is free again depends on later grants:
//
//   - If there are none, the reservation is undone exactly.
//   - If all of them are waiters of this limiter, they move up.
//   - While another [Reservation] lies ahead, or a waiter of another limiter or process, nothing is
//     free: they keep the instants that they were given. Nor is anything while a debt lasts.
//   - If all of them have gone ahead, what still counts of the reservation is free.
//
// Before Delay has passed, a [TokenBucket] frees nothing of a reservation that is settled for fewer events:
// these keep the instant that was told. Settle it when they go ahead, or cancel it.
//
// An actual below zero is an error. Since who settles has often been cancelled before, a ctx that
// has ended is none: the store then gets a second's time.
func (r *Reservation) Settle(ctx context.Context, actual int) error {
	if r == nil || r.limiter == nil {
		return errNotReserved
	}
	return callError("Settle for", actual, r.settle(ctx, actual))
}

func (r *Reservation) settle(ctx context.Context, actual int) error {
	if actual < 0 {
		return errNegative
	}
	ctx, cancel := unended(ctx)
	defer cancel()
	select {
	case r.settling <- struct{}{}:
		defer func() { <-r.settling }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !r.settled {
		r.settled, r.err = true, errPanicked // if it does
		r.settled, r.err = r.settleFirst(ctx, actual)
	}
	return r.err
}

// settleFirst tells whether it came to ask the store, or need not.
func (r *Reservation) settleFirst(ctx context.Context, actual int) (asked bool, err error) {
	k := r.limiter
	switch more := actual - r.grant.n; {
	case more > 0:
		_, err = k.store.Do(ctx, Request{Scope: r.grant.scope, Key: r.key, Ask: Ask{N: more, How: Regardless}})
	case more < 0 && !r.Degraded:
		return k.giveBack(ctx, r.key, true, func(ln *line) (giveBack, error) {
			// All that tokens know of bookings is when the last one goes. If that were freed in part, it would
			// seem to go earlier, and others who give back would free what it needs when it does go.
			keeps := actual > 0 && r.Delay() > 0 && !isQueue(r.grant.scope.Decider)
			if keeps || k.lines.forgot(r.key, r.reset) {
				return giveBack{}, nil
			}
			return k.lines.ofGrant(ln, &r.grant, -more, k.plans.clock.now()+r.ahead), nil
		})
	}
	return true, err
}
