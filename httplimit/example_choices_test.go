package httplimit_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// The functions here are the lines to copy of docs/http.md.

// newService has a limit for all requests except health checks, and a stricter one for one route.
func newService(search, health http.Handler) http.Handler {
	all := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key: func(r *http.Request) (string, error) {
			if r.URL.Path == "/health" {
				return "", httplimit.ErrSkip
			}
			return httplimit.RemoteIP(r)
		},
	}
	searches := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
	}
	mux := http.NewServeMux()
	mux.Handle("GET /search", searches.Wrap(search))
	mux.Handle("GET /health", health)
	return all.Wrap(mux)
}

// newUpload limits by a key and a cost that only the handler knows. mayUpload reports whether the
// client may use the project. Without it, a client could use up the allowance of any project.
func newUpload(mayUpload func(r *http.Request, project string) bool) http.Handler {
	limit := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Minute})),
	}.Checker()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var upload struct {
			Project string
			Rows    []string
		}
		body := http.MaxBytesReader(w, r.Body, 1<<20)
		if json.NewDecoder(body).Decode(&upload) != nil || upload.Project == "" {
			http.Error(w, "the body must have a Project and Rows", http.StatusBadRequest)
			return
		}
		if !mayUpload(r, upload.Project) {
			http.Error(w, "no such project", http.StatusNotFound)
			return
		}
		if !limit.Check(w, r, upload.Project, 1+len(upload.Rows)) { // an empty upload is not free
			return // Check has answered
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// clientsBehind returns a KeyFunc for each of several kinds of proxies.
func clientsBehind() map[string]httplimit.KeyFunc {
	nginx := netip.MustParsePrefix("10.0.0.7/32")    // its address
	balancer := netip.MustParsePrefix("10.1.0.0/16") // the subnets that it is in
	cdn := netip.MustParsePrefix("198.51.100.0/24")  // one of the ranges that it publishes
	return map[string]httplimit.KeyFunc{
		"nothing":                      httplimit.RemoteIP,
		"nginx, HAProxy":               httplimit.ForwardedIP(nginx),
		"nginx behind a balancer":      httplimit.ForwardedIP(nginx, balancer),
		"a proxy that sends Forwarded": httplimit.ForwardedHeader(nginx),
		"a CDN":                        httplimit.HeaderIP("CF-Connecting-IP", cdn),
		"nginx behind a CDN":           httplimit.ForwardedIP(nginx, cdn),
		"two proxies at any address":   httplimit.ClientIP{Hops: 2}.ForwardedIP(),
	}
}

// contextUser is the key under which the authentication puts the user into the context.
type contextUser struct{}

// limitUsers limits the requests of each user by the user's plan.
func limitUsers(isPaying func(user string) bool, next http.Handler) http.Handler {
	free := weir.TokenBucket{Limit: 60, Per: time.Minute}
	paid := weir.TokenBucket{Limit: 6000, Per: time.Minute}
	plan := func(_ context.Context, user string) weir.Policy {
		if isPaying(user) {
			return paid
		}
		return free
	}
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(free, weir.WithPolicyFor(plan))),
		Key:     httplimit.ContextValue(contextUser{}),
		Headers: httplimit.RateLimit{Name: "user"},
	}.Wrap(next)
}

// limitRoutes limits each user on each route by the user's plan. Users without one have the free
// plan. The key also has the route in it, so the plan function finds the user in the context.
func limitRoutes(plans map[string]weir.Policy, next http.Handler) http.Handler {
	free := weir.TokenBucket{Limit: 60, Per: time.Minute}
	plan := func(ctx context.Context, _ string) weir.Policy {
		user, _ := ctx.Value(contextUser{}).(string)
		return plans[user] // nil stands for the policy given to New
	}
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(free, weir.WithPolicyFor(plan))),
		Key:     httplimit.Join(httplimit.Pattern, httplimit.ContextValue(contextUser{})),
		Headers: httplimit.RateLimit{Name: "route"},
	}.Wrap(next)
}

// limitTogether limits each request by address, by user and for all. The tokens of a user are
// counted apart from the requests.
func limitTogether(tokens func(*http.Request) int, next http.Handler) http.Handler {
	user := httplimit.ContextValue(contextUser{})
	return httplimit.Middleware{
		Limits: []httplimit.Limit{
			{
				Name: "address", Key: httplimit.RemoteIP,
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 300, Per: time.Minute})),
			},
			{
				Name: "user", Key: user,
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 60, Per: time.Minute})),
			},
			{
				Name: "tokens", Key: user, Cost: tokens,
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 20_000, Per: time.Minute})),
			},
			{
				Name: "service", Key: httplimit.Everyone,
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Second})),
			},
		},
		Headers: httplimit.RateLimit{},
	}.Wrap(next)
}

// limitDownloads limits the bytes that are sent to an address. A download goes through if 1 MiB is
// left, whatever its size. If it was larger than what was left, the next downloads are denied until
// it is paid. Until a download has ended, it counts as its Cost, 1 MiB: an address can start 100 of
// them at the same instant, and no more.
func limitDownloads(files http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100 << 20, Per: time.Hour})),
		Key:     httplimit.RemoteIP,
		Cost:    func(*http.Request) int { return 1 << 20 },
		Settle:  func(_ *http.Request, _ int, bytes int64) int { return int(bytes) },
		Headers: httplimit.RateLimit{Name: "download", Unit: "content-bytes"},
	}.Wrap(files)
}

// limitReports holds requests back until their turn. One request at most passes each second. A
// request whose turn would come after more than five seconds is denied.
func limitReports(report http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 10})),
		Key:     httplimit.Everyone,
		MaxWait: 5 * time.Second,
	}.Wrap(report)
}

