package connectlimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/edge"
)

// ServerInterceptor limits the calls that reach the procedures of a handler. Limiter and Key are
// required. The zero value of every other field is a good default. If [Middleware] can do the same,
// prefer it: when an interceptor gets a unary call, the message of the call has already been read.
//
// A ServerInterceptor decides once on each call, before the procedure runs. A granted call counts,
// whatever the procedure then answers. If Messages is set, it decides on each message that the
// client sends on a stream, and not on the stream as a whole.
type ServerInterceptor struct {
	// Limiter decides on each call.
	Limiter weir.Limiter

	// Key returns the key whose allowance the call uses. It gets a request without a body. The
	// request has the header and the context of the call, the address of the client, and the
	// procedure as path and pattern. If Key returns [httplimit.ErrSkip], the call is not limited.
	// On any other error, and on an empty key, Failed answers.
	Key httplimit.KeyFunc

	// Cost returns how many events a call or message counts as. The message is nil for a stream as
	// a whole. If Cost is nil, each counts as one. A call or message that costs 0 is not limited. A
	// negative cost is an error, and Failed answers.
	Cost func(ctx context.Context, spec connect.Spec, message any) int

	// Messages counts each message that the client sends on a stream, in place of the stream as a
	// whole. All messages of a stream use the key of the stream. If a message is refused, the error
	// of the refusal ends the stream, whatever the handler returns. In a bidirectional stream,
	// Receive returns the error to the handler. In a client stream, Receive returns false, and Err
	// the error. In a server stream, the handler is not called.
	Messages bool

	// MaxWait is the longest time for which a call or message is held back until it is granted. The
	// deadline of the call bounds this time, too. If MaxWait is 0, a call over the limit is refused
	// at once. A call is also refused at once if the Limiter knows in advance that its turn would
	// come too late. If the turn depends on what other waiting calls do, the refusal can take up to
	// MaxWait.
	//
	// Every waiting call takes up a goroutine and the memory of its request. Use a short MaxWait,
	// or a [weir.LeakyBucket], whose Capacity bounds how many events of a key wait.
	MaxWait time.Duration

	// Policy has the same meaning as in [Middleware]. It has no effect if Denied is set.
	Policy weir.Policy

	// Denied returns the error of a call that is over the limit. If it returns nil, the call goes
	// ahead. The error is sent as it is. To say when to retry, add a RetryInfo to the details of a
	// [connect.Error], which [ClientInterceptor] obeys. For other clients, set Retry-After (Connect
	// protocol) or Grpc-Retry-Pushback-Ms (gRPC) in its Meta. If Denied is nil, the error is the
	// same as with [Middleware.Wrap].
	Denied func(context.Context, connect.Spec, weir.Result) error

	// Failed returns the error of a call on which Key, Cost or the Limiter failed. If it returns
	// nil, the call goes ahead. If Failed is nil, the error is the same as with [Middleware.Wrap].
	//
	// To go on limiting while a store is down, use package [github.com/weir-go/weir/fleet].
	Failed func(context.Context, connect.Spec, error) error

	// Observe, if not nil, is called with every decision and every failure to decide, before the
	// call is answered or passed on. Several goroutines may call it at once.
	Observe func(context.Context, connect.Spec, httplimit.Decision)
}

// Interceptor returns the interceptor, which is safe for concurrent use. Changes to s afterwards
// have no effect on it. On clients it does nothing. Interceptor panics with a message that lists
// the faults of s:
//
//   - no Limiter or no Key
//   - a negative MaxWait
//   - a Policy that is not valid
func (s ServerInterceptor) Interceptor() connect.Interceptor {
	i := &interceptor{ServerInterceptor: s}
	var err error
	i.quota, err = quotaFailure(s.Policy)
	if err := edge.CheckServer(s.Limiter, s.Key != nil, s.MaxWait, err); err != nil {
		panic(err)
	}
	return i
}

// interceptor is a prepared ServerInterceptor.
type interceptor struct {
	ServerInterceptor
	quota *connect.ErrorDetail // the QuotaFailure of Policy, or nil
}

// WrapUnary implements [connect.Interceptor].
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IsClient {
			return next(ctx, req)
		}
		c := call{req.Spec(), req.Peer(), req.HTTPMethod(), req.Header()}
		if err := i.whole(ctx, c, req.Any()); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// WrapStreamingClient implements [connect.Interceptor].
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// whole decides on a call that counts as a whole. It returns the error of one that must not go
// ahead.
func (i *interceptor) whole(ctx context.Context, c call, message any) error {
	cost := i.cost(ctx, c.spec, message)
	if cost == 0 {
		return nil
	}
	key, err := i.key(ctx, c)
	if errors.Is(err, httplimit.ErrSkip) {
		return nil
	}
	return i.decide(ctx, c, httplimit.Decision{Key: key, Cost: cost, Err: err})
}

func (i *interceptor) cost(ctx context.Context, spec connect.Spec, message any) int {
	if i.Cost == nil {
		return 1
	}
	return i.Cost(ctx, spec, message)
}

func (i *interceptor) key(ctx context.Context, c call) (string, error) {
	key, err := i.Key(c.request(ctx))
	if err == nil && key == "" {
		err = errEmptyKey
	}
	return key, err
}

var errEmptyKey = fmt.Errorf("weir: a KeyFunc returned an empty key: %w", httplimit.ErrNoKey)

// decide decides on d.Cost events of d.Key, unless the call has failed already.
func (i *interceptor) decide(ctx context.Context, c call, d httplimit.Decision) error {
	if d.Err == nil {
		d.Result, d.Waited, d.Err = edge.Take(ctx, i.Limiter, d.Key, d.Cost, i.MaxWait, i.Observe != nil)
	}
	if i.Observe != nil {
		i.Observe(ctx, c.spec, d)
	}
	switch {
	case d.Err != nil && i.Failed != nil:
		return i.Failed(ctx, c.spec, d.Err)
	case d.Err != nil:
		return failure(ctx, d.Err)
	case d.Result.Allowed:
		return nil
	case i.Denied != nil:
		return i.Denied(ctx, c.spec, d.Result)
	}
	err := refusal(d.Result, i.quota)
	if c.peer.Protocol == connect.ProtocolConnect {
		retryAfter(err, d.Result)
	} else {
		pushBack(err, d.Result)
	}
	return err
}
