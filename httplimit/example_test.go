package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// show prints the answer of a handler to a request.
func show(h http.Handler, r *http.Request) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("RateLimit"))))
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") })

// Each client address may send two requests a minute.
func Example() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
	}
	handler := limit.Wrap(hello)

	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d, try again after %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, try again after ""
	// 200, try again after ""
	// 429, try again after "60"
}

// RateLimit reports the limit and its state to clients.
func ExampleRateLimit() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
		Headers: httplimit.RateLimit{Name: "api"},
	}
	handler := limit.Wrap(hello)

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	fmt.Println(w.Header().Get("RateLimit"))
	// Output:
	// "api";q=2;w=60
	// "api";r=1;t=60
}

// Logins are limited by address, in a service behind its own proxies.
func ExampleForwardedIP() {
	login := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Minute})),
		Key:     httplimit.ForwardedIP(netip.MustParsePrefix("10.0.0.0/24")),
	}
	mux := http.NewServeMux()
	mux.Handle("POST /login", login.Wrap(hello))

	try := func(forwardedFor string) {
		r := httptest.NewRequest("POST", "/login", nil)
		r.RemoteAddr = "10.0.0.7:55555" // the proxy, which appends the address of its client
		r.Header.Set("X-Forwarded-For", forwardedFor)
		show(mux, r)
	}
	try("203.0.113.9")
	try("198.51.100.1, 203.0.113.9") // one that the client made up, and the client's own
	try("203.0.113.8")
	// Output:
	// 200
	// 429
	// 200
}

// Clients behind a proxy are limited by address. The clients of one network are not limited.
func ExampleClientIP() {
	clients := httplimit.ClientIP{
		IPv6Bits: 56, // in many countries a subscriber has a /56
		Proxies:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
		Skip:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	}
	key := clients.ForwardedIP()

	for _, client := range []string{"2001:db8:0:12ab::1", "203.0.113.9", "192.0.2.7"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.7:55555" // the proxy
		r.Header.Set("X-Forwarded-For", client)
		fmt.Println(key(r))
	}
	// Output:
	// 2001:db8:0:1200::/56 <nil>
	// 203.0.113.9 <nil>
	//  the request is not limited
}

// Requests are limited by API key, or by address if they have no key. If clients can make up API
// keys, add a limit by address in front of this one.
func ExampleOr() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Minute})),
		Key:     httplimit.Or(httplimit.Header("X-API-Key"), httplimit.RemoteIP),
	}
	handler := limit.Wrap(hello)

	for _, apiKey := range []string{"blue", "blue", "red", "", ""} {
		r := httptest.NewRequest("GET", "/", nil)
		if apiKey != "" {
			r.Header.Set("X-API-Key", apiKey)
		}
		show(handler, r)
	}
	// Output:
	// 200
	// 429
	// 200
	// 200
	// 429
}

// Each user has an allowance for each route. The handler that authenticates finds the user.
func ExampleJoin() {
	type userKey struct{}
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     httplimit.Join(httplimit.Pattern, httplimit.ContextValue(userKey{})),
	}
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", limit.Wrap(hello))

	authenticated := context.WithValue(context.Background(), userKey{}, "alice")
	show(mux, httptest.NewRequestWithContext(authenticated, "GET", "/items/1", nil))
	// Output: 200
}

// A search for many results counts as more events than a search for few.
func ExampleMiddleware_cost() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
		Cost: func(r *http.Request) int {
			results, err := strconv.Atoi(r.URL.Query().Get("results"))
			if err != nil || results < 10 {
				return 1
			}
			return results / 10
		},
		Headers: httplimit.RateLimit{},
	}
	handler := limit.Wrap(hello)

	show(handler, httptest.NewRequest("GET", "/search?results=5000", nil)) // more than is ever granted: no Retry-After
	show(handler, httptest.NewRequest("GET", "/search?results=300", nil))
	// Output:
	// 429 "default";r=100;t=0
	// 200 "default";r=70;t=1
}

// The requests to a slow device take turns. If the turn of a request would come in more than two
// seconds, it is refused at once.
func ExampleMiddleware_maxWait() {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 5, Per: time.Second, Capacity: 10})),
		Key:     func(*http.Request) (string, error) { return "printer", nil },
		MaxWait: 2 * time.Second,
	}
	show(limit.Wrap(hello), httptest.NewRequest("POST", "/print", nil))
	// Output: 200
}

// Observe logs every decision. Denied replaces the answer.
func ExampleMiddleware_observe() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Minute})),
		Key: func(r *http.Request) (string, error) {
			if r.URL.Path == "/health" {
				return "", httplimit.ErrSkip
			}
			return httplimit.RemoteIP(r)
		},
		Observe: func(r *http.Request, d httplimit.Decision) {
			log.Info("limit", "key", d.Key, "allowed", d.Result.Allowed, "remaining", d.Result.Remaining)
		},
		Denied: func(w http.ResponseWriter, _ *http.Request, d httplimit.Decision) {
			http.Error(w, "Come back in "+d.Result.RetryAfter.String(), http.StatusTooManyRequests)
		},
	}
	handler := limit.Wrap(hello)
	for _, path := range []string{"/", "/health", "/"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	// Output:
	// level=INFO msg=limit key=192.0.2.1 allowed=true remaining=0
	// level=INFO msg=limit key=192.0.2.1 allowed=false remaining=0
}

// A client sends each host at most five requests a second, and obeys Retry-After.
func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	client := &http.Client{
		Transport: &httplimit.Transport{
			Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 5, Per: time.Second})),
		},
		Timeout: 10 * time.Second,
	}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.Status)

	_, err = client.Get(server.URL) // fails at once: held back for longer than the Timeout
	fmt.Println(errors.Is(err, weir.ErrTooLate))
	// Output:
	// 503 Service Unavailable
	// true
}

// Each part of a composed policy is listed under its text.
func ExampleRateLimit_composed() {
	policy := weir.All(
		weir.TokenBucket{Limit: 300, Per: time.Minute},
		weir.TokenBucket{Limit: 15_750, Per: time.Hour},
	)
	handler := httplimit.Middleware{
		Limiter: weir.Must(weir.New(policy)),
		Key:     httplimit.RemoteIP,
		Headers: httplimit.RateLimit{},
	}.Wrap(http.NotFoundHandler())

	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(answer.Header().Get("RateLimit-Policy"))
	fmt.Println(answer.Header().Get("RateLimit"))

	// Output:
	// "300/1m";q=300;w=60, "15750/1h";q=15750;w=3600
	// "300/1m";r=299;t=1, "15750/1h";r=15749;t=1
}
