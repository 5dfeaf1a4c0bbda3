package httplimit

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// wait decides on a request that may be held back for maxWait.
//
// The decision is that of Wait, which returns no Result. If tell is set, wait asks for one
// afterwards.
func (a *asked) wait(ctx context.Context, maxWait time.Duration, tell bool) {
	d := &a.d
	start := time.Now()
	patient, cancel := context.WithTimeout(ctx, maxWait)
	deadline, _ := patient.Deadline()
	err := a.Limiter.Wait(patient, d.Key, d.Cost)
	cancel()
	d.Waited = time.Since(start)

	switch {
	case err == nil:
		if tell {
			a.ask(ctx, 0, false)
		}
		if !tell || d.Err != nil {
			d.Result, d.Err, a.parts = weir.Result{Allowed: true}, nil, nil
		}
	case deniesWait(err, ctx):
		a.refused(ctx)
		if !errors.Is(err, weir.ErrQueueFull) {
			d.Result.RetryAfter = sooner(d.Result.RetryAfter, deadline.Sub(start))
		}
	default:
		d.Err = err
	}
}

// refused sets the result for a request that Wait denied. It takes no events, because other requests
// may be waiting for the remaining ones:
//
//   - If fewer remain than the request costs, an ask for its cost is denied, and reports how long
//     to wait.
//   - Otherwise, others are waiting for more. The first of them is served at the latest when the
//     key has fully recovered. Until then none remain for new requests.
//
// If the ask is granted after all, because events came back just before it, refused gives them
// back.
func (a *asked) refused(ctx context.Context) {
	a.ask(ctx, 0, false)
	if a.d.Err != nil {
		return
	}
	look, parts := a.d.Result, a.parts
	if look.Remaining < a.d.Cost {
		a.ask(ctx, a.d.Cost, false)
		if a.d.Err != nil || !a.d.Result.Allowed || !a.giveBack(ctx) {
			return
		}
	}
	look.Allowed, look.Remaining = false, 0
	look.RetryAfter = min(max(look.ResetAfter, 1), weir.Never-1)
	for i := range parts {
		parts[i].Remaining = 0
	}
	a.d.Result, a.parts = look, parts
}

// giveBack returns the events to a limiter that accepts them, as *weir.KeyedLimiter does. It reports
// whether that succeeded.
func (a *asked) giveBack(ctx context.Context) bool {
	k, ok := a.Limiter.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	return ok && k.Return(ctx, a.d.Key, a.d.Cost) == nil
}

// deniesWait reports whether err is a denial. It is not one if the store failed, or if ctx, the
// request's own context, has ended.
func deniesWait(err error, ctx context.Context) bool {
	return errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrQueueFull) || errors.Is(err, weir.ErrNeverFits) ||
		errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// sooner returns the time after which a denied request is worth sending again. The request would be
// granted after the time after, and the server can hold it back for patience of that time. sooner
// does not apply to a full queue: a longer patience would not have helped there.
func sooner(after, patience time.Duration) time.Duration {
	if after == 0 || after == weir.Never {
		return after
	}
	return max(after-patience, 1)
}
