package connectlimit

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/edge"
)

// ClientInterceptor limits the calls that a client makes, and obeys the RetryInfo of servers, in
// all protocols. Each call waits for its turn before it is sent. If a server answers
// resource_exhausted or unavailable with a RetryInfo, all calls for the same key are held back for
// the time in it, up to MaxHold. They are then sent in the order in which they came, as the Limiter
// allows.
//
// Give each call a deadline: nothing else bounds how many calls are held back. Soon after a hold,
// new calls wait behind those that were held back. The new calls get ErrQueueFull only if they come
// faster than they can be sent, or if other users of the Limiter fill its queue. At most 65,536
// keys are held back at a time. If nearly as many are held back, the hold of one key may end early
// to make room for another.
//
// A ClientInterceptor never makes a call a second time. A stream counts once, before anything of it
// is sent. To limit its messages, call Wait of the Limiter before each message.
//
// A call that is not sent fails with an error that wraps one of these:
//
//   - [weir.ErrTooLate], if the turn would come after the deadline of the call. The call usually
//     fails at once. If it was held back, and its deadline is after the end of the hold, it fails
//     only when the calls before it have been sent or have failed.
//   - The error of the context, if the context ends before the call is sent.
//   - The other errors of [weir.Limiter], such as [weir.ErrQueueFull] if more calls come at once
//     than the Capacity of a [weir.LeakyBucket] allows.
//   - An error of Key, or [httplimit.ErrNoKey] if the key is empty.
//
// The code of ErrTooLate, ErrQueueFull and ErrNeverFits is resource_exhausted. An error of the
// context has the code canceled or deadline_exceeded, and ErrNoKey the code invalid_argument. All
// other errors have the code unavailable.
//
// Do not change the fields after the first call, and do not copy the ClientInterceptor. It is safe
// for concurrent use.
type ClientInterceptor struct {
	// Limiter decides when calls are sent. It is required.
	Limiter weir.Limiter

	// Key returns the key whose allowance a call uses. If nil, it is [httplimit.TargetHost]. If it
	// returns ErrSkip, the call is sent at once. If it returns another error or an empty key, the
	// call fails.
	Key httplimit.KeyFunc

	// Hold returns for how long the calls of a key are held back after an error. 0 means that they
	// are not. If nil, it is [RetryAfter].
	Hold func(error) time.Duration

	// MaxHold bounds how long an answer can hold calls back. 0 means an hour.
	MaxHold time.Duration

	// Jitter prolongs each hold by a random time up to Jitter, so that many processes do not come
	// back at the same instant. The prolonged hold may be longer than MaxHold. 0 means no jitter.
	Jitter time.Duration

	gate edge.Gate
}

// Interceptor returns the interceptor. In a handler it does nothing. Interceptor panics with a
// message that lists the faults of c: no Limiter, a negative MaxHold or a negative Jitter.
func (c *ClientInterceptor) Interceptor() connect.Interceptor {
	if err := edge.CheckClient(c.Limiter, c.MaxHold, c.Jitter); err != nil {
		panic(err)
	}
	return pacing{c}
}

// HeldUntil returns the time until which calls for key are held back because of an answer. It
// returns the zero Time if the key is not held back.
func (c *ClientInterceptor) HeldUntil(key string) time.Time { return c.gate.HeldUntil(key) }

// Release ends the hold of key. The calls that were held back are sent, as the Limiter allows. It
// is for operators who know that the server is ready again.
func (c *ClientInterceptor) Release(key string) { c.gate.Release(key) }

// RetryAfter is the default of ClientInterceptor.Hold. If the code of err is resource_exhausted or
// unavailable, it returns the longest time in a RetryInfo of err. With another code, or without a
// RetryInfo, it returns 0. Details that are malformed are ignored.
func RetryAfter(err error) time.Duration {
	var e *connect.Error
	if !errors.As(err, &e) || e.Code() != connect.CodeResourceExhausted && e.Code() != connect.CodeUnavailable {
		return 0
	}
	longest := time.Duration(0)
	for _, d := range e.Details() {
		if d.Type() != "google.rpc.RetryInfo" {
			continue
		}
		value, err := d.Value()
		if info, ok := value.(*errdetails.RetryInfo); err == nil && ok && info.GetRetryDelay().IsValid() {
			longest = max(longest, info.GetRetryDelay().AsDuration())
		}
	}
	return longest
}

// pass returns when the call may be sent. key is empty if it is not limited.
func (c *ClientInterceptor) pass(ctx context.Context, call call) (key string, err error) {
	find := c.Key
	if find == nil {
		find = httplimit.TargetHost
	}
	key, err = find(call.request(ctx))
	switch {
	case errors.Is(err, httplimit.ErrSkip):
		return "", nil
	case err == nil && key == "":
		err = errEmptyKey
	}
	if err == nil {
		err = c.gate.Pass(ctx, c.Limiter, key)
	}
	if err != nil {
		return "", connect.NewError(codeOf(err, ctx.Err()), err)
	}
	return key, nil
}

// codeOf returns the code for a call that was not sent. ended is the error of its context: a store
// whose own time is up has not ended the call.
func codeOf(err, ended error) connect.Code {
	switch {
	case errors.Is(err, weir.ErrTooLate), errors.Is(err, weir.ErrQueueFull), errors.Is(err, weir.ErrNeverFits):
		return connect.CodeResourceExhausted
	case ended != nil && errors.Is(err, ended):
		return codeOfContext(ended)
	case errors.Is(err, httplimit.ErrNoKey):
		return connect.CodeInvalidArgument
	}
	return connect.CodeUnavailable
}

// learn holds the key back for as long as the answer says.
func (c *ClientInterceptor) learn(key string, err error) {
	if err == nil || key == "" {
		return
	}
	find := c.Hold
	if find == nil {
		find = RetryAfter
	}
	c.gate.Hold(key, find(err), c.MaxHold, c.Jitter)
}
