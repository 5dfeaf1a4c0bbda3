package httplimit

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir"
)

// wait decides on a request that may be held back for MaxWait.
//
// The decision is that of Wait. It tells no Result, so one is asked for after it. If the request
// was granted, that is a look, for the fields of the answer. If it was denied, it is an ask for the
// same again without waiting: should it be granted after all, all the better, and if not, it has
// counted nothing and says when to come again.
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
		d.Result, parts, d.Err = l.take(ctx, d.Key, d.Cost)
		if !errors.Is(err, weir.ErrQueueFull) {
			d.Result.RetryAfter = sooner(d.Result.RetryAfter, deadline.Sub(start))
		}
	default:
		d.Err = err
	}
	return parts
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
