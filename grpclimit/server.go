package grpclimit

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/edge"
)

// ServerInterceptor limits the calls that reach the methods of a gRPC server. Limiter and Key are
// required. The zero value of every other field is a good default.
//
// A ServerInterceptor decides once on each call, before the method runs. A granted call counts,
// whatever the method then answers. If Messages is set, it decides on each message that the client
// sends on a stream, and not on the stream as a whole. gRPC reads the request of a unary call
// before it calls the interceptor. The server's MaxRecvMsgSize bounds the size of that request.
//
// Two ServerInterceptors with the same Limiter share the allowance of each key. If their Key
// functions differ, give each ServerInterceptor its own Limiter. Otherwise a client could make a
// key of one ServerInterceptor look like a key of the other. Unary and Stream of one
// ServerInterceptor share the allowance of each key, too.
type ServerInterceptor struct {
	// Limiter decides on each call.
	Limiter weir.Limiter

	// Key returns the key whose allowance the call uses. If it returns [ErrSkip], the call is not
	// limited. On any other error, and on an empty key, Failed answers.
	Key KeyFunc

	// Cost returns how many events a call or message counts as. If Cost is nil, each counts as one.
	// A call or message that costs 0 is not limited. A negative cost is an error, and Failed
	// answers.
	Cost func(context.Context, Call) int

	// Messages counts each message that the client sends on a stream, in place of the stream as a
	// whole. If a message is refused, the handler's RecvMsg returns the error of the refusal. The
	// stream ends with this error, whatever the handler returns. All messages of a stream use the
	// key of the stream. To limit both streams and messages, chain two ServerInterceptors.
	Messages bool

	// MaxWait is the longest time for which a call or message is held back until it is granted. The
	// deadline of the call bounds this time, too. If MaxWait is 0, a call over the limit is refused
	// at once. A call is also refused at once if the Limiter knows in advance that its turn would
	// come too late. If the turn depends on what other waiting calls do, the refusal can take up to
	// MaxWait. A call that the client cancels leaves the queue.
	//
	// Every waiting call takes up a goroutine and the memory of its request. Use a short MaxWait,
	// or a [weir.LeakyBucket], whose Capacity bounds how many events of a key wait.
	MaxWait time.Duration

	// Policy is reported, as a text such as 100/1m, in the QuotaFailure of a call over the limit.
	// If Policy is nil or Denied is set, there is no QuotaFailure. Leave Policy out if policies
	// differ by key, or change: the text stays the same after SetPolicy.
	Policy weir.Policy

	// Denied returns the error of a call that is over the limit. If it returns nil, the call goes
	// ahead. If Denied is nil, the error is RESOURCE_EXHAUSTED with these details:
	//
	//   - RetryInfo: the time after which the same call is granted, if nothing else is counted
	//     meanwhile. With a MaxWait, the repeated call may first have to wait, up to MaxWait.
	//     RetryInfo is absent if the call is never granted.
	//   - QuotaFailure, if Policy is set.
	//
	// Even if Denied is set, a call that is refused as over the limit gets the trailer
	// grpc-retry-pushback-ms. It is the time of RetryInfo in milliseconds, rounded up, or -1 (do
	// not retry) if the call is never granted. The retries of gRPC clients obey it.
	Denied func(context.Context, Call, weir.Result) error

	// Failed returns the error of a call on which Key, Cost or the Limiter failed. If it returns
	// nil, the call goes ahead. If Failed is nil, the error does not contain the cause. Its code is:
	//
	//   - CANCELLED or DEADLINE_EXCEEDED if the call has ended
	//   - INVALID_ARGUMENT if the call lacks what Key looks for (the cause wraps [ErrNoKey])
	//   - UNAVAILABLE otherwise
	//
	// To go on limiting while a store is down, use package [github.com/weir-go/weir/fleet].
	Failed func(context.Context, Call, error) error

	// Observe, if not nil, is called with every decision and every failure to decide, before the
	// call is answered or passed on. Several goroutines may call it at once.
	Observe func(context.Context, Call, Decision)
}

// A Decision is the decision of a [ServerInterceptor] on a call or message.
type Decision = httplimit.Decision

// Unary returns the interceptor for unary calls, which is safe for concurrent use. Changes to s
// afterwards have no effect on it. Unary panics with a message that lists the faults of s:
//
//   - no Limiter or no Key
//   - a negative MaxWait
//   - a Policy that is not valid
func (s ServerInterceptor) Unary() grpc.UnaryServerInterceptor {
	l := s.prepare()
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := l.unary(ctx, Call{Method: info.FullMethod, Message: req}); err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
}

// limited is a prepared ServerInterceptor.
type limited struct {
	ServerInterceptor
	quota *anypb.Any // the QuotaFailure of Policy, or nil
}

func (s ServerInterceptor) prepare() *limited {
	l := &limited{ServerInterceptor: s}
	var err error
	l.quota, err = quotaFailure(s.Policy)
	if err := edge.CheckServer(s.Limiter, s.Key != nil, s.MaxWait, err); err != nil {
		panic(err)
	}
	return l
}

// unary decides on a call that counts as a whole. It returns the error of one that must not go
// ahead.
func (l *limited) unary(ctx context.Context, c Call) error {
	cost := l.cost(ctx, c)
	if cost == 0 {
		return nil
	}
	key, err := l.key(ctx, c)
	if errors.Is(err, ErrSkip) {
		return nil
	}
	return l.decide(ctx, c, Decision{Key: key, Cost: cost, Err: err})
}

func (l *limited) cost(ctx context.Context, c Call) int {
	if l.Cost == nil {
		return 1
	}
	return l.Cost(ctx, c)
}

func (l *limited) key(ctx context.Context, c Call) (string, error) {
	key, err := l.Key(ctx, c)
	if err == nil && key == "" {
		err = errEmptyKey
	}
	return key, err
}

// decide decides on d.Cost events of d.Key, unless the call has failed already.
func (l *limited) decide(ctx context.Context, c Call, d Decision) error {
	if d.Err == nil {
		d.Result, d.Waited, d.Err = edge.Take(ctx, l.Limiter, d.Key, d.Cost, l.MaxWait, l.Observe != nil)
	}
	if l.Observe != nil {
		l.Observe(ctx, c, d)
	}
	switch {
	case d.Err != nil:
		if l.Failed != nil {
			return l.Failed(ctx, c, d.Err)
		}
		return failure(ctx, d.Err)
	case d.Result.Allowed:
		return nil
	}
	var err error
	if l.Denied != nil {
		err = l.Denied(ctx, c, d.Result)
	} else {
		err = refusal(d.Result, l.quota)
	}
	if err != nil {
		pushBack(ctx, d.Result)
	}
	return err
}
