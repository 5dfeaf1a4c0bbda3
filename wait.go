package weir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/line"
)

// Wait implements [Limiter]. The waiters of a key in one process are served in the order in which
// they came, whatever the policy. They share one timer. If calls ask a store over a network at the
// same time, they are served in the order in which the store decides.
//
//   - With [TokenBucket] and [LeakyBucket] a waiter books its events when it comes, for the instant
//     at which they may happen. Later calls of Allow and Take cannot overtake it. If its context
//     ends, its events are given back, and the waiters behind it move up. If a [Reservation], a
//     limiter of the same name or another process has booked behind it, nobody moves up. All keep
//     the instants that they were given.
//   - With all other policies the first waiter asks again when the policy may grant. If a call of
//     Allow comes before that, it takes the events.
//   - A policy of another package may book ahead, too. If a waiter's context ends, its events are
//     given back only if nobody on the same limiter waits behind it. Nobody moves up.
//
// [KeyedLimiter.SetPolicy] and [KeyedLimiter.Reset] give all waiters new turns, in the same order.
// After a SetPolicy that changes no waiter's policy, they keep their places.
// After a change of policy, a bucket books nothing while events of another policy are charged to
// it. During that time its waiters ask again.
//
// The function of [WithPolicyFor] may return another policy than before. Waiters that have booked
// events then keep their instants. Every other waiter asks with the policy that the function
// returns for the waiter's own context.
//
// If ctx is cancelled while a store over a network decides, Wait still waits for the decision, for a
// second at most: otherwise nobody could give the events back.
func (k *KeyedLimiter) Wait(ctx context.Context, key string, n int) error {
	err := k.check(ctx, n)
	if err == nil && n > 0 && !k.goes(ctx, key, n) {
		err = k.wait(ctx, key, n)
	}
	return callError("Wait for", n, err)
}

// goes takes the events as Take does, if nobody is in line for the key. To come to the line and
// leave it takes several times as long. A store over a network is not asked twice.
func (k *KeyedLimiter) goes(ctx context.Context, key string, n int) bool {
	if k.mem == nil || !k.lines.Empty(key) {
		return false
	}
	r, err := k.Take(ctx, key, n)
	return err == nil && r.Allowed
}

// check returns an error if a call for n events is invalid.
func (k *KeyedLimiter) check(ctx context.Context, n int) error {
	switch {
	case k == nil || k.store == nil:
		return errNotMade
	case n < 0:
		return errNegative
	}
	return ctx.Err()
}

var errNegative = errors.New("must be at least 0")

// callError returns the error of a call for n events.
func callError(what string, n int, err error) error {
	switch err {
	case nil, errNotMade:
		return err
	case errNegative:
		return fmt.Errorf("weir: %s %d events, %w", what, n, err)
	}
	return fmt.Errorf("weir: %s %d events: %w", what, n, noEnd(err))
}

// noEnd returns err so that [io.EOF] is not found in it, but all else is. A store whose server has
// closed the connection may fail with io.EOF. A reader that asks a limiter would return that, and
// its caller would believe that all was read.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return notEnd{err}
	}
	return err
}

// It embeds no error: go doc would then not list New beside KeyedLimiter.
type notEnd struct{ err error }

func (e notEnd) Error() string { return e.err.Error() }

// Is and As are for package errors, in place of Unwrap.
func (e notEnd) Is(target error) bool { return target != io.EOF && errors.Is(e.err, target) }
func (e notEnd) As(target any) bool   { return errors.As(e.err, target) }

func (k *KeyedLimiter) wait(ctx context.Context, key string, n int) error {
	usual := k.plans.usual.Load()
	w := k.lines.NewWaiter(ctx, n)
	defer w.Drop(nil) // even if a clock or a policy panics, or its place could not be given back
	if waits, err := k.join(ctx, key, w); !waits {
		return err
	}
	// SetPolicy may have listed the waiters before w was one of them.
	if k.plans.usual.Load() != usual {
		_ = k.renew(ctx, key, false) // an error is that of w, too, or that of ctx
	}
	return k.await(ctx, key, w)
}

// start starts an activity of the line of a key, which asks the store with the context that it
// returns: [Waited] returns how long it has waited.
func (k *KeyedLimiter) start(
	ctx context.Context, key string, kind line.Activity, n int,
) (*line.Line, context.Context, error) {
	ln, since, err := k.lines.Start(ctx, key, kind, n)
	if !since.IsZero() {
		ctx = context.WithValue(ctx, sinceKey{}, since)
	}
	return ln, ctx, err
}

