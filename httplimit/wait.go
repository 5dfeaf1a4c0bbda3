package httplimit

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// wait decides on a request that may be held back for MaxWait.
//
// The decision is that of Wait. It tells no Result, so that one is asked for after it, for the fields
// of the answer.
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

// refused is the answer to a request that Wait denied. It takes no events, because others may wait for
// those that are there:
//
//   - If there are fewer than the request costs, an ask for them is denied, and tells how long.
//   - If there are as many, others wait for more. The first of them is served when the key has fully
//     recovered, at the latest. Until then nothing remains for those who come.
//
// If the ask is granted all the same, because events came back just before it, they are returned.
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

// giveBack returns events to a limiter that takes them back, as *weir.Keyed does.
func (l *limited) giveBack(ctx context.Context, key string, n int) bool {
	k, ok := l.m.Limiter.(interface {
		Return(ctx context.Context, key string, n int) error
	})
	return ok && k.Return(ctx, key, n) == nil
}

// deniesWait tells whether err is an answer: not the failure of a store, and not that ctx, the
// request's own context, has ended.
func deniesWait(err error, ctx context.Context) bool {
	return errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrQueueFull) || errors.Is(err, weir.ErrNeverFits) ||
		errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// sooner is when a request that is denied until after is worth sending again, if it would then be
// held back for patience. It does not apply to a queue that is full: there, patience is not what
// the request lacked.
func sooner(after, patience time.Duration) time.Duration {
	if after == 0 || after == weir.Never {
		return after
	}
	return max(after-patience, 1)
}