// limitWithAnswers sets the answers itself, and logs the decisions.
func limitWithAnswers(next http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
		Headers: httplimit.HeaderSet{httplimit.RateLimit{Name: "api"}, httplimit.XRateLimit{}},
		Denied: func(w http.ResponseWriter, r *http.Request, d httplimit.Decision) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "<p>Please slow down.</p>")
		},
		Observe: func(r *http.Request, d httplimit.Decision) {
			if d.Err != nil || !d.Result.Allowed {
				slog.WarnContext(r.Context(), "limit", "name", d.Name, "retry", d.Result.RetryAfter, "err", d.Err)
			}
		},
	}.Wrap(next)
}

// limitWithWarnings calls warned for the warnings of its wiring, and leaves one check out.
func limitWithWarnings(warned func(check string), next http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter:   weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
		Key:       httplimit.RemoteIP,
		Warn:      func(check httplimit.Check, message string) { warned(string(check)) },
		Unchecked: []httplimit.Check{httplimit.CheckProxyKey},
	}.Wrap(next)
}

// Time stands still in it: what comes back while it runs would be told.
func TestChoices(t *testing.T) { synctest.Test(t, testChoices) }

func testChoices(t *testing.T) {
	service := newService(ok, ok)
	get := func(path string) int { return serve(service, httptest.NewRequest("GET", path, nil)).StatusCode }
	for range 10 {
		assert.Equal(t, 200, get("/search"))
	}
	assert.Equal(t, 429, get("/search"))
	assert.Equal(t, 200, get("/health"))

	upload := newUpload(func(_ *http.Request, project string) bool { return project == "p" })
	post := func(project string, rows int) int {
		body, err := json.Marshal(map[string]any{"Project": project, "Rows": make([]string, rows)})
		require.NoError(t, err)
		return serve(upload, httptest.NewRequest("POST", "/", strings.NewReader(string(body)))).StatusCode
	}
	assert.Equal(t, []int{204, 429, 404, 204}, []int{post("p", 900), post("p", 200), post("q", 50), post("p", 97)})
	assert.Equal(t, []int{204, 429}, []int{post("p", 0), post("p", 0)})
	assert.Equal(t, 400, serve(upload, request()).StatusCode)

	for name, c := range map[string]struct {
		request *http.Request
	}{
		"nothing":                      {from("203.0.113.9:1")},
		"nginx, HAProxy":               {from("10.0.0.7:1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9")},
		"nginx behind a balancer":      {from("10.0.0.7:1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9, 10.1.2.3")},
		"a proxy that sends Forwarded": {from("10.0.0.7:1", "Forwarded", "for=1.1.1.1, for=203.0.113.9")},
		"nginx behind a CDN":           {from("10.0.0.7:1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9, 198.51.100.1")},
		"a CDN":                        {from("198.51.100.1:1", "CF-Connecting-IP", "203.0.113.9")},
		"two proxies at any address":   {from("192.0.2.1:1", "X-Forwarded-For", "1.1.1.1, 203.0.113.9, 192.0.2.2")},
	} {
		key, err := clientsBehind()[name](c.request)
		require.NoError(t, err)
		assert.Equal(t, "203.0.113.9", key, name)
	}

	asUser := func(name string) *http.Request {
		r := request()
		return r.WithContext(context.WithValue(r.Context(), contextUser{}, name))
	}
	users := limitUsers(func(user string) bool { return user == "paul" }, ok)
	assert.Equal(t, `"user";q=6000;w=60`, serve(users, asUser("paul")).Header.Get("RateLimit-Policy"))
	assert.Equal(t, `"user";q=60;w=60`, serve(users, asUser("fred")).Header.Get("RateLimit-Policy"))

	routes := http.NewServeMux()
	routes.Handle("/search", limitRoutes(map[string]weir.Policy{"paul": weir.TokenBucket{Limit: 6000, Per: time.Minute}}, ok))
	search := func(user string) *http.Response {
		r := asUser(user)
		r.URL.Path = "/search"
		return serve(routes, r)
	}
	assert.Equal(t, `"route";q=6000;w=60`, search("paul").Header.Get("RateLimit-Policy"))
	assert.Equal(t, `"route";q=60;w=60`, search("fred").Header.Get("RateLimit-Policy"))

	together := limitTogether(func(*http.Request) int { return 15_000 }, ok)
	assert.Equal(t, 200, serve(together, asUser("fred")).StatusCode)
	resp := serve(together, asUser("fred"))
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, `"tokens";r=5000;t=30`, resp.Header.Get("RateLimit"))

	downloads := limitDownloads(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for range 101 {
			_, _ = w.Write(part)
		}
	}))
	first := forgetful{httptest.NewRecorder()}
	downloads.ServeHTTP(first, request())
	assert.Equal(t, `"download";q=104857600;qu="content-bytes";w=3600`, first.Result().Header.Get("RateLimit-Policy"))
	assert.Equal(t, 429, serve(downloads, request()).StatusCode)
	started := 0
	downloads = limitDownloads(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		started++
		serve(downloads, request()) // one more, before this one has ended
	}))
	serve(downloads, request())
	assert.Equal(t, 100, started)

	assert.Equal(t, 200, serve(limitReports(ok), request()).StatusCode)
	assert.Equal(t, `"api";r=99;t=1`, serve(limitWithAnswers(ok), request()).Header.Get("RateLimit"))
	var warned []string
	h := limitWithWarnings(func(check string) { warned = append(warned, check) }, ok)
	for range 10 {
		serve(h, from("10.0.0.1:1", "X-Forwarded-For", "203.0.113.9"))
	}
	assert.Equal(t, []string{"forwarded"}, warned)
}
