package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A recorder is the smallest possible ResponseWriter, so that the benchmark measures the
// middleware. The header keeps its memory between requests, because net/http would make the header
// of a real answer in any case.
type recorder struct {
	header http.Header
	status int
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(b []byte) (int, error) { return len(b), nil }
func (w *recorder) WriteHeader(status int)      { w.status = status }

func (w *recorder) reset() {
	clear(w.header)
	w.status = 0
}

// roomy never denies; tight denies from the second request on.
var (
	roomy = weir.TokenBucket{Limit: 1_000_000_000, Per: time.Second}
	tight = weir.TokenBucket{Limit: 1, Per: 1000 * time.Hour}
)

// A workload is one way to use the middleware, with what it may allocate.
type workload struct {
	name    string
	policy  weir.Policy
	key     httplimit.KeyFunc
	headers httplimit.Headers
	request *http.Request
	allocs  float64
}

func workloads() []workload {
	v4 := from("192.0.2.1:1234")
	v6 := from("[2001:db8::1]:1234")
	proxied := from(proxy, "X-Forwarded-For", "198.51.100.1, 203.0.113.9, 10.0.0.2")
	forwarded := from(proxy, "Forwarded", `for=198.51.100.1, for=203.0.113.9;proto=https, for="10.0.0.2:80"`)
	apiKey := from("192.0.2.1:1234", "X-Api-Key", "0123456789abcdef")
	byKey := httplimit.Header("X-Api-Key")
	return []workload{
		{"none/RemoteIP", roomy, httplimit.RemoteIP, nil, v4, 0},
		{"none/RemoteIPv6", roomy, httplimit.RemoteIP, nil, v6, 1},
		{"none/ForwardedIP", roomy, httplimit.ForwardedIP(proxies...), nil, proxied, 0},
		{"none/ForwardedHeader", roomy, httplimit.ForwardedHeader(proxies...), nil, forwarded, 0},
		{"none/Header", roomy, byKey, nil, apiKey, 0},
		{"none/Hashed", roomy, httplimit.Hashed(secret, byKey), nil, apiKey, 1},
		{"none/Or", roomy, httplimit.Or(byKey, httplimit.RemoteIP), nil, apiKey, 0},
		{"none/OrSecond", roomy, httplimit.Or(byKey, httplimit.RemoteIP), nil, v4, 1},
		{"none/Join", roomy, httplimit.Join(httplimit.Method, httplimit.RemoteIP), nil, v4, 1},
		{"RateLimit", roomy, httplimit.RemoteIP, httplimit.RateLimit{Policy: roomy}, v4, 1},
		{"LegacyRateLimit", roomy, httplimit.RemoteIP, httplimit.LegacyRateLimit{}, v4, 2},
		{"XRateLimit", roomy, httplimit.RemoteIP, httplimit.XRateLimit{}, v4, 2},
		{"denied/none", tight, httplimit.RemoteIP, nil, v4, 3},
		{"denied/RateLimit", tight, httplimit.RemoteIP, httplimit.RateLimit{Policy: tight}, v4, 4},
	}
}

// serve returns a function that passes the workload's request once.
func (wl workload) serve() func() {
	m := httplimit.Middleware{Limiter: weir.Must(weir.New(wl.policy)), Key: wl.key, Headers: wl.headers}
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := &recorder{header: http.Header{}}
	return func() {
		w.reset()
		h.ServeHTTP(w, wl.request)
	}
}

// An allowed request costs no allocation without headers, where its key is a part of what the
// request brought. With headers there are one or two, for their values and the slots of these.
func TestMiddleware_Allocations(t *testing.T) {
	for _, wl := range workloads() {
		if runs.Race && wl.name == "none/Hashed" { // its pool then drops what it holds
			continue
		}
		serve := wl.serve()
		serve()
		assert.LessOrEqual(t, kit.AllocsPerRun(1000, serve), wl.allocs, wl.name)
	}
}

// warmUp serves the requests that the checks of the wiring look at.
func warmUp(serve func()) {
	for range 1000 {
		serve()
	}
}

func BenchmarkMiddleware(b *testing.B) {
	for _, wl := range workloads() {
		b.Run(wl.name, func(b *testing.B) {
			serve := wl.serve()
			warmUp(serve)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

func BenchmarkMiddlewareParallel(b *testing.B) {
	m := httplimit.Middleware{
		Limiter: weir.Must(weir.New(roomy)), Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{Policy: roomy},
	}
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		w := &recorder{header: http.Header{}}
		r := from("192.0.2.1:1234")
		for i := 0; pb.Next(); i++ {
			if i%1000 == 0 {
				r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1234", i/1000%256)
			}
			w.reset()
			h.ServeHTTP(w, r)
		}
	})
}

// What the fields say of each plan is kept, also if every customer has one.
func BenchmarkPlans(b *testing.B) {
	for _, plans := range []int{1, 100, 2000} {
		b.Run(fmt.Sprint(plans), func(b *testing.B) {
			keys, policies := make([]string, plans), map[string]weir.Policy{}
			for i := range keys {
				keys[i] = kit.KeyName(i)
				policies[keys[i]] = weir.TokenBucket{Limit: 1_000_000_000 + i, Per: time.Second}
			}
			next := 0
			h := httplimit.Middleware{
				Limiter: weir.Must(weir.New(roomy, weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy { return policies[key] }))),
				Key: func(*http.Request) (string, error) {
					next = (next + 1) % plans
					return keys[next], nil
				},
				Headers: httplimit.RateLimit{},
			}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			w, r := &recorder{header: http.Header{}}, from("192.0.2.1:1234")
			serve := func() {
				w.reset()
				h.ServeHTTP(w, r)
			}
			warmUp(serve)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
