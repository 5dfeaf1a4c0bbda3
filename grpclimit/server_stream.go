package grpclimit

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
)

// Stream returns the interceptor for streams. It panics in the same cases as
// [ServerInterceptor.Unary].
func (s ServerInterceptor) Stream() grpc.StreamServerInterceptor {
	l := s.prepare()
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, c := ss.Context(), Call{Method: info.FullMethod}
		if !l.Messages {
			if err := l.unary(ctx, c); err != nil {
				return err
			}
			return handler(srv, ss)
		}
		key, err := l.key(ctx, c)
		switch {
		case errors.Is(err, ErrSkip):
			return handler(srv, ss)
		case err != nil:
			// If Failed lets the stream go ahead, its messages do not count, because there is no
			// key.
			if err := l.decide(ctx, c, Decision{Cost: 1, Err: err}); err != nil {
				return err
			}
			return handler(srv, ss)
		}
		m := &messages{ServerStream: ss, ctx: ctx, limited: l, call: c, key: key}
		err = handler(srv, m)
		if refused := m.refused.Load(); refused != nil {
			return *refused
		}
		return err
	}
}

// messages is a stream of which each received message counts.
type messages struct {
	grpc.ServerStream
	ctx     context.Context
	limited *limited
	call    Call
	key     string
	refused atomic.Pointer[error] // what RecvMsg returned for a message that was refused
}

// RecvMsg implements [grpc.ServerStream].
func (m *messages) RecvMsg(msg any) error {
	if refused := m.refused.Load(); refused != nil {
		return *refused
	}
	if err := m.ServerStream.RecvMsg(msg); err != nil {
		return err
	}
	c := m.call
	c.Message = msg
	cost := m.limited.cost(m.ctx, c)
	if cost == 0 {
		return nil
	}
	err := m.limited.decide(m.ctx, c, Decision{Key: m.key, Cost: cost})
	if err != nil {
		m.refused.Store(&err)
	}
	return err
}