// join asks for the events of w now or later, and reports whether w then waits. If it does not, and
// there is no error, they were granted now.
func (k *KeyedLimiter) join(ctx context.Context, key string, w *line.Waiter) (waits bool, err error) {
	ln, asking, err := k.start(ctx, key, line.Joining, w.N)
	if err != nil {
		return false, err
	}
	defer ln.End()
	plan, err := k.plans.of(ctx, key)
	if err != nil {
		return false, err
	}
	patience := k.patience(ctx)
	entry := w.Come(ln, by{plan}, patience, k.plans.clock.Now())
	switch {
	case entry == line.Asks:
		waits, err = k.place(asking, w, plan, patience)
		return waits, cmp.Or(err, w.Err())
	case !plan.fits(w.N):
		return false, ErrNeverFits
	case entry == line.TooLate:
		return false, ErrTooLate
	}
	return true, nil
}

// place asks the store for w, by the policy of plan, and reports whether w then waits.
func (k *KeyedLimiter) place(ctx context.Context, w *line.Waiter, plan *Plan, patience time.Duration) (bool, error) {
	g := new(grant)
	a, now, err := k.ask(ctx, plan, w.Line().Key(), Ask{N: w.N, MaxWait: patience}, g)
	if err != nil {
		w.Line().Together()
		return false, err
	}
	if err := refused(a, w.N, now, patience); err != nil {
		w.Drop(err)
		return false, nil
	}
	reply := line.Reply{Granted: a.Allowed, Now: now, Delay: a.RetryAfter, Left: a.Remaining}
	if a.Allowed {
		reply.Booking, reply.Delay = g.booking(), a.Delay
	}
	return w.Place(&reply), nil
}

// patience returns how long ctx allows its caller to wait.
func (k *KeyedLimiter) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return k.plans.clock.Until(deadline)
}

// refused returns the error if the answer at now denies n events, and waiting does not help.
func refused(a Answer, n int, now int64, patience time.Duration) error {
	switch {
	case a.Allowed:
		return nil
	case a.neverFits(n):
		return ErrNeverFits
	case a.QueueFull:
		return ErrQueueFull
	case a.Delay > 0 || a.RetryAfter > patience || exact.After(now, a.RetryAfter) == maxInstant: // no clock ever shows a later one
		return ErrTooLate
	}
	return nil
}

// await returns when w has had its turn, or ctx has ended. Only the first waiter of a line watches
// the time. When it goes, it wakes the next.
func (k *KeyedLimiter) await(ctx context.Context, key string, w *line.Waiter) error {
	for ended := false; ; {
		now := k.plans.clock.Now()
		turn, left := w.Turn(now)
		switch turn {
		case line.Granted:
			return nil
		case line.Failed:
			return w.Err()
		case line.MayAsk:
			k.askAgain(ctx, key, w)
			if ended = ctx.Err() != nil; !ended {
				continue
			}
		}
		if ended {
			return k.leave(ctx, key, w)
		}
		var timer <-chan time.Time
		if turn == line.First {
			timer = k.plans.clock.At(now + int64(left))
		}
		select {
		case <-timer:
		case <-w.Wake():
		case <-ctx.Done():
			ended = true // but a waiter whose turn has come by now is served
		}
	}
}

// askAgain asks the store for w, the first waiter that has not booked. If ctx ends before, it does
// nothing.
func (k *KeyedLimiter) askAgain(ctx context.Context, key string, w *line.Waiter) {
	ln, asking, err := k.start(ctx, key, line.Joining, w.N)
	if err != nil {
		return
	}
	defer ln.End()
	if turn, _ := w.Turn(k.plans.clock.Now()); turn != line.MayAsk { // it was given a new one
		return
	}
	plan, err := k.plans.of(ctx, key)
	if err == nil && w.MayBook(by{plan}) {
		_, err = k.place(asking, w, plan, k.patience(ctx))
	}
	if err != nil {
		w.Drop(err)
	}
}

// leave takes w out of its line, because ctx has ended. The place that w had booked is given back,
// and the waiters behind it can move up.
func (k *KeyedLimiter) leave(ctx context.Context, key string, w *line.Waiter) error {
	switch w.Leave() {
	case line.Granted:
		return nil
	case line.Behind:
		soon, cancel := k.unended(ctx)
		defer cancel()
		_, _ = k.giveBack(soon, key, true, func(*line.Line) (g giveBack, err error) {
			if back, ok := w.Back(); ok {
				g = ofLine(back)
			}
			return g, nil
		})
		if w.Served() { // SetPolicy or Reset has asked for it meanwhile
			return nil
		}
	}
	return ctx.Err()
}
