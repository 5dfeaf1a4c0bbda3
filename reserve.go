package weir

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/line"
)

// Reserve books n events of key: they count at once, and no other caller can use them. It is for
// these cases:
//
//   - The cost is known only after the work, like the tokens of a language model or the bytes of a
//     response. Book an estimate. [Reservation.Settle] then charges the true cost.
//     [Reservation.Cancel] gives the events back. If estimates are often too high, use
//     [KeyedLimiter.ReserveNow], which never books ahead. With Reserve, a bucket frees
//     nothing while the instants of later reservations are still to come.
//   - The caller wants to know when its turn is. Unlike [KeyedLimiter.Wait], Reserve does not block
//     until the turn comes.
//
// The policy determines how far ahead Reserve books:
//
//   - [TokenBucket] and [LeakyBucket] may grant the events for a later instant, as Wait does, up to
//     the deadline of ctx. A LeakyBucket books at most Capacity slots ahead. A TokenBucket has no
//     such bound: if ctx has no deadline, it books as far ahead as needed. The work may start after
//     [Reservation.Delay].
//   - All other policies of this package grant only events that may happen now. These include
//     [All], even if its components are buckets.
//   - After a change of policy, a bucket books nothing ahead while events of another policy are
//     charged to it (see [KeyedLimiter.SetPolicy]).
//
// If the events cannot be booked, the Reservation is denied, which is not an error. Its RetryAfter
// is the time until the same call is granted, if its context then has as much time left as ctx has
// now.
//
// With n = 0, Reserve books nothing, and all events are charged by Settle.
//
// If neither Settle nor Cancel is called, the booked events count for the same time as events of
// Take. A Reservation holds no goroutine or timer, and does not have to be closed.
//
// An error means that there is no decision. The Reservation is then nil. The errors are those of
// [KeyedLimiter.Take]. If ctx is cancelled while a store over a network decides, Reserve still
// waits for the decision. Without the decision, nobody could give the events back. Reserve stops
// waiting a second after it asked the store, or at the deadline of ctx.
func (k *KeyedLimiter) Reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	r, err := k.reserve(ctx, key, n)
	return r, callError("Reserve of", n, err)
}

// reserve takes its turn with the calls that join the line. No call then books ahead of waiters
// that are given new turns. If the key has no line, and events are left, it books nothing ahead. It
// then came before all that join meanwhile.
func (k *KeyedLimiter) reserve(ctx context.Context, key string, n int) (*Reservation, error) {
	if err := k.check(ctx, n); err != nil {
		return nil, err
	}
	r := &Reservation{reset: k.resets.Number()}
	if k.mem != nil && k.lines.Empty(key) {
		plan, err := k.plans.of(ctx, key)
		if err != nil {
			return nil, err
		}
		if k.bookNowQuickly(plan, key, n, r) && r.Allowed {
			r.MoreAfter = 0 // as otherwise
			return r, nil
		}
	}
	ln, ctx, err := k.start(ctx, key, line.Returning, nil)
	if err != nil {
		return nil, err
	}
	defer ln.End()
	r.reset = math.MaxUint64 // resets of the key wait for this call
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := k.book(ctx, plan, key, Ask{N: n, MaxWait: k.patience(ctx)}, r); err != nil {
		return nil, err
	}
	return r, nil
}

