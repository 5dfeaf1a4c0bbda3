package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// ok is a handler that is happy with any request.
var ok = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") })

// one is a KeyFunc that has one key for all.
func one(*http.Request) (string, error) { return "one", nil }

// frozen returns a limiter whose time stands still unless the clock is told otherwise.
func frozen(p weir.Policy) (*weir.KeyedLimiter, *clock.Mock) {
	c := clock.NewMock()
	return weir.Must(weir.New(p, weir.WithClock(c))), c
}

// serve passes one request to a handler.
func serve(h http.Handler, r *http.Request) *http.Response {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result()
}

// served is serve with the body as text.
func served(h http.Handler, r *http.Request) (*http.Response, string) {
	resp := serve(h, r)
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

// request is a GET with header fields, given as name, value, name, value.
func request(fields ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

// from is a request over a connection from addr.
func from(addr string, fields ...string) *http.Request {
	r := request(fields...)
	r.RemoteAddr = addr
	return r
}

// loopback starts a server for h and returns its URL and a client.
func loopback(t *testing.T, h http.Handler) (string, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

// do sends a request and reads the whole answer.
func do(t *testing.T, c *http.Client, method, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	resp, err := c.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

// limiterFunc is a Limiter that answers Take by a function.
type limiterFunc func(n int) (weir.Result, error)

func (f limiterFunc) Allow(string) bool { r, err := f(1); return err == nil && r.Allowed }

func (f limiterFunc) Take(_ context.Context, _ string, n int) (weir.Result, error) { return f(n) }

func (f limiterFunc) Wait(_ context.Context, _ string, n int) error {
	switch r, err := f(n); {
	case err != nil:
		return err
	case r.Allowed:
		return nil
	default:
		return weir.ErrTooLate
	}
}

// broken is a Limiter that has no decision.
func broken(err error) weir.Limiter {
	return limiterFunc(func(int) (weir.Result, error) { return weir.Result{}, err })
}

var errStore = errors.New("dial tcp 10.1.2.3:6379: secret of alice")

// answering is a Limiter that always gives the same answer.
func answering(r weir.Result) weir.Limiter {
	return limiterFunc(func(int) (weir.Result, error) { return r, nil })
}

// pipes is a network in memory, for servers and clients inside a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

// inMemory starts a server for h on a network in memory, and returns a transport that reaches it
// under every name. It must be called in a synctest bubble; stop ends it.
func inMemory(h http.Handler) (rt *http.Transport, stop func()) {
	p := pipes{make(chan net.Conn), make(chan struct{})}
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(p) }()
	rt = &http.Transport{DialContext: p.dial}
	return rt, func() {
		_ = s.Close()
		rt.CloseIdleConnections()
	}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- remote{there}:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// remote is a connection that comes from an IP address.
type remote struct{ net.Conn }

func (remote) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234} }

// per is a policy whose answers are easy to foresee: limit events in any window.
func per(limit int, d time.Duration) weir.SlidingLog { return weir.SlidingLog{Limit: limit, Per: d} }

func middleware(l weir.Limiter, h httplimit.Headers) httplimit.Middleware {
	return httplimit.Middleware{Limiter: l, Key: one, Headers: h}
}

// A forgetful recorder does not keep the body, which is large.
type forgetful struct{ *httptest.ResponseRecorder }

func (f forgetful) Write(b []byte) (int, error) {
	if _, err := f.ResponseRecorder.Write(nil); err != nil { // which sends the header
		return 0, err
	}
	return len(b), nil
}
