package benchmarks

import (
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/didip/tollbooth/v8"
	tollboothlimiter "github.com/didip/tollbooth/v8/limiter"
	"github.com/go-chi/httprate"
	sethvargohttp "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// MiddlewareLeader is the middleware that the others are compared with.
const MiddlewareLeader = "weir/httplimit"

// middlewares limit by the address of the client, and send their rate limit headers.
var middlewares = []Contender{
	{
		Name: MiddlewareLeader, Module: weirModule, How: "TokenBucket, with the RateLimit fields of the current draft",
		Wrap: wrapWeir(httplimit.RateLimit{}),
	},
	{
		Name: "weir/httplimit, X-RateLimit", Module: weirModule, How: "TokenBucket, with the X-RateLimit fields that most others use",
		Wrap: wrapWeir(httplimit.XRateLimit{}),
	},
	{
		Name: "weir/httplimit, three limits", Module: weirModule, How: "three TokenBuckets, all or none: by address, by method and for all",
		Wrap: wrapThreeLimits,
	},
	{
		Name: "ulule, stdlib", Module: "github.com/ulule/limiter/v3", How: "its middleware for net/http, with its defaults",
		Wrap: func(q Quota, next http.Handler) http.Handler {
			l := ulule.New(memory.NewStore(), ulule.Rate{Period: q.Per, Limit: int64(q.Limit)})
			return stdlib.NewMiddleware(l).Handler(next)
		},
	},
	{
		Name: "sethvargo, httplimit", Module: "github.com/sethvargo/go-limiter", How: "its middleware, with IPKeyFunc",
		Wrap: func(q Quota, next http.Handler) http.Handler {
			store := must(memorystore.New(&memorystore.Config{Tokens: uint64(q.Limit), Interval: q.Per}))
			return must(sethvargohttp.NewMiddleware(store, sethvargohttp.IPKeyFunc())).Handle(next)
		},
	},
	{
		Name: "httprate, LimitBy", Module: "github.com/go-chi/httprate", How: "its middleware, by the address",
		Hashes: true,
		Wrap: func(q Quota, next http.Handler) http.Handler {
			return httprate.LimitBy(q.Limit, q.Per, remoteIP)(next)
		},
	},
	{
		Name: "tollbooth, HTTPMiddleware", Module: "github.com/didip/tollbooth/v8", How: "its middleware, by RemoteAddr for all paths",
		Wrap: func(q Quota, next http.Handler) http.Handler {
			l := tollbooth.NewLimiter(q.perSecond(), nil).SetBurst(q.Limit).SetIgnoreURL(true).
				SetIPLookup(tollboothlimiter.IPLookup{Name: "RemoteAddr"})
			return tollbooth.HTTPMiddleware(l)(next)
		},
	},
}

func wrapWeir(fields httplimit.Headers) func(Quota, http.Handler) http.Handler {
	return func(q Quota, next http.Handler) http.Handler {
		return httplimit.Middleware{
			Limiter: must(weir.New(weir.TokenBucket{Limit: q.Limit, Per: q.Per})),
			Key:     httplimit.RemoteIP,
			Headers: fields,
		}.Wrap(next)
	}
}

// wrapThreeLimits has a limit by address, and two wider ones.
func wrapThreeLimits(q Quota, next http.Handler) http.Handler {
	limiter := func(limit int) *weir.KeyedLimiter {
		return must(weir.New(weir.TokenBucket{Limit: limit, Per: q.Per}))
	}
	return httplimit.Middleware{
		Limits: []httplimit.Limit{
			{Name: "address", Limiter: limiter(q.Limit), Key: httplimit.RemoteIP},
			{Name: "method", Limiter: limiter(10 * q.Limit), Key: httplimit.Method},
			{Name: "service", Limiter: limiter(10 * q.Limit), Key: httplimit.Everyone},
		},
		Headers: httplimit.RateLimit{},
	}.Wrap(next)
}

// remoteIP is the client's address, as httprate's KeyByIP, which is deprecated, finds it.
func remoteIP(r *http.Request) (string, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return httprate.CanonicalizeIP(host), err
}

func hasMiddleware(c Contender) bool { return c.Wrap != nil }

// measureMiddleware measures H1: requests of one client, through a middleware and back.
func measureMiddleware(c Contender, s Settings) Metrics {
	served := 0
	h := c.Wrap(roomy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served++
		w.WriteHeader(http.StatusNoContent)
	}))
	r := newRequest("192.0.2.1:4711")
	serve(h, r, s.Time/10) // to warm up
	runtime.GC()

	served = 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	elapsed, requests := serve(h, r, s.Time)
	runtime.ReadMemStats(&after)
	m := Metrics{
		"H1.ns":     float64(elapsed) / float64(requests),
		"H1.allocs": float64(after.Mallocs-before.Mallocs) / float64(requests),
	}
	m.wrong("H1", requests-served, requests)
	return m
}

func newRequest(remoteAddr string) *http.Request {
	r := must(http.NewRequest(http.MethodGet, "http://example.com/", http.NoBody))
	r.RemoteAddr = remoteAddr
	return r
}

// serve lets h answer r again and again for about d.
func serve(h http.Handler, r *http.Request, d time.Duration) (elapsed time.Duration, requests int) {
	w := &answer{header: make(http.Header)}
	start := time.Now()
	for requests == 0 || time.Since(start) < d {
		for range batch {
			w.reset()
			h.ServeHTTP(w, r)
		}
		requests += batch
	}
	return time.Since(start), requests
}

// An answer records the answer to a request, and can be used again.
type answer struct {
	header http.Header
	status int
}

func (a *answer) reset() {
	clear(a.header)
	a.status = 0
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
