package grpclimit

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// ClientInterceptor limits the calls that a client makes, and obeys the RetryInfo of servers. Each
// call waits for its turn before it is sent. If a server answers RESOURCE_EXHAUSTED or UNAVAILABLE
// with a RetryInfo, all calls for the same key are held back for the time in it, up to MaxHold.
// They are then sent in the order in which they came, as the Limiter allows.
//
// Give each call a deadline: nothing else bounds how many calls are held back. Soon after a hold,
// new calls wait behind those that were held back. The new calls get ErrQueueFull only if they come
// faster than they can be sent, or if other users of the Limiter fill its queue. At most 65,536
// keys are held back at a time. If nearly as many are held back, the hold of one key may end early
// to make room for another.
//
// A ClientInterceptor never makes a call a second time. A stream counts once. To limit its
// messages, call Wait of the Limiter before each message.
//
// A call that is not sent fails with an error that wraps one of these:
//
//   - [weir.ErrTooLate], if the turn would come after the deadline of the call. The call usually
//     fails at once. If it was held back, and its deadline is after the end of the hold, it fails
//     only when the calls before it have been sent or have failed.
//   - The error of the context, if the context ends before the call is sent.
//   - The other errors of [weir.Limiter], such as [weir.ErrQueueFull] if more calls come at once
//     than the Capacity of a [weir.LeakyBucket] allows.
//   - An error of Key, or [ErrNoKey] if the key is empty.
//
// The code of ErrTooLate, ErrQueueFull and ErrNeverFits is RESOURCE_EXHAUSTED. An error of the
// context has the code CANCELLED or DEADLINE_EXCEEDED, and ErrNoKey the code INVALID_ARGUMENT. All
// other errors have the code UNAVAILABLE.
//
// gRPC itself can retry calls, by the retryPolicy of a service config. Leave RESOURCE_EXHAUSTED out
// of it. Interceptors do not see these retries: the Limiter does not count them, and if gRPC
// retries after an answer, the answer holds no calls back. gRPC does not retry the errors above.
//
// Do not change the fields after the first call, and do not copy the ClientInterceptor. It is safe
// for concurrent use.
type ClientInterceptor struct {
	// Limiter decides when calls are sent. It is required.
	Limiter weir.Limiter

	// Key returns the key whose allowance a call uses. If nil, it is [Target]. If it returns
	// ErrSkip, the call is sent at once. If it returns another error or an empty key, the call
	// fails.
	Key KeyFunc

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

// Unary returns the interceptor for unary calls. Unary panics with a message that lists the faults
// of c: no Limiter, a negative MaxHold or a negative Jitter.
func (c *ClientInterceptor) Unary() grpc.UnaryClientInterceptor {
	c.check()
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		key, err := c.pass(ctx, Call{Method: method, Message: req, Target: cc.Target()})
		if err != nil {
			return err
		}
		err = invoke(ctx, method, req, reply, cc, opts...)
		c.learn(key, err)
		return err
	}
}

// Stream returns the interceptor for streams. It panics in the same cases as
// [ClientInterceptor.Unary].
func (c *ClientInterceptor) Stream() grpc.StreamClientInterceptor {
	c.check()
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		key, err := c.pass(ctx, Call{Method: method, Target: cc.Target()})
		if err != nil {
			return nil, err
		}
		stream, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			c.learn(key, err)
			return nil, err
		}
		return &answers{ClientStream: stream, c: c, key: key}, nil
	}
}

// answers is a stream from whose status the interceptor learns.
type answers struct {
	grpc.ClientStream
	c     *ClientInterceptor
	key   string
	ended bool // RecvMsg may be called again, and then returns the error again
}

// RecvMsg implements [grpc.ClientStream]. io.EOF is the end of a call that has succeeded.
func (a *answers) RecvMsg(msg any) error {
	err := a.ClientStream.RecvMsg(msg)
	if err != nil && !a.ended {
		a.ended = true
		if err != io.EOF {
			a.c.learn(a.key, err)
		}
	}
	return err
}

// HeldUntil returns the time until which calls for key are held back because of an answer. It
// returns the zero Time if the key is not held back.
func (c *ClientInterceptor) HeldUntil(key string) time.Time { return c.gate.HeldUntil(key) }

// Release ends the hold of key. The calls that were held back are sent, as the Limiter allows. It
// is for operators who know that the server is ready again.
func (c *ClientInterceptor) Release(key string) { c.gate.Release(key) }

func (c *ClientInterceptor) check() {
	if err := edge.CheckClient(c.Limiter, c.MaxHold, c.Jitter); err != nil {
		panic(err)
	}
}

// pass returns when the call may be sent. key is empty if it is not limited.
func (c *ClientInterceptor) pass(ctx context.Context, call Call) (key string, err error) {
	find := c.Key
	if find == nil {
		find = Target
	}
	key, err = find(ctx, call)
	switch {
	case errors.Is(err, ErrSkip):
		return "", nil
	case err == nil && key == "":
		err = errEmptyKey
	}
	if err == nil {
		err = c.gate.Pass(ctx, c.Limiter, key)
	}
	if err != nil {
		return "", notSent{err, ctx.Err()}
	}
	return key, nil
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

// notSent is the error of a call that was not sent.
type notSent struct {
	error
	ended error // of the call's context; a store whose own time is up has not ended the call
}

func (e notSent) Unwrap() error { return e.error }

// GRPCStatus gives the error a code, for package status.
func (e notSent) GRPCStatus() *status.Status {
	code := codes.Unavailable
	switch err := e.error; {
	case errors.Is(err, weir.ErrTooLate), errors.Is(err, weir.ErrQueueFull), errors.Is(err, weir.ErrNeverFits):
		code = codes.ResourceExhausted
	case e.ended != nil && errors.Is(err, e.ended):
		code = status.FromContextError(e.ended).Code()
	case errors.Is(err, ErrNoKey):
		code = codes.InvalidArgument
	}
	return status.New(code, e.Error())
}
