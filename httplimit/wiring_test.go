package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// warnings collects what a Middleware warns of.
type warnings struct {
	mu   sync.Mutex
	told []httplimit.Check
}

func (w *warnings) warn(c httplimit.Check, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, c)
}

// noWarning fails the test if a Middleware warns.
func noWarning(t *testing.T) func(httplimit.Check, string) {
	return func(c httplimit.Check, message string) { t.Errorf("%s: %s", c, message) }
}

// traffic sends requests of ever new clients through a Middleware.
func traffic(m httplimit.Middleware, n int, r func(i int) *http.Request) []httplimit.Check {
	var w warnings
	m.Limiter, m.Warn = weir.Must(weir.New(roomy)), w.warn
	h := m.Wrap(ok)
	for i := range n {
		h.ServeHTTP(&recorder{header: http.Header{}}, r(i))
	}
	return w.told
}

// manyRequests are more than any check needs.
func manyRequests() int { return runs.Long(3000, 1000) }

func visitorAddr(i int) string { return fmt.Sprintf("203.0.%d.%d", i/250, i%250+1) }

// behind is a request of the i-th client through proxies that append to X-Forwarded-For.
func behind(proxies ...string) func(int) *http.Request {
	return func(i int) *http.Request {
		list := visitorAddr(i)
		for _, p := range proxies[1:] {
			list += ", " + p
		}
		return from(proxies[0]+":1234", "X-Forwarded-For", list)
	}
}

func direct(i int) *http.Request { return from(visitorAddr(i) + ":1234") }

// reused returns a KeyFunc whose keys are in the memory of the request before, as with fasthttp.
func reused(key httplimit.KeyFunc) httplimit.KeyFunc {
	var memory [32]byte
	return func(r *http.Request) (string, error) {
		k, err := key(r)
		copy(memory[:], k+"                ")
		return unsafe.String(&memory[0], 16), err
	}
}

