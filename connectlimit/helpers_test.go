package connectlimit_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// The service of the tests. echo is unary, and sum has a stream of numbers from the client. Its
// messages are those of package wrapperspb.
const (
	echoProcedure = "/test.v1.Test/Echo"
	sumProcedure  = "/test.v1.Test/Sum"
)

type number = wrapperspb.Int64Value

// service is a server in memory. It must be stopped.
type service struct {
	hide     bool                                 // of sum: it answers whatever Receive returned
	received func(int64)                          // by sum; may be nil
	wrap     func(next http.Handler) http.Handler // around the handlers; may be nil
	options  []connect.HandlerOption
}

// start starts s on a network in memory, with HTTP/1 and HTTP/2. Its clients have the address
// 192.0.2.1.
func (s service) start() (server *network) {
	mux := http.NewServeMux()
	mux.Handle(echoProcedure, connect.NewUnaryHandler(echoProcedure, func(_ context.Context, r *connect.Request[number]) (*connect.Response[number], error) {
		return connect.NewResponse(r.Msg), nil
	}, append(s.options, connect.WithIdempotency(connect.IdempotencyNoSideEffects))...))
	mux.Handle(sumProcedure, connect.NewClientStreamHandler(sumProcedure, s.sum, s.options...))
	mux.HandleFunc("/page", func(http.ResponseWriter, *http.Request) {})
	var h http.Handler = mux
	if s.wrap != nil {
		h = s.wrap(h)
	}
	n := &network{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.server = &http.Server{Handler: h, Protocols: new(http.Protocols)}
	n.server.Protocols.SetHTTP1(true)
	n.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = n.server.Serve(n) }()
	return n
}

func (s service) sum(_ context.Context, stream *connect.ClientStream[number]) (*connect.Response[number], error) {
	sum := int64(0)
	for stream.Receive() {
		sum += stream.Msg().GetValue()
		if s.received != nil {
			s.received(stream.Msg().GetValue())
		}
	}
	if err := stream.Err(); err != nil && !s.hide {
		return nil, err
	}
	return connect.NewResponse(wrapperspb.Int64(sum)), nil
}

// network is a network in memory with one server.
type network struct {
	server  *http.Server
	conns   chan net.Conn
	closed  chan struct{}
	clients []*http.Transport
}

// client returns an HTTP client of the server, by HTTP/2 or HTTP/1.
func (n *network) client(http2 bool) *http.Client {
	t := &http.Transport{DialContext: n.dial, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(http2)
	t.Protocols.SetHTTP1(!http2)
	n.clients = append(n.clients, t)
	return &http.Client{Transport: t}
}

func (n *network) stop() {
	for _, t := range n.clients {
		t.CloseIdleConnections()
	}
	_ = n.server.Close()
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- remote{there}:
		return here, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error { close(n.closed); return nil }
func (*network) Addr() net.Addr { return &net.TCPAddr{} }

type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }

// A protocol is one of those that connect-go's clients speak.
type protocol struct {
	name  string
	http2 bool
	opts  []connect.ClientOption
}

var protocols = []protocol{
	{"Connect", false, nil},
	{"Connect, JSON, HTTP/2", true, []connect.ClientOption{connect.WithProtoJSON()}},
	{"Connect, GET", false, []connect.ClientOption{connect.WithHTTPGet()}},
	{"gRPC", true, []connect.ClientOption{connect.WithGRPC()}},
	{"gRPC-Web", false, []connect.ClientOption{connect.WithGRPCWeb()}},
}

// rpc is a client of the service.
type rpc struct {
	echoes, sums *connect.Client[number, number]
}

// client returns a client of s by p, for the time of the test.
func (p protocol) client(n *network, opts ...connect.ClientOption) rpc {
	c := n.client(p.http2)
	idempotent := connect.WithIdempotency(connect.IdempotencyNoSideEffects) // so that it can be a GET
	opts = append(opts, p.opts...)
	return rpc{
		connect.NewClient[number, number](c, "http://shop.example"+echoProcedure, append(opts, idempotent)...),
		connect.NewClient[number, number](c, "http://shop.example"+sumProcedure, opts...),
	}
}

// echo calls echo with n, and header fields given as name, value.
func (c rpc) echo(n int64, header ...string) error {
	r := connect.NewRequest(wrapperspb.Int64(n))
	for i := 0; i < len(header); i += 2 {
		r.Header().Add(header[i], header[i+1])
	}
	_, err := c.echoes.CallUnary(context.Background(), r)
	return err
}

// sum sends n messages, each with the number 1.
func (c rpc) sum(n int) (int64, error) {
	stream := c.sums.CallClientStream(context.Background())
	for range n {
		if stream.Send(wrapperspb.Int64(1)) != nil {
			break // the error comes below
		}
	}
	r, err := stream.CloseAndReceive()
	if err != nil {
		return 0, err
	}
	return r.Msg.GetValue(), nil
}

// run starts s, and calls f for each protocol with a client and a test of its own.
func run(t *testing.T, s func() service, f func(*testing.T, protocol, rpc)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			n := s().start()
			defer n.stop()
			f(t, p, p.client(n))
		})
	}
}

