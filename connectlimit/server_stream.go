package connectlimit

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/weir-go/weir/httplimit"
)

// WrapStreamingHandler implements [connect.Interceptor].
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		c := call{conn.Spec(), conn.Peer(), http.MethodPost, conn.RequestHeader()}
		if !i.Messages {
			if err := i.whole(ctx, c, nil); err != nil {
				return err
			}
			return next(ctx, conn)
		}
		key, err := i.key(ctx, c)
		switch {
		case errors.Is(err, httplimit.ErrSkip):
			return next(ctx, conn)
		case err != nil:
			// If Failed lets the stream go ahead, its messages do not count, because there is no
			// key.
			if err := i.decide(ctx, c, httplimit.Decision{Cost: 1, Err: err}); err != nil {
				return err
			}
			return next(ctx, conn)
		}
		m := &messages{StreamingHandlerConn: conn, ctx: ctx, limit: i, call: c, key: key}
		err = next(ctx, m)
		if refused := m.refused.Load(); refused != nil {
			return *refused
		}
		return err
	}
}

// messages is a stream of which each received message counts.
type messages struct {
	connect.StreamingHandlerConn
	ctx     context.Context
	limit   *interceptor
	call    call
	key     string
	refused atomic.Pointer[error] // what Receive returned for a message that was refused
}

// Receive implements [connect.StreamingHandlerConn].
func (m *messages) Receive(msg any) error {
	if refused := m.refused.Load(); refused != nil {
		return *refused
	}
	if err := m.StreamingHandlerConn.Receive(msg); err != nil {
		return err
	}
	cost := m.limit.cost(m.ctx, m.call.spec, msg)
	if cost == 0 {
		return nil
	}
	err := m.limit.decide(m.ctx, m.call, httplimit.Decision{Key: m.key, Cost: cost})
	if err != nil {
		m.refused.Store(&err)
	}
	return err
}
