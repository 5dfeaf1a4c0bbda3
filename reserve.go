package weir

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Reserve books n events of key before it is known how many they will be. [Reservation.Settle]
// says so afterwards, and [Reservation.Cancel] that they do not happen. It is for costs that show
// only in the doing, as tokens of a language model or bytes of an answer do, and for callers who
// want to know their turn and not to be held up until it comes, as [Keyed.Wait] does.
//
// With [TokenBucket], [LeakyBucket] and [All] of such it books ahead, as Wait does: as far as the
// deadline of ctx, or however far if ctx has none; a LeakyBucket no further than its Capacity. The work
// may go ahead after [Reservation.Delay]. Other policies grant what they can grant now. If the
// events cannot be booked, the Reservation is denied, which is no error; its RetryAfter tells when
// they could be.
//
// A Reservation that is neither settled nor cancelled keeps what it has booked. It costs nothing
// while it is open, and needs no closing.
//
// An error means that there is no decision; the Reservation is then nil. An n below 0 and a ctx
// that has ended are errors. With n = 0 it books nothing: all is charged when it is settled.
func (k *Keyed) Reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	if k == nil || k.store == nil {
		return nil, errNotMade
	}
	if n < 0 {
		return nil, fmt.Errorf("weir: Reserve of %d events, must be at least 0", n)
	}
	err := ctx.Err()
	if err == nil {
		var r *Reservation
		if r, err = k.reserve(ctx, key, n); err == nil {
			return r, nil
		}
	}
	return nil, fmt.Errorf("weir: Reserve of %d events: %w", n, err)
}

// reserve keeps out those who join the line meanwhile. So those who are in it then have
// booked before, and those who join later, after.
func (k *Keyed) reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	ctx, err := k.lines.start(ctx, key, returning)
	if err != nil {
		return nil, err
	}
	defer k.lines.end(key)
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return nil, err
	}
	a, now, err := k.ask(ctx, scope, key, Ask{N: n, MaxWait: k.patience(ctx)})
	if err != nil {
		return nil, err
	}
	r := &Reservation{Result: a.Result, limiter: k, key: key}
	if a.Allowed {
		r.n, r.grantedAt = n, a.At
		r.at = saturatingAdd(now, a.Delay)
		r.spot = k.lines.lastSpot(key)
	}
	return r, nil
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

	limiter   *Keyed
	key       string
	n         int   // events booked; 0 if denied
	at        int64 // when they may go ahead, by the limiter's clock
	grantedAt int64 // when they were granted, by the store's
	spot      spot  // in the line of those who wait

	mu       sync.Mutex
	settling chan struct{} // closed when the call that is under way ends; nil if there is none
	settled  bool
	err      error // what the call that counted returned
}

// Delay is the time from now until the events may go ahead: zero if at once, [Never] if they were
// denied. They may also go ahead later. If those before it give their places back, this stays as it
// is: it is for those who wait, and for those who come, to use them.
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

// Cancel gives back all that was booked. If the reservation has been settled, it does nothing, and
// returns what Settle returned. It is Settle for 0 events.
//
// What is given back after Delay has passed can be used at once. So those behind it in the queue of
// a [LeakyBucket] may then follow on each other closer, once.
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
// If there were less, the rest is given back: at most to a full allowance, and by policies that
// count by time only as far as they still count the instant of the booking. Those who wait behind
// it move up. If there were more they are charged now, even if there are not as many left; then the
// key is in debt, which those who come later wait for. Of a reservation that was denied, all are
// charged. Of one that is [Result.Degraded] nothing is given back, since the shared store has not
// booked it.
//
// An actual below zero is an error. Since who settles has often been cancelled before, a ctx that
// has ended is none: the store then gets a second's time.
func (r *Reservation) Settle(ctx context.Context, actual int) error {
	if r == nil || r.limiter == nil {
		return errNotReserved
	}
	if actual < 0 {
		return fmt.Errorf("weir: Settle for %d events, must be at least 0", actual)
	}
	if err := r.settle(ctx, actual); err != nil {
		return fmt.Errorf("weir: Settle for %d events: %w", actual, err)
	}
	return nil
}

func (r *Reservation) settle(ctx context.Context, actual int) error {
	ctx, cancel := unended(ctx)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.settling != nil {
		settling := r.settling
		r.mu.Unlock()
		select {
		case <-settling:
		case <-ctx.Done():
		}
		r.mu.Lock()
		if ctx.Err() != nil && r.settling != nil {
			return ctx.Err()
		}
	}
	if !r.settled {
		r.settleFirst(ctx, actual)
	}
	return r.err
}

// settleFirst requires that r.mu is locked, and unlocks it meanwhile.
func (r *Reservation) settleFirst(ctx context.Context, actual int) {
	r.settling = make(chan struct{})
	r.mu.Unlock()
	asked, err := true, errPanicked
	defer func() {
		r.mu.Lock()
		r.settled, r.err = asked, err
		close(r.settling)
		r.settling = nil
	}()
	switch more := actual - r.n; {
	case more > 0:
		asked, err = r.limiter.charge(ctx, r.key, more)
	case more < 0 && !r.Degraded:
		asked, err = r.limiter.giveBack(ctx, r.key, -more, r.grantedAt, r.spot)
	default:
		err = nil
	}
}

// charge charges n events that have happened. It reports false if it did not come to ask the store.
func (k *Keyed) charge(ctx context.Context, key string, n int) (asked bool, err error) {
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return false, err
	}
	_, err = k.store.Do(ctx, Request{Scope: scope, Key: key, Ask: Ask{N: n, How: Regardless}})
	return true, err
}
