package edge

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// Take decides on n events of key. If maxWait is 0, it decides at once. Otherwise the call waits
// for its turn, at most for maxWait and until the deadline of ctx. waited is how long it has
// waited.
//
// After a wait that was granted, the Result is only Allowed, unless look is set: Take then asks the
// limiter once more, for what remains.
func Take(ctx context.Context, l weir.Limiter, key string, n int, maxWait time.Duration, look bool) (r weir.Result, waited time.Duration, err error) {
	if maxWait <= 0 {
		r, err = l.Take(ctx, key, n)
		return r, 0, err
	}
	start := time.Now()
	patient, cancel := context.WithTimeout(ctx, maxWait)
	deadline, _ := patient.Deadline()
	err = l.Wait(patient, key, n)
	cancel()
	waited = time.Since(start)

	switch {
	case err == nil:
		r.Allowed = true
		if look {
			if now, err := l.Take(ctx, key, 0); err == nil {
				r = now
			}
		}
		return r, waited, nil
	case !denies(err, ctx):
		return r, waited, err
	}
	r, e := refused(ctx, l, key, n)
	if e == nil && !errors.Is(err, weir.ErrQueueFull) { // a longer wait would not have helped there
		r.RetryAfter = sooner(r.RetryAfter, deadline.Sub(start))
	}
	return r, waited, e
}

// denies reports whether the error of Wait is a denial. It is not one if the store failed, or if
// ctx, the call's own context, has ended.
func denies(err error, ctx context.Context) bool {
	return errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrQueueFull) || errors.Is(err, weir.ErrNeverFits) ||
		errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// refused returns the result for a call that Wait denied. It takes no events, because other calls
// may be waiting for the remaining ones:
//
//   - If fewer remain than the call costs, an ask for its cost is denied, and reports how long to
//     wait.
//   - Otherwise, others are waiting for more. The first of them is served at the latest when the
//     key has fully recovered. Until then none remain for new calls.
//
// If the ask is granted after all, because events came back just before it, refused gives them
// back. If it cannot, the call is granted.
func refused(ctx context.Context, l weir.Limiter, key string, n int) (weir.Result, error) {
	look, err := l.Take(ctx, key, 0)
	if err != nil {
		return weir.Result{}, err
	}
	if look.Remaining < n {
		r, err := l.Take(ctx, key, n)
		if err != nil || !r.Allowed || !giveBack(ctx, l, key, n) {
			return r, err
		}
	}
	look.Allowed, look.Remaining = false, 0
	look.RetryAfter = min(max(look.ResetAfter, 1), weir.Never-1)
	return look, nil
}

// giveBack returns events to a limiter that accepts them, as *weir.KeyedLimiter does. It reports
// whether that succeeded.
func giveBack(ctx context.Context, l weir.Limiter, key string, n int) bool {
	k, ok := l.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	return ok && k.Return(ctx, key, n) == nil
}

// sooner returns the time after which a denied call is worth sending again. It would be granted
// after the time after, and the server can hold it back for patience of that time.
func sooner(after, patience time.Duration) time.Duration {
	if after == 0 || after == weir.Never {
		return after
	}
	return max(after-patience, 1)
}
