package connectlimit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"connectrpc.com/connect"
)

// pacing is the interceptor of a ClientInterceptor.
type pacing struct{ c *ClientInterceptor }

// WrapUnary implements [connect.Interceptor].
func (p pacing) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if !req.Spec().IsClient {
			return next(ctx, req)
		}
		key, err := p.c.pass(ctx, call{req.Spec(), req.Peer(), http.MethodPost, req.Header()})
		if err != nil {
			return nil, err
		}
		resp, err := next(ctx, req)
		p.c.learn(key, err)
		return resp, err
	}
}

// WrapStreamingHandler implements [connect.Interceptor].
func (p pacing) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// WrapStreamingClient implements [connect.Interceptor].
func (p pacing) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec) // sends nothing yet
		s := &paced{StreamingClientConn: conn, c: p.c}
		s.turn = sync.OnceValue(func() (err error) {
			s.key, err = p.c.pass(ctx, call{spec, conn.Peer(), http.MethodPost, conn.RequestHeader()})
			return err
		})
		return s
	}
}

// paced is a stream that waits for its turn before the first thing that would send the request. If
// it gets no turn, the request is never sent.
type paced struct {
	connect.StreamingClientConn
	c     *ClientInterceptor
	turn  func() error // asks once, and then returns the same again
	key   string       // set by turn
	ended bool         // Receive may be called again, and then returns the error again
}

// Send implements [connect.StreamingClientConn].
func (s *paced) Send(msg any) error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.StreamingClientConn.Send(msg)
}

// CloseRequest implements [connect.StreamingClientConn].
func (s *paced) CloseRequest() error {
	if err := s.turn(); err != nil {
		return err
	}
	return s.StreamingClientConn.CloseRequest()
}

// Receive implements [connect.StreamingClientConn].
func (s *paced) Receive(msg any) error {
	if err := s.turn(); err != nil {
		return err
	}
	err := s.StreamingClientConn.Receive(msg)
	if err != nil && !s.ended {
		s.ended = true
		if !errors.Is(err, io.EOF) { // else it is the end of a call that has succeeded
			s.c.learn(s.key, err)
		}
	}
	return err
}

// CloseResponse implements [connect.StreamingClientConn].
func (s *paced) CloseResponse() error {
	if s.turn() != nil {
		return nil // there is no response
	}
	return s.StreamingClientConn.CloseResponse()
}

// ResponseHeader implements [connect.StreamingClientConn].
func (s *paced) ResponseHeader() http.Header {
	if s.turn() != nil {
		return http.Header{}
	}
	return s.StreamingClientConn.ResponseHeader()
}

// ResponseTrailer implements [connect.StreamingClientConn].
func (s *paced) ResponseTrailer() http.Header {
	if s.turn() != nil {
		return http.Header{}
	}
	return s.StreamingClientConn.ResponseTrailer()
}
