package weir

import (
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

// wait returns when the events have been granted, or ctx has ended. Only the first waiter of a line
// watches the time. When it goes, it wakes the next.
func (k *KeyedLimiter) wait(ctx context.Context, key string, n int) error {
	w := k.lines.NewWaiter(ctx, n)
	defer w.Drop(nil) // even if a clock or a policy panics, or its place could not be given back
	for ended := false; ; {
		now := k.plans.clock.Now()
		turn, left := w.Turn(now)
		switch turn {
		case line.Gone:
			return w.Err()
		case line.MayAsk:
			usual := k.plans.usual.Load()
			k.join(ctx, key, w)
			if k.plans.usual.Load() != usual { // SetPolicy may have listed the waiters before w was one of them
				_ = k.renew(ctx, key, false) // an error is that of w, too, or that of ctx
			}
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

// join asks the store for w, unless w has to wait for that in its line. If ctx ends before, it does
// nothing.
func (k *KeyedLimiter) join(ctx context.Context, key string, w *line.Waiter) {
	ln, asking, err := k.start(ctx, key, line.Joining, w.N)
	if err != nil {
		return
	}
	defer ln.End()
	plan, err := k.plans.of(ctx, key)
	if err == nil {
		switch turn := w.Come(ln, by{plan}, k.patience(ctx), k.plans.clock.Now()); {
		case turn == line.MayAsk:
			err = k.place(asking, ln, w, plan)
		case !plan.fits(w.N):
			err = ErrNeverFits
		case turn == line.TooLate:
			err = ErrTooLate
		}
	}
	if err != nil {
		w.Drop(err)
	}
}

// place asks the store for w, by the policy of plan, and gives w its place in the line. An error is
// one of the store.
func (k *KeyedLimiter) place(ctx context.Context, ln *line.Line, w *line.Waiter, plan *Plan) error {
	g, patience := new(grant), k.patience(w.Ctx)
	a, now, err := k.ask(ctx, plan, ln.Key(), Ask{N: w.N, MaxWait: patience}, g)
	if err != nil {
		ln.Together()
		return err
	}
	if err := refused(a, w.N, now, patience); err != nil {
		w.Drop(err)
		return nil
	}
	reply := line.Reply{Granted: a.Allowed, Now: now, Delay: a.RetryAfter, Left: a.Remaining}
	if a.Allowed {
		reply.Booking, reply.Delay = g.booking(), a.Delay
	}
	w.Place(&reply)
	return nil
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

// leave takes w out of its line, because ctx has ended. The place that w had booked is given back,
// and the waiters behind it can move up.
func (k *KeyedLimiter) leave(ctx context.Context, key string, w *line.Waiter) error {
	if w.Leave(ctx.Err()) {
		soon, cancel := k.unended(ctx)
		defer cancel()
		_, _ = k.giveBack(soon, key, true, func(*line.Line) (g giveBack, err error) {
			if back, ok := w.Back(); ok {
				g = ofLine(back)
			}
			return g, nil
		})
	}
	return w.Err() // nil if its turn has come, or if SetPolicy or Reset has asked for it meanwhile
}
