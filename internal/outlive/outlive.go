// Package outlive makes contexts for calls that must not stop the moment their caller is cancelled:
// those that book events, or give them back. It also tells whether a deadline has ended a context.
// It knows no limiter and no store.
package outlive

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"
)

// ErrDeadline is the cause with which package iolimit ends a context at the deadline of a
// connection. Other causes may wrap os.ErrDeadlineExceeded, too: each error of a network that came
// too late does.
var ErrDeadline = fmt.Errorf("the deadline of a connection: %w", os.ErrDeadlineExceeded)

// TimedOut reports whether a deadline has ended ctx: that of ctx, or that of a connection.
func TimedOut(ctx context.Context) bool {
	return ctx.Err() == context.DeadlineExceeded || context.Cause(ctx) == ErrDeadline
}

// Within is how long a call with the context of [Context] may take if its caller is cancelled,
// counted from the start of the call.
const Within = time.Second

// Context returns a context with the values of ctx. It ends when the deadline of ctx has passed,
// but not before least has passed from now. If ctx is cancelled, it ends when [Within] has passed
// from now, or at once if that time is over. If the deadline of a connection has ended ctx, least
// counts in place of Within. When it is cancelled, its error is that of ctx, if ctx has one. If ctx
// has no deadline, such as the context of a connection, the cause is that of ctx, too.
func Context(ctx context.Context, least time.Duration) (context.Context, context.CancelFunc) {
	soon, now := context.WithoutCancel(ctx), time.Now()
	var cancel context.CancelCauseFunc
	deadline, has := ctx.Deadline()
	if first := now.Add(least); has && deadline.Before(first) {
		deadline = first
	}
	// A context of a mock clock has not ended although its deadline has passed.
	if has = has && deadline.After(now); has {
		var end context.CancelFunc
		soon, end = context.WithDeadline(soon, deadline)
		cancel = func(error) { end() } // a cause would need one context more
	} else {
		soon, cancel = context.WithCancelCause(soon)
	}
	stop := context.AfterFunc(ctx, func() {
		more := Within
		if TimedOut(ctx) {
			more = least
		}
		more = max(more-time.Since(now), 0)
		if has && time.Until(deadline) <= more {
			return // soon ends by itself
		}
		select {
		case <-time.After(more):
			cancel(context.Cause(ctx))
		case <-soon.Done():
		}
	})
	return following{soon, ctx}, func() { stop(); cancel(nil) }
}

// late is how long the timer of a context may take to fire.
const late = 100 * time.Millisecond

// Overtaken is for a call that has failed with a context that Context has made of ctx. If the
// deadline of ctx has just passed, it waits until ctx has ended. The timer of the other context may
// have fired first, and those who look at ctx.Err would take the error for one of the store. A
// context of a mock clock may not end: Overtaken waits for late at most.
func Overtaken(ctx context.Context) {
	deadline, has := ctx.Deadline()
	if passed := time.Since(deadline); !has || passed < 0 || passed > late {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(late):
	}
}

// A following context is cancelled after another has ended, and then has the error of that one.
type following struct {
	context.Context
	other context.Context
}

func (f following) Err() error {
	err := f.Context.Err()
	if err == context.Canceled {
		return cmp.Or(f.other.Err(), err)
	}
	return err
}
