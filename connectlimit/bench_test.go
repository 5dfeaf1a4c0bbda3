package connectlimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/connectlimit"
	"github.com/weir-go/weir/httplimit"
)

// listen starts a server on a port of this machine.
func listen(h http.Handler) (url string, stop func()) {
	s := httptest.NewServer(h)
	return s.URL, s.Close
}

// roomy never denies.
var roomy = weir.TokenBucket{Limit: 1_000_000_000, Per: time.Second}

// BenchmarkAllowed is what a limit adds to a call.
func BenchmarkAllowed(b *testing.B) {
	l := weir.Must(weir.New(roomy))
	b.Run("Middleware", func(b *testing.B) {
		m := connectlimit.Middleware{Limit: httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP}}
		h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		r := httptest.NewRequest(http.MethodPost, echoProcedure, nil)
		r.Header.Set("Content-Type", "application/grpc")
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(nil, r)
		}
	})
	b.Run("ServerInterceptor", func(b *testing.B) {
		i := connectlimit.ServerInterceptor{Limiter: l, Key: httplimit.Path}.Interceptor()
		call := i.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, nil })
		r := connect.NewRequest(&number{})
		b.ReportAllocs()
		for b.Loop() {
			_, _ = call(context.Background(), r)
		}
	})
}

// BenchmarkCall is a whole call, over a connection in memory.
func BenchmarkCall(b *testing.B) {
	l := weir.Must(weir.New(roomy))
	for _, c := range []struct {
		name string
		s    func() service
	}{
		{"none", func() service { return service{} }},
		{"Middleware", both(l, httplimit.RemoteIP, nil)["Middleware"]},
		{"ServerInterceptor", both(l, httplimit.RemoteIP, nil)["ServerInterceptor"]},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := c.s().start()
			defer n.stop()
			rpc := protocols[3].client(n) // gRPC
			require.NoError(b, rpc.echo(1))
			b.ReportAllocs()
			for b.Loop() {
				_ = rpc.echo(1)
			}
		})
	}
}