// ReserveNow is like Reserve, but books nothing ahead: it grants the n events at once, or denies
// them, as [KeyedLimiter.TakeByComponent] does. The Result and *results are the same as with
// TakeByComponent. Use it to take events from several limiters, all or none: if one denies or
// fails, cancel the reservations of the others.
//
// ReserveNow sets *r. You can pass the same Reservation again when its earlier contents are no
// longer needed. With a single policy, and a key that is in a [MemStore], ReserveNow then usually
// allocates nothing. If results is nil, the results of components are not returned.
//
// An error means that there is no decision. The errors are those of Reserve. If ctx is cancelled
// during the call, ReserveNow waits for the decision as Reserve does. After an error, Cancel and
// Settle of r return errors, too. ReserveNow is safe for concurrent use, if each call has a
// Reservation and a slice of its own.
func (k *KeyedLimiter) ReserveNow(ctx context.Context, key string, n int, r *Reservation, results *[]Result) error {
	empty(results)
	r.made = false // if the store panics
	plan, err := k.planFor(ctx, key, n)
	if err == nil {
		r.reset = k.resets.Number()
		if k.bookNowQuickly(plan, key, n, r) {
			return nil
		}
		err = k.book(ctx, plan, key, Ask{N: n, ByComponent: results, More: true}, r)
	}
	if err != nil {
		*r = Reservation{}
		empty(results)
	}
	return callError("ReserveNow of", n, err)
}

// A Reservation is the answer to [KeyedLimiter.Reserve] and [KeyedLimiter.ReserveNow]: events that
// are booked, or a denial. All methods are safe for concurrent use. It must not be copied.
//
// Defer a Cancel, and call Settle when the cost is known. Only the first call of Settle or Cancel
// has an effect, except after some errors (see below). A later call waits for the first, and
// returns its result.
//
// If Settle or Cancel returns an error, it is safe to call either of them again:
//
//   - If the store failed, the call may have had its effect. Another call does not ask the store,
//     and returns an error with the same cause. Nothing is given back or charged twice.
//   - If the error came before the store was asked, the Reservation stays open. Another call tries
//     again. After such an error of Settle, Cancel settles for the number of the last Settle. A
//     deferred Cancel therefore does not give back what was used.
type Reservation struct {
	// Result is the answer at the time of the reservation: whether the events are booked, and how
	// many are left.
	Result

	limiter *KeyedLimiter
	key     string
	grant   grant
	at      int64  // when they may go ahead, by the limiter's clock
	ahead   int64  // how far the store's clock is ahead of the limiter's
	reset   uint64 // the number of the last reset that cannot have forgotten it

	mu       sync.Mutex    // guards actual, settling and ended
	ended    chan struct{} // closed when the call that is under way has ended, if others wait for it
	settling bool          // a call is under way, which may use what follows
	settled  bool
	made     bool  // false in the zero Reservation, and if there is no decision
	actual   int   // of the last call of Settle
	err      error // what the call that counted returned
}

// Delay returns the time from now until the events may happen. It is zero if they may happen at
// once, and [Never] if they were denied, or if there is no decision. The events may happen at that
// instant or at any later one. The instant does not change when earlier reservations are cancelled.
func (r *Reservation) Delay() time.Duration {
	if r == nil || !r.made || !r.Allowed {
		return Never
	}
	return time.Duration(max(r.at-r.limiter.plans.clock.Now(), 0))
}

var (
	errNotReserved = errors.New("weir: this Reservation is nil or zero, must be made by Reserve")
	errPanicked    = errors.New("the store panicked")
)

// Cancel is Settle for 0 events. It gives back (refunds) all that was booked, as far as the rules
// of [Reservation.Settle] allow. If the reservation has been settled, Cancel does nothing, and
// returns the result of Settle. After an error of Settle, Cancel may settle for the number of that
// Settle: see [Reservation].
//
// After Delay has passed, events that Cancel frees can be used at once. In a [LeakyBucket], one
// event may then come sooner than Per/Limit after the event before it.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r == nil || !r.made {
		return errNotReserved
	}
	return failed("Cancel", r.settle(ctx, -1))
}