// one is a KeyFunc that has one key for all.
func one(*http.Request) (string, error) { return "one", nil }

// per is a policy whose answers are easy to foresee: limit events in any window.
func per(limit int, d time.Duration) weir.SlidingLog { return weir.SlidingLog{Limit: limit, Per: d} }

// frozen returns a limiter whose time stands still unless the clock is told otherwise.
func frozen(p weir.Policy) (*weir.KeyedLimiter, *clock.Mock) {
	c := clock.NewMock()
	return weir.Must(weir.New(p, weir.WithClock(c))), c
}

// behind is a service behind a Middleware.
func behind(m connectlimit.Middleware) func() service {
	return func() service { return service{wrap: m.Wrap} }
}

// limited is a service with an interceptor.
func limited(i connectlimit.ServerInterceptor) func() service {
	return func() service {
		return service{options: []connect.HandlerOption{connect.WithInterceptors(i.Interceptor())}}
	}
}

// both are the ways to limit a service: they answer alike.
func both(l weir.Limiter, key httplimit.KeyFunc, p weir.Policy) map[string]func() service {
	return map[string]func() service{
		"Middleware":        behind(connectlimit.Middleware{Limit: httplimit.Middleware{Limiter: l, Key: key}, Policy: p}),
		"ServerInterceptor": limited(connectlimit.ServerInterceptor{Limiter: l, Key: key, Policy: p}),
	}
}

// limiterFunc is a Limiter that answers Take by a function.
type limiterFunc func() (weir.Result, error)

func (f limiterFunc) Allow(string) bool { r, err := f(); return err == nil && r.Allowed }

func (f limiterFunc) Take(context.Context, string, int) (weir.Result, error) { return f() }

func (f limiterFunc) Wait(context.Context, string, int) error { _, err := f(); return err }

var errStore = errors.New("dial tcp 10.1.2.3:6379: secret of alice")

// failing is a Limiter that has no decision.
func failing(err error) weir.Limiter {
	return limiterFunc(func() (weir.Result, error) { return weir.Result{}, err })
}

// details returns the details of an error, which must be of these types.
func details(t *testing.T, err error) (retry *errdetails.RetryInfo, quota *errdetails.QuotaFailure) {
	t.Helper()
	var e *connect.Error
	require.ErrorAs(t, err, &e)
	for _, d := range e.Details() {
		value, err := d.Value()
		require.NoError(t, err)
		switch value := value.(type) {
		case *errdetails.RetryInfo:
			require.Nil(t, retry, "only one")
			retry = value
		case *errdetails.QuotaFailure:
			require.Nil(t, quota, "only one")
			quota = value
		default:
			assert.Fail(t, "unexpected detail", "%T", value)
		}
	}
	return retry, quota
}

// meta returns the header or trailer fields of an error.
func meta(t *testing.T, err error) http.Header {
	t.Helper()
	var e *connect.Error
	require.ErrorAs(t, err, &e)
	return e.Meta()
}
