package httplimit

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// wait decides on a request that may be held back for MaxWait.
//
// The decision is that of Wait, which returns no Result. For the fields of the answer, wait asks
// for one afterwards.
func (l *limited) wait(ctx context.Context, d *Decision) (parts []weir.Result) {
	start := time.Now()
	patient, cancel := context.WithTimeout(ctx, l.m.MaxWait)
	deadline, _ := patient.Deadline()
	err := l.m.Limiter.Wait(patient, d.Key, d.Cost)
	cancel()
	d.Waited = time.Since(start)

	switch {
	case err == nil:
		d.Result = weir.Result{Allowed: true}
		if l.fields != nil || l.m.Observe != nil {
			if look, ofParts, err := l.take(ctx, d.Key, 0); err == nil {
				d.Result, parts = look, ofParts
			}
		}
	case deniesWait(err, ctx):
		d.Result, parts, d.Err = l.refused(ctx, d.Key, d.Cost)
		if !errors.Is(err, weir.ErrQueueFull) {
			d.Result.RetryAfter = sooner(d.Result.RetryAfter, deadline.Sub(start))
		}
	default:
		d.Err = err
	}
	return parts
}

// refused returns the result for a request that Wait denied. It takes no events, because other
// requests may be waiting for the remaining ones:
//
//   - If fewer remain than the request costs, an ask for its cost is denied, and reports how long
//     to wait.
//   - Otherwise, others are waiting for more. The first of them is served at the latest when the
//     key has fully recovered. Until then none remain for new requests.
//
// If the ask is granted after all, because events came back just before it, refused gives them
// back.
func (l *limited) refused(ctx context.Context, key string, cost int) (r weir.Result, parts []weir.Result, err error) {
	look, parts, err := l.take(ctx, key, 0)
	if err != nil {
		return weir.Result{}, nil, err
	}
	if look.Remaining < cost {
		r, denials, err := l.take(ctx, key, cost)
		if err != nil || !r.Allowed || !l.giveBack(ctx, key, cost) {
			return r, denials, err
		}
	}
	look.Allowed, look.Remaining = false, 0
	look.RetryAfter = min(max(look.ResetAfter, 1), weir.Never-1)
	for i := range parts {
		parts[i].Remaining = 0
	}
	return look, parts, nil
}

// giveBack returns events to a limiter that accepts them, as *weir.KeyedLimiter does. It reports
// whether that succeeded.
func (l *limited) giveBack(ctx context.Context, key string, n int) bool {
	k, ok := l.m.Limiter.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	return ok && k.Return(ctx, key, n) == nil
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