// Settle charges for the actual number of events in place of those that were booked. The policy
// that booked the events does this, even if the limiter's policy has changed. The cases are:
//
//   - Fewer events: the rest is given back, as far as it still counts. [Tiers] give it back to the
//     tier that paid, [All] to every component. If events of more than four policies still count
//     for the key, only the events of four of these policies, usually the latest, can be given
//     back.
//   - More events: the additional ones are charged now. If fewer are left, the key is then in debt,
//     and later callers may have to wait, or are denied. A bucket pays the debt at its rate. A
//     window or log counts the additional events for the same time as other events. At the end of a
//     [FixedWindow] or [CalendarWindow], the debt is therefore forgotten. If a debt must be paid
//     back, use a [TokenBucket].
//   - A denied reservation: all actual events are charged.
//   - A reservation whose [Result] is Degraded: nothing is given back, because the shared store has
//     not booked it.
//   - After a [KeyedLimiter.Reset] of the key by the same limiter: nothing is given back, because
//     Reset forgets bookings. A Reset by another limiter or process has other effects: see
//     [KeyedLimiter.Reset].
//
// A [TokenBucket] or [LeakyBucket] keeps the instants that other callers were promised. How many
// events it frees for new calls depends on what it has granted or charged after the reservation:
//
//   - Nothing: it frees what is given back, as far as that still counts.
//   - Only events of callers of this limiter's Wait, and some of these callers still wait: they
//     usually get earlier instants.
//   - Anything else: it frees nothing while the instant of a later grant is still to come, or while
//     the key is in debt. After that, it frees what still counts of the reservation.
//
// docs/reservations.md has a table of these cases with exceptions, under "Book ahead".
//
// If a reservation is settled before Delay has passed, for fewer events than were booked but not
// for 0, a [TokenBucket] frees nothing. The actual events keep the instant that Delay reported. To
// free the unused events, settle after Delay has passed.
//
// An actual below 0 is an error, and has no effect. A ctx that has ended is not an error, because
// callers often settle when they are cancelled. If ctx ends, the call still waits for other calls
// until a second after its start, and then for the store, a second at most.
func (r *Reservation) Settle(ctx context.Context, actual int) error {
	if r == nil || !r.made {
		return errNotReserved
	}
	if actual < 0 {
		return callError("Settle for", actual, errNegative)
	}
	return callError("Settle for", actual, r.settle(ctx, actual))
}

// settle settles for actual. If actual is below 0, it settles for the number of the last call of
// Settle, or for 0 if there was none.
func (r *Reservation) settle(ctx context.Context, actual int) error {
	ctx, cancel := r.limiter.unended(ctx)
	defer cancel()
	number, ended := r.begin(actual)
	for ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		number, ended = r.begin(actual)
	}
	defer r.end()
	if !r.settled {
		r.settled, r.err = true, errPanicked // this stays if the store panics
		r.settled, r.err = r.settleFirst(ctx, number)
	}
	return r.err
}

// begin notes the actual of a caller, unless it is below 0, and returns the number to settle for.
// If ended is nil, the caller may settle, until it calls end. Otherwise another call is under way.
func (r *Reservation) begin(actual int) (number int, ended <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settling && r.ended == nil {
		r.ended = make(chan struct{})
	}
	r.settling = true
	if actual >= 0 {
		r.actual = actual
	}
	return r.actual, r.ended
}

func (r *Reservation) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		close(r.ended)
	}
	r.settling, r.ended = false, nil
}

// settleFirst settles. It reports whether the store was asked, or need not be.
func (r *Reservation) settleFirst(ctx context.Context, actual int) (asked bool, err error) {
	k := r.limiter
	switch more := actual - r.grant.n; {
	case more > 0:
		_, err = k.store.Do(ctx, Request{Plan: r.grant.plan, Key: r.key, Ask: Ask{N: more, Mode: Regardless}})
	case more < 0 && !r.Degraded:
		return k.giveBack(ctx, r.key, nil, true, func(ln *line.Line) (Request, line.Back) {
			// A bucket of tokens knows of bookings only the instant of the last one. If that
			// booking were freed in part, its instant would seem earlier. Other callers that give
			// back would then free events that it still needs at its real instant.
			keeps := actual > 0 && r.Delay() > 0 && !isQueue(r.grant.plan.Decider)
			if keeps || k.resets.Forgot(r.key, r.reset) {
				return Request{}, line.Back{}
			}
			return ofGrant(ln, &r.grant, -more, k.plans.clock.Now()+r.ahead)
		})
	}
	return true, err
}
