package benchmarks

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/didip/tollbooth/v8"
	"github.com/didip/tollbooth/v8/limiter"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func limitByTollbooth(next http.Handler) http.Handler {
	lmt := tollbooth.NewLimiter(5, nil) // 5 a second, 5 at once
	lmt.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
	return tollbooth.HTTPMiddleware(lmt)(next)
}

func limitPaths(next http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second})),
		Key:     httplimit.Join(httplimit.RemoteIP, httplimit.Path), // or RemoteIP alone
		Headers: httplimit.LegacyRateLimit{},
	}.Wrap(next)
}

func TestComingFromTollbooth(t *testing.T) {
	bubble(t, "grants", func(t *testing.T) {
		perAddress := httplimit.Middleware{
			Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second})),
			Key:     httplimit.RemoteIP,
		}.Wrap
		for _, c := range []struct {
			who   string
			m     middleware
			other int // grants of another path
		}{{"tollbooth", limitByTollbooth, 5}, {"weir, by path", limitPaths, 5}, {"weir, by address", perAddress, 0}} {
			h := wrapped(c.m)
			granted(t, c.who, 10, passes(h, "/a"), 5)
			granted(t, c.who+" of another path", 10, passes(h, "/b"), c.other)
			time.Sleep(200 * time.Millisecond)
			granted(t, c.who+" after 200 ms", 10, passes(h, "/a"), 1)
		}
	})
	bubble(t, "fields", func(t *testing.T) {
		theirs, ours := wrapped(limitByTollbooth), wrapped(limitPaths)
		grants(5, passes(theirs, "/"))
		grants(5, passes(ours, "/"))
		a := get(theirs, "/", "X-Forwarded-For", "from the client")
		is(t, "tollbooth's Retry-After", a.Header.Get("Retry-After"), "")
		is(t, "what tollbooth sends back", a.Header.Get("X-Rate-Limit-Request-Forwarded-For"), "from the client")
		is(t, "weir's Retry-After", get(ours, "/").Header.Get("Retry-After"), "1")
	})
	bubble(t, "10 a minute", func(t *testing.T) {
		lmt := tollbooth.NewLimiter(10.0/60, nil)
		lmt.SetIPLookup(limiter.IPLookup{Name: "RemoteAddr"})
		theirs := wrapped(tollbooth.HTTPMiddleware(lmt))
		granted(t, "tollbooth", 20, passes(theirs, "/"), 1)
		fields := get(theirs, "/").Header
		is(t, "RateLimit-Limit", fields.Get("RateLimit-Limit"), "0")
		is(t, "RateLimit-Reset", fields.Get("RateLimit-Reset"), "1")
		time.Sleep(time.Second)
		is(t, "tollbooth after RateLimit-Reset", passes(theirs, "/")(), false)
		ours := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Minute}))
		granted(t, "weir", 20, func() bool { return ours.Allow("ann") }, 10)
	})
	bubble(t, "the field is not there", func(t *testing.T) {
		lmt := tollbooth.NewLimiter(5, nil)
		lmt.SetIPLookup(limiter.IPLookup{Name: "X-Forwarded-For"})
		granted(t, "tollbooth", 1000, passes(wrapped(tollbooth.HTTPMiddleware(lmt)), "/"), 1000)
		ours := httplimit.Middleware{
			Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Second})),
			Key:     httplimit.ForwardedIP(netip.MustParsePrefix("192.0.2.0/24")),
		}.Wrap
		granted(t, "weir", 1000, passes(wrapped(ours), "/"), 5)
	})
	bubble(t, "expiry", func(t *testing.T) {
		l := tollbooth.NewLimiter(1.0/3600, &limiter.ExpirableOptions{DefaultExpirationTTL: time.Minute})
		is(t, "one an hour", l.LimitReached("ann"), false)
		is(t, "two an hour", l.LimitReached("ann"), true)
		time.Sleep(time.Minute + 1)
		is(t, "two an hour, after the TTL", l.LimitReached("ann"), false)
	})
}
