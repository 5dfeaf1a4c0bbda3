package connectlimit_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// Requests that are no calls get the answers of httplimit, and share the allowance.
func TestMiddleware_OtherRequests(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	m := connectlimit.Middleware{
		Limit:   httplimit.Middleware{Limiter: l, Key: one},
		Options: []connect.HandlerOption{connect.WithRequireConnectProtocolHeader()},
	}
	n := behind(m)().start()
	defer n.stop()
	page := func() (*http.Response, string) {
		resp, err := n.client(false).Get("http://shop.example/page")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp, string(body)
	}
	resp, _ := page()
	assert.Equal(t, 200, resp.StatusCode)
	resp, body := page()
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	assert.Equal(t, "60", resp.Header.Get("Retry-After"))
	assert.Contains(t, body, "Quota Exceeded")
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(protocols[0].client(n).echo(1)))
}

// The header fields of httplimit are in the answers of calls, too.
func TestMiddleware_Headers(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	m := connectlimit.Middleware{Limit: httplimit.Middleware{Limiter: l, Key: one, Headers: httplimit.RateLimit{}}}
	run(t, behind(m), func(t *testing.T, _ protocol, c rpc) {
		assert.Equal(t, `"default";r=0;t=60`, meta(t, c.echo(1)).Get("RateLimit"))
	})
}

// Changes to the Middleware after Wrap have no effect, and those that Wrap makes are its own.
func TestMiddleware_KeepsDenied(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	m := connectlimit.Middleware{Limit: httplimit.Middleware{
		Limiter: l, Key: one,
		Denied: func(w http.ResponseWriter, _ *http.Request, _ httplimit.Decision) { w.WriteHeader(http.StatusTeapot) },
	}}
	n := behind(m)().start()
	defer n.stop()
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(protocols[0].client(n).echo(1)))
	resp, err := n.client(false).Post("http://shop.example/page", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusTeapot, resp.StatusCode)
}

// Media types ignore case: the answer is that of gRPC, and has the time in its trailer.
func TestMiddleware_CaseOfTheContentType(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	n := behind(connectlimit.Middleware{Limit: httplimit.Middleware{Limiter: l, Key: one}})().start()
	defer n.stop()
	for _, contentType := range []string{"application/grpc", "Application/gRPC", "application/GRPC+proto"} {
		resp, err := n.client(false).Post("http://shop.example/page", contentType, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, "8", resp.Trailer.Get("Grpc-Status"), contentType)
		assert.Equal(t, "60000", resp.Trailer.Get("Grpc-Retry-Pushback-Ms"), contentType)
	}
}

// A mistake in the wiring is told once, although calls have answers of their own.
func TestMiddleware_WarnsOnce(t *testing.T) {
	l, _ := frozen(per(9, time.Minute))
	told := make(chan httplimit.Check, 9)
	m := connectlimit.Middleware{
		Limit: httplimit.Middleware{
			Limiter: l, Key: httplimit.Pattern, // outside of the mux there is none
			Warn: func(check httplimit.Check, _ string) { told <- check },
		},
		Options: []connect.HandlerOption{connect.WithRequireConnectProtocolHeader()},
	}
	n := behind(m)().start()
	defer n.stop()
	require.Error(t, protocols[0].client(n).echo(1))
	resp, err := n.client(false).Get("http://shop.example/page")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.Equal(t, httplimit.CheckPattern, <-told)
	assert.Empty(t, told)
}

func TestMiddleware_MaxWait(t *testing.T) {
	for _, p := range protocols {
		synctest.Test(t, func(t *testing.T) {
			l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1}))
			m := connectlimit.Middleware{Limit: httplimit.Middleware{Limiter: l, Key: one, MaxWait: time.Second}}
			n := behind(m)().start()
			defer n.stop()
			c, begin := p.client(n), time.Now()
			require.NoError(t, c.echo(1))
			require.NoError(t, c.echo(1))
			assert.Equal(t, time.Second, time.Since(begin), p.name)
		})
	}
}

func TestMiddleware_Faults(t *testing.T) {
	limit := httplimit.Middleware{Limiter: failing(nil), Key: one}
	for _, c := range []struct {
		m    connectlimit.Middleware
		want string
	}{
		{connectlimit.Middleware{}, "Limiter is nil"},
		{connectlimit.Middleware{Limit: limit, Policy: per(0, 1)}, "Middleware.Policy: "},
	} {
		assert.ErrorContains(t, panicOf(func() { c.m.Wrap(http.NotFoundHandler()) }), c.want)
	}
}

func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// With several limits, RetryInfo is the time after which all of them grant the call.
func TestMiddleware_SeveralLimits(t *testing.T) {
	clock := clock.NewMock()
	limit := func(p weir.Policy) weir.Limiter { return weir.Must(weir.New(p, weir.WithClock(clock))) }
	m := connectlimit.Middleware{Limit: httplimit.Middleware{Limits: []httplimit.Limit{
		{Name: "address", Limiter: limit(per(1, time.Second)), Key: httplimit.RemoteIP},
		{Name: "all", Limiter: limit(per(1, time.Minute)), Key: httplimit.Everyone},
	}}}
	run(t, behind(m), func(t *testing.T, _ protocol, c rpc) {
		clock.Add(time.Minute)
		require.NoError(t, c.echo(1))
		retry, _ := details(t, c.echo(1))
		assert.Equal(t, time.Minute, retry.GetRetryDelay().AsDuration())
		clock.Add(time.Minute - time.Millisecond)
		require.Error(t, c.echo(1))
		clock.Add(time.Millisecond)
		require.NoError(t, c.echo(1))
	})
}

// A cache keeps no refused GET.
func TestP27_NoStore(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	require.True(t, l.Allow("one"))
	for way, s := range both(l, one, nil) {
		n := s().start()
		defer n.stop()
		resp, err := n.client(false).Get("http://shop.example" + echoProcedure + "?connect=v1&encoding=json&message=1")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, 429, resp.StatusCode, way)
		assert.Equal(t, []string{"no-store"}, resp.Header["Cache-Control"], way)
		assert.Equal(t, []string{"60"}, resp.Header["Retry-After"], way)
	}
}

// A Wrapper is one Middleware for a router that calls it for each request.
func TestMiddleware_Wrapper(t *testing.T) {
	var told []httplimit.Check
	m := connectlimit.Middleware{Limit: httplimit.Middleware{
		Limiter: weir.Must(weir.New(per(1, time.Minute))), Key: one,
		Warn: func(c httplimit.Check, _ string) { told = append(told, c) },
	}}
	router := func(m connectlimit.Middleware) func() service {
		wrap := m.Wrapper()
		return func() service {
			return service{wrap: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { wrap(next).ServeHTTP(w, r) })
			}}
		}
	}
	n := router(m)().start()
	defer n.stop()
	c := protocols[0].client(n)
	require.NoError(t, c.echo(1))
	assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(c.echo(1)))

	m.Limit.Key = func(*http.Request) (string, error) { return httplimit.Pattern(new(http.Request)) }
	other := router(m)().start()
	defer other.stop()
	for range 3 {
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(protocols[0].client(other).echo(1)))
	}
	assert.Equal(t, []httplimit.Check{httplimit.CheckPattern}, told, "once")

	m.Policy = weir.SlidingLog{}
	assert.ErrorContains(t, panicOf(func() { m.Wrapper() }), "Middleware.Policy")
}
