package edge

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// Take decides on n events of key. If maxWait is not above 0, it decides at once. Otherwise it is
// [Wait].
func Take(
	ctx context.Context, l weir.Limiter, key string, n int, maxWait time.Duration, look bool,
) (r weir.Result, waited time.Duration, err error) {
	if maxWait <= 0 {
		r, err = l.Take(ctx, key, n)
		return r, 0, err
	}
	ask := func(ctx context.Context, n int) (weir.Result, []weir.Result, error) {
		r, err := l.Take(ctx, key, n)
		return r, nil, err
	}
	r, _, waited, err = Wait(ctx, l, key, n, maxWait, ask, look)
	return r, waited, err
}

// An Ask decides on n events of a key at once, as Take of the limiter does. It may also return the
// results of the components of the policy.
type Ask func(ctx context.Context, n int) (r weir.Result, parts []weir.Result, err error)

// Wait decides on n events of key. The call waits for its turn, at most for maxWait and until the
// deadline of ctx. waited is how long it has waited.
//
// The decision is that of the limiter's Wait, which returns no Result. After a denial, this
// function asks the limiter for a Result. Its RetryAfter is about the time after which the same
// call would be granted, if it waits for maxWait again. If the deadline of ctx comes before that,
// the call need not wait again. After a grant, Wait asks only if look is set. Otherwise, or if that
// fails, only Allowed is set in the Result.
//
// If a limiter refuses nothing (see [RefusesNothing]), its Take decides, and maxWait has no effect:
// a store that takes longer would otherwise deny the call.
func Wait(
	ctx context.Context, l weir.Limiter, key string, n int, maxWait time.Duration, ask Ask, look bool,
) (r weir.Result, parts []weir.Result, waited time.Duration, err error) {
	start := time.Now()
	if RefusesNothing(l, key) {
		r, parts, err = ask(ctx, n)
		return r, parts, time.Since(start), err
	}
	patient, cancel := context.WithTimeout(ctx, maxWait)
	deadline, _ := patient.Deadline()
	err = l.Wait(patient, key, n)
	tooLong := patient.Err() != nil && ctx.Err() == nil
	cancel()
	waited = time.Since(start)

	switch {
	case err == nil:
		if look {
			if r, parts, err = ask(ctx, 0); err == nil {
				return r, parts, waited, nil
			}
		}
		return weir.Result{Allowed: true}, nil, waited, nil
	case !denies(err) && !(tooLong && errors.Is(err, context.DeadlineExceeded)):
		return weir.Result{}, nil, waited, err
	}
	var behind interface{ Behind() } // see line.LateBehind
	r, parts, e := refused(ctx, l, key, n, ask, errors.As(err, &behind))
	if e == nil && !errors.Is(err, weir.ErrQueueFull) { // a longer wait would not have helped there
		patience := deadline.Sub(start)
		if own, has := ctx.Deadline(); has && own.Equal(deadline) {
			patience = 0 // granted at its deadline, the call would have no time left for its work
		}
		r.RetryAfter = sooner(r.RetryAfter, patience)
	}
	return r, parts, waited, e
}

// RefusesNothing reports whether l is a [weir.Shadow] that does not enforce key.
func RefusesNothing(l weir.Limiter, key string) bool {
	s, ok := l.(*weir.Shadowed)
	return ok && !s.Enforces(key)
}

// denies reports whether the error of Wait is a denial in any case. [context.DeadlineExceeded] is a
// denial only if the time of the wait was up. It can also come from a store with a time limit of
// its own, or from the deadline of the call.
func denies(err error) bool {
	return errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrQueueFull) || errors.Is(err, weir.ErrNeverFits)
}

// refused returns the result for a call that Wait denied. It takes no events, because other calls
// may be waiting for the remaining ones:
//
//   - If fewer remain than the call costs, an ask for its cost is denied, and reports how long to
//     wait.
//   - Otherwise, if the call was behind other calls in the line, those are waiting for more. The
//     first of them is served at the latest when the key has fully recovered. Until then no events
//     remain for new calls.
//   - Otherwise, the store was slow, or events have come back since. The same call may be granted
//     at once.
//
// If the ask is granted after all, because events came back just before it, refused gives them
// back. If it cannot, or if the shared store has not counted them, the call is granted.
func refused(
	ctx context.Context, l weir.Limiter, key string, n int, ask Ask, behind bool,
) (weir.Result, []weir.Result, error) {
	look, parts, err := ask(ctx, 0)
	if err != nil {
		return weir.Result{}, nil, err
	}
	if look.Remaining < n {
		r, ofParts, err := ask(ctx, n)
		if err != nil || !r.Allowed || r.Degraded || !giveBack(ctx, l, key, n) {
			return r, ofParts, err
		}
	}
	if look.Allowed, look.RetryAfter = false, 1; !behind {
		return look, parts, nil
	}
	look.Remaining = 0
	look.RetryAfter = min(max(look.ResetAfter, 1), weir.Never-1)
	for i := range parts {
		parts[i].Remaining = 0
	}
	return look, parts, nil
}

// giveBack returns events to a limiter that accepts them, as *weir.KeyedLimiter does. It reports
// whether that succeeded.
func giveBack(ctx context.Context, l weir.Limiter, key string, n int) bool {
	k, ok := l.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	return ok && k.Return(ctx, key, n) == nil
}

// sooner returns the time after which a denied call is worth sending again. The call would be
// granted after the time after. The server can hold it back for as long as patience, so the client
// may send it that much earlier.
func sooner(after, patience time.Duration) time.Duration {
	if after == 0 || after == weir.Never {
		return after
	}
	return max(after-patience, 1)
}
