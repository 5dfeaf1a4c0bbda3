package outlive_test

import (
	"context"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/outlive"
)

type name struct{}

// The context ends, with the error of its caller's, when it should: no sooner and no later.
func TestContext(t *testing.T) {
	const second = time.Second
	for what, test := range map[string]struct {
		caller func(context.Context) (context.Context, context.CancelFunc)
		least  time.Duration
		ends   time.Duration
		err    error
	}{
		"cancelled after 300 ms":            {cancelled(300 * time.Millisecond), 0, outlive.Within, context.Canceled},
		"cancelled after 3 s":               {cancelled(3 * second), 0, 3 * second, context.Canceled},
		"cancelled before, least 2 s":       {cancelled(0), 2 * second, outlive.Within, context.Canceled},
		"deadline after 300 ms":             {deadline(300 * time.Millisecond), 0, 300 * time.Millisecond, context.DeadlineExceeded},
		"deadline after 300 ms, least 1 s":  {deadline(300 * time.Millisecond), second, second, context.DeadlineExceeded},
		"deadline after 3 s, least 1 s":     {deadline(3 * second), second, 3 * second, context.DeadlineExceeded},
		"deadline of a connection":          {caused(outlive.ErrDeadline, 300*time.Millisecond), 0, 300 * time.Millisecond, context.Canceled},
		"a network was too slow":            {caused(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, 0), 0, outlive.Within, context.Canceled},
		"deadline by a mock, now past here": {mocked(2 * second), 0, 2 * second, context.DeadlineExceeded},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, stop := test.caller(context.WithValue(t.Context(), name{}, what))
				defer stop()
				start := time.Now()
				ctx, cancel := outlive.Context(caller, test.least)
				defer cancel()
				assert.Equal(t, what, ctx.Value(name{}))
				assert.NoError(t, ctx.Err())
				<-ctx.Done()
				assert.Equal(t, test.ends, time.Since(start))
				assert.Equal(t, test.err, ctx.Err())
				time.Sleep(time.Second) // until the mock clock has ended
				assert.Equal(t, context.Cause(caller), context.Cause(ctx))
			})
		})
	}
}

// A deadline is that of a context, or of a connection, whose contexts are cancelled then.
func TestTimedOut(t *testing.T) {
	for what, test := range map[string]struct {
		caller   makes
		timedOut bool
	}{
		"deadline":                 {deadline(time.Second), true},
		"deadline of a connection": {caused(outlive.ErrDeadline, time.Second), true},
		"a network was too slow":   {caused(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, time.Second), false},
		"cancelled":                {cancelled(time.Second), false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := test.caller(t.Context())
				defer stop()
				assert.False(t, outlive.TimedOut(ctx))
				<-ctx.Done()
				assert.Equal(t, test.timedOut, outlive.TimedOut(ctx))
			})
		})
	}
}

// If the call has ended, nothing goes on. The bubble would not end either.
func TestContext_Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, stop := context.WithCancel(t.Context())
		defer stop()
		ctx, cancel := outlive.Context(caller, 0)
		cancel()
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.NoError(t, caller.Err())
	})
}

// A call may end by the timer of its own context before that of its caller's has fired.
func TestOvertaken(t *testing.T) {
	const second, ms = time.Second, time.Millisecond
	for what, test := range map[string]struct{ due, ends, took time.Duration }{
		"ends a moment later": {second, second + ms, ms},
		"does not end":        {second, time.Hour, 100 * ms},
		"is not due yet":      {second + ms, time.Hour, 0},
		"was due before":      {-second, time.Hour, 0},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				late := dueContext{caller, time.Now().Add(test.due)}
				time.Sleep(second)
				start := time.Now()
				outlive.Overtaken(late)
				assert.Equal(t, test.took, time.Since(start))
				outlive.Overtaken(t.Context())
				assert.Equal(t, test.took, time.Since(start), "without a deadline")
			})
		})
	}
}

// dueContext has a deadline. It ends when the other context does.
type dueContext struct {
	context.Context
	due time.Time
}

func (c dueContext) Deadline() (time.Time, bool) { return c.due, true }

type makes = func(context.Context) (context.Context, context.CancelFunc)

func cancelled(after time.Duration) makes {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		if after == 0 {
			cancel()
		} else {
			time.AfterFunc(after, cancel)
		}
		return ctx, cancel
	}
}

func deadline(after time.Duration) makes {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, after)
	}
}

func caused(cause error, after time.Duration) makes {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(after, func() { cancel(cause) })
		return ctx, func() { cancel(nil) }
	}
}

// mocked ends by a mock clock, which starts at the Unix epoch, when the time has passed here.
func mocked(after time.Duration) makes {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		mock := clock.NewMock()
		time.AfterFunc(after, func() { mock.Add(after) })
		return mock.WithTimeout(ctx, after)
	}
}