func TestWiring_Warns(t *testing.T) {
	many := manyRequests()
	trusting := func(proxies ...string) httplimit.KeyFunc {
		var list []netip.Prefix
		for _, p := range proxies {
			list = append(list, netip.MustParsePrefix(p))
		}
		return httplimit.ForwardedIP(list...)
	}
	agents := func(remote string) func(int) *http.Request {
		return func(i int) *http.Request { return from(remote, "User-Agent", fmt.Sprint("browser ", i)) }
	}
	byRoute := func() httplimit.KeyFunc { // as Join(Pattern, …), with two routes
		n := 0
		route := func(*http.Request) (string, error) { n++; return fmt.Sprint("GET /", n%2), nil }
		return httplimit.Join(route, httplimit.Or(httplimit.BasicUser, httplimit.RemoteIP))
	}
	anonymous := func(*http.Request) (string, error) { return "anonymous", nil }
	mixed := httplimit.Or(httplimit.Header("X-API-Key"), httplimit.RemoteIP)
	withSome := func(r func(int) *http.Request) func(int) *http.Request { // every second one has an API key
		return func(i int) *http.Request {
			req := r(i)
			if i%2 == 0 {
				req.Header.Set("X-Api-Key", fmt.Sprint("key ", i))
			}
			return req
		}
	}
	balanced := func(i int) *http.Request { // through one of three nodes of a balancer
		return behind("10.0.0.1", fmt.Sprintf("10.0.0.%d", 2+i%3))(i)
	}
	for _, c := range []struct {
		name    string
		key     httplimit.KeyFunc
		n       int
		request func(int) *http.Request
		want    []httplimit.Check
	}{
		{"proxy, nobody trusted", httplimit.RemoteIP, 10, behind("10.0.0.1"), []httplimit.Check{httplimit.CheckForwarded}},
		{"once", httplimit.RemoteIP, many, behind("10.0.0.1"), []httplimit.Check{httplimit.CheckForwarded}},
		{"proxy over IPv6", httplimit.RemoteIP, 10, behind("[fd00::1]"), []httplimit.Check{httplimit.CheckForwarded}},
		{"second of two", httplimit.Or(httplimit.BasicUser, httplimit.RemoteIP), 10, behind("127.0.0.1"), []httplimit.Check{httplimit.CheckForwarded}},
		{"by route, nobody trusted", byRoute(), 10, behind("10.0.0.1"), []httplimit.Check{httplimit.CheckForwarded}},
		{"by route, proxy that says nothing", byRoute(), 100, agents("10.0.0.1:1"), []httplimit.Check{httplimit.CheckProxyKey}},
		{"by route, right", byRoute(), many, direct, nil},
		{"not yet", httplimit.RemoteIP, 9, behind("10.0.0.1"), nil},
		{"proxy, trusted", trusting("10.0.0.1/32"), many, behind("10.0.0.1"), nil},
		{"no proxy, lies", httplimit.RemoteIP, many, func(i int) *http.Request {
			return from(visitorAddr(i)+":1", "X-Forwarded-For", "10.0.0.1")
		}, nil},
		{"inner proxy not trusted", trusting("10.0.0.1/32"), many, behind("10.0.0.1", "10.0.0.2"), []httplimit.Check{httplimit.CheckProxyKey}},
		{"inner proxies not trusted", trusting("10.0.0.1/32"), 100, balanced, []httplimit.Check{httplimit.CheckProxyKey}},
		{"inner proxies not trusted, and a few others", trusting("10.0.0.1/32"), 110, func(i int) *http.Request {
			if i%11 == 0 {
				return direct(i)
			}
			return balanced(i)
		}, []httplimit.Check{httplimit.CheckProxyKey}},
		{"inner proxies not trusted, not yet", trusting("10.0.0.1/32"), 99, balanced, nil},
		{"too few Hops", httplimit.ClientIP{Hops: 1}.ForwardedIP(), 100, balanced, []httplimit.Check{httplimit.CheckProxyKey}},
		{"inner proxies trusted", trusting("10.0.0.0/24"), many, balanced, nil},
		{"clients of a private network", trusting("10.0.0.1/32"), many, func(i int) *http.Request {
			return from("10.0.0.1:1", "X-Forwarded-For", fmt.Sprintf("10.7.0.%d", i%250), "User-Agent", fmt.Sprint("browser ", i))
		}, nil},
		{"some with a key of their own", mixed, 20, withSome(behind("10.0.0.1")), []httplimit.Check{httplimit.CheckForwarded}},
		{"some with a key of their own, not yet", mixed, 19, withSome(behind("10.0.0.1")), nil},
		{"some with a key of their own, and a CDN", mixed, 200, withSome(func(i int) *http.Request {
			return from(fmt.Sprintf("198.51.100.%d:1", i%20), "X-Forwarded-For", visitorAddr(i))
		}), []httplimit.Check{httplimit.CheckForwarded}},
		{"some with a key of their own, a proxy that says nothing", mixed, 200, withSome(agents("10.0.0.1:1")), []httplimit.Check{httplimit.CheckProxyKey}},
		{"some with a key of their own, a client of one's own", mixed, many, func(i int) *http.Request {
			if i%2 == 1 {
				return from("10.0.0.1:1", "User-Agent", "job")
			}
			return from(visitorAddr(i)+":1", "X-Api-Key", fmt.Sprint(i))
		}, nil},
		{"both trusted", trusting("10.0.0.0/24"), many, behind("10.0.0.1", "10.0.0.2"), nil},
		{"proxy that says nothing", httplimit.RemoteIP, 100, agents("10.0.0.1:1"), []httplimit.Check{httplimit.CheckProxyKey}},
		{"proxy that says nothing, and a health check", httplimit.RemoteIP, 110, func(i int) *http.Request {
			if i%11 == 0 {
				return from("127.0.0.1:1", "User-Agent", "health check")
			}
			return agents("10.0.0.1:1")(i)
		}, []httplimit.Check{httplimit.CheckProxyKey}},
		{"one client of one's own, and visitors", httplimit.RemoteIP, many, func(i int) *http.Request {
			if i%11 == 0 {
				return direct(i)
			}
			return from("10.0.0.1:1", "User-Agent", "job")
		}, nil},
		{"proxy that says nothing, and many others", httplimit.RemoteIP, many, func(i int) *http.Request {
			return agents([]string{"10.0.0.1:1", "10.0.0.2:1"}[i%10/9])(i)
		}, nil},
		{"a key like an address with a zone", httplimit.Header("X-API-Key"), 500, func(i int) *http.Request {
			return from(visitorAddr(i)+":1", "X-Api-Key", "fe80::1%key")
		}, nil},
		{"one client of one's own", httplimit.RemoteIP, many, func(int) *http.Request { return from("10.0.0.1:1", "User-Agent", "job") }, nil},
		{"one client behind a proxy", trusting("10.0.0.1/32"), many, func(int) *http.Request {
			return from("10.0.0.1:1", "X-Forwarded-For", "10.0.7.7")
		}, nil},
		{"proxy and client on one host", trusting("127.0.0.1/32"), many, func(int) *http.Request {
			return from("127.0.0.1:1", "X-Forwarded-For", "127.0.0.1", "X-Real-Ip", "127.0.0.1")
		}, nil},
		{"first such a client, then others", httplimit.RemoteIP, 30, func(i int) *http.Request {
			if i < 20 {
				return from("127.0.0.1:1", "X-Forwarded-For", "127.0.0.1")
			}
			return behind("127.0.0.1")(i)
		}, []httplimit.Check{httplimit.CheckForwarded}},
		{"one key", anonymous, 900, direct, []httplimit.Check{httplimit.CheckOneKey}},
		{"one key, not yet", anonymous, 899, direct, nil},
		{"one key, one client, and no URL", anonymous, many, func(int) *http.Request { return &http.Request{} }, nil},
		{"one key, meant so", httplimit.Everyone, many, direct, nil},
		{"one key, one client", anonymous, many, func(int) *http.Request { return from("192.0.2.1:1") }, nil},
		{"keys in memory that is used again", reused(httplimit.RemoteIP), many, direct, nil},
		{"right", httplimit.RemoteIP, many, direct, nil},
		{"pattern outside", httplimit.Pattern, 3, direct, []httplimit.Check{httplimit.CheckPattern}},
		{"no address", httplimit.RemoteIP, 3, func(int) *http.Request { return from("@") }, []httplimit.Check{httplimit.CheckAddress}},
	} {
		assert.Equal(t, c.want, traffic(httplimit.Middleware{Key: c.key}, c.n, c.request), c.name)
		if c.want != nil {
			m := httplimit.Middleware{Key: c.key, Unchecked: c.want}
			for _, told := range traffic(m, c.n, c.request) {
				assert.NotContains(t, c.want, told, c.name)
			}
		}
	}
}

// slog.Warn has one prefix "weir:", not that of the error as well.
func TestWiring_MessageOfAddress(t *testing.T) {
	message := ""
	httplimit.Middleware{
		Limiter: weir.Must(weir.New(roomy)), Key: httplimit.RemoteIP,
		Warn: func(_ httplimit.Check, m string) { message = m },
	}.Wrap(ok).ServeHTTP(&recorder{header: http.Header{}}, from("@"))
	assert.Equal(t, `Request.RemoteAddr is "@", must be an IP address, with or without a port: `+
		"over a Unix socket, set it in an outer handler", message)
}

// Each of the Limits is looked at.
func TestWiring_WarnsOfEachLimit(t *testing.T) {
	var w warnings
	limits := severalLimits(3)
	h := httplimit.Middleware{Limits: limits, Warn: w.warn}.Wrap(ok)
	for i := range 1000 {
		r := behind("10.0.0.1")(i)
		serve(h, r.WithContext(context.WithValue(r.Context(), userKey{}, "anonymous")))
	}
	assert.Equal(t, []httplimit.Check{httplimit.CheckForwarded, httplimit.CheckOneKey}, w.told)
}

func TestWiring_ChargedTwice(t *testing.T) {
	var w warnings
	l := weir.Must(weir.New(roomy))
	m := httplimit.Middleware{Limiter: l, Key: one, Warn: w.warn}
	type user struct{}
	addUser := func(next http.Handler) http.Handler { // makes another request, with the same header
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), user{}, "alice")))
		})
	}
	h := m.Wrap(addUser(m.Wrap(ok)))
	for range 3 {
		serve(h, request())
	}
	assert.Equal(t, []httplimit.Check{httplimit.CheckChargedTwice}, w.told)

	w.told = nil
	counted := m
	counted.Limiter = &struct{ *weir.KeyedLimiter }{l} // as one with metrics
	serve(counted.Wrap(counted.Wrap(ok)), request())
	assert.Equal(t, []httplimit.Check{httplimit.CheckChargedTwice}, w.told)

	m.Warn = noWarning(t)
	other := m
	other.Limiter = weir.Must(weir.New(roomy))
	mux := http.NewServeMux()
	mux.Handle("/a", m.Wrap(other.Wrap(ok)))
	mux.Handle("/b", m.Wrap(ok))
	for i := range 100 {
		serve(mux, httptest.NewRequest("GET", []string{"/a", "/b"}[i%2], nil))
	}
	twoKeys := []httplimit.Limit{{Name: "from", Limiter: l, Key: one}, {Name: "to", Limiter: l, Key: httplimit.RemoteIP}}
	h = httplimit.Middleware{Limits: twoKeys, Warn: noWarning(t)}.Wrap(ok)
	serve(h, request())
}

// Once the first requests were looked at, a check costs no allocation, and hardly any time. With
// InContext, a request costs three.
func TestWiring_CostsNothingLater(t *testing.T) {
	for inContext, want := range map[bool]float64{false: 0, true: 3} {
		h := httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), Key: one, InContext: inContext}.Wrap(http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) {}))
		w, r := &recorder{header: http.Header{}}, request()
		for range 1001 {
			h.ServeHTTP(w, r)
		}
		assert.Equal(t, want, kit.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }))
	}
}

// Without a Warn, warnings go to the default logger of log/slog.
func ExampleMiddleware_warn() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     httplimit.Pattern,
		Warn:    func(check httplimit.Check, message string) { fmt.Printf("%s: %s\n", check, message) },
	}
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", hello)
	show(limit.Wrap(mux), httptest.NewRequest("GET", "/items/1", nil)) // it should be limit.Wrap(hello) in the mux
	// Output:
	// pattern: the key is Pattern, and a request has none: wrap the handlers of the routes, and not the mux or router
	// 503
}
