package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// checking is a handler that checks the key in X-Key, for as many events as X-N tells.
func checking(c *httplimit.Checker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 1
		_, _ = fmt.Sscan(r.Header.Get("X-N"), &n)
		if c.Check(w, r, r.Header.Get("X-Key"), n) {
			ok(w, r)
		}
	})
}

// A Check sets the same headers as a Middleware, and gives the same answers.
func TestCheck_AnswersAsMiddleware(t *testing.T) {
	synctest.Test(t, testCheckAnswersAsMiddleware) // the time in X-RateLimit-Reset stands still
}

func testCheckAnswersAsMiddleware(t *testing.T) {
	newBoth := func(m httplimit.Middleware) (check, wrap http.Handler) {
		policy := weir.TokenBucket{Limit: 5, Per: time.Minute}
		m.Limiter, _ = frozen(policy)
		check = checking(m.Checker())
		m.Limiter, _ = frozen(policy)
		m.Key = httplimit.Header("X-Key")
		m.Cost = func(r *http.Request) int {
			n := 1
			_, _ = fmt.Sscan(r.Header.Get("X-N"), &n)
			return n
		}
		return check, m.Wrap(ok)
	}
	for name, m := range map[string]httplimit.Middleware{
		"headers": {Headers: httplimit.HeaderSet{httplimit.RateLimit{Name: "api"}, httplimit.XRateLimit{}}},
		"plain":   {},
		"denied": {Denied: func(w http.ResponseWriter, _ *http.Request, d httplimit.Decision) {
			http.Error(w, d.Result.RetryAfter.String(), http.StatusServiceUnavailable)
		}},
		"failed": {Failed: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "no", http.StatusUnauthorized)
		}},
	} {
		check, wrap := newBoth(m)
		for _, fields := range [][]string{
			{"X-Key", "a"},
			{"X-Key", "a", "X-N", "4"},
			{"X-Key", "a"},
			{"X-Key", "b", "X-N", "6"},
			{"X-Key", "a", "X-N", "0"},
			{},
			{"X-Key", "a", "X-N", "-1"},
			{"X-Key", "a", "Accept", "text/plain"},
		} {
			got, gotBody := served(check, request(fields...))
			want, wantBody := served(wrap, request(fields...))
			assert.Equal(t, want.StatusCode, got.StatusCode, "%s %q", name, fields)
			assert.Equal(t, want.Header, got.Header, "%s %q", name, fields)
			assert.Equal(t, wantBody, gotBody, "%s %q", name, fields)
		}
	}
}

// The rest of a cost that is in the body is taken by a Check of the same limit: the fields tell the
// state after it, once.
func TestCheck_AfterMiddlewareOfTheSameLimit(t *testing.T) {
	l, _ := frozen(per(10, time.Minute))
	outer, _ := frozen(per(99, time.Minute))
	m := httplimit.Middleware{Limiter: l, Key: one, Headers: httplimit.RateLimit{Name: "api"}, Warn: noWarning(t)}
	check := m.Checker()
	h := middleware(outer, httplimit.RateLimit{Name: "outer"}).Wrap(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 2 {
			if !check.Check(w, r, "one", 3) {
				return
			}
		}
	})))
	policies, limits := fieldsOf(t, serve(h, request()).Header)
	assert.Equal(t, []item{{"outer", map[string]int64{"q": 99, "w": 60}}, {"api", map[string]int64{"q": 10, "w": 60}}}, policies)
	assert.Equal(t, []item{{"outer", map[string]int64{"r": 98, "t": 60}}, {"api", map[string]int64{"r": 3, "t": 60}}}, limits)
	resp := serve(h, request())
	assert.Equal(t, 429, resp.StatusCode)
	policies, limits = fieldsOf(t, resp.Header)
	assert.Len(t, policies, 2)
	assert.Equal(t, []item{{"api", map[string]int64{"r": 2, "t": 60}}}, limits)
}

// A Check replaces the member of its own limit in a list of several, wherever it stands.
func TestCheck_AfterSeveralLimits(t *testing.T) {
	for _, names := range [][]string{{"user", "service"}, {"service", "user"}} {
		user, _ := frozen(per(10, time.Minute))
		service, _ := frozen(per(99, time.Minute))
		limiters := map[string]weir.Limiter{"user": user, "service": service}
		m := httplimit.Middleware{Headers: httplimit.RateLimit{}, Warn: noWarning(t)}
		for _, name := range names {
			m.Limits = append(m.Limits, httplimit.Limit{Name: name, Limiter: limiters[name], Key: one})
		}
		check := middleware(user, httplimit.RateLimit{Name: "user"}).Checker()
		policies, limits := fieldsOf(t, serve(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			check.Check(w, r, "one", 3)
		})), request()).Header)
		assert.Equal(t, []item{{"service", map[string]int64{"q": 99, "w": 60}}, {"user", map[string]int64{"q": 10, "w": 60}}}, policies)
		assert.Equal(t, []item{{"service", map[string]int64{"r": 98, "t": 60}}, {"user", map[string]int64{"r": 6, "t": 60}}}, limits)
	}
}

// A Check replaces what one of the same limit has written, and nothing else, whatever is in a name.
func TestCheck_NamesAreToldApart(t *testing.T) {
	w := httptest.NewRecorder()
	var checks []*httplimit.Checker
	for _, name := range []string{`a;b`, `a;c`, `a`, `a", "b`, `a\`, `a";b`} {
		l, _ := frozen(per(5, time.Minute))
		checks = append(checks, middleware(l, httplimit.RateLimit{Name: name}).Checker())
	}
	for want := 4; want > 1; want-- {
		for _, c := range checks {
			require.True(t, c.Check(w, request(), "k", 1))
		}
		_, limits := fieldsOf(t, w.Header())
		require.Len(t, limits, len(checks))
		for _, limit := range limits {
			assert.EqualValues(t, want, limit.params["r"], limit.name)
		}
	}
}

// A handler may have said how long its answer is before it checks. That of the denial is another.
func TestCheck_LengthOfTheDenial(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	check := httplimit.Middleware{Limiter: l}.Checker()
	url, client := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		if check.Check(w, r, "one", 1) {
			ok(w, r)
		}
	}))
	_, body := do(t, client, "GET", url)
	assert.Equal(t, "ok", body)
	resp, body := do(t, client, "GET", url, "Accept", "text/plain")
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "Quota Exceeded: too many requests, try again after the time in Retry-After\n", body)
}

func TestCheck_HoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := queue(10, time.Second)
		h := checking(m.Checker())
		start := time.Now()
		for _, want := range []time.Duration{0, time.Second} {
			assert.Equal(t, 200, serve(h, request("X-Key", "a")).StatusCode)
			assert.Equal(t, want, time.Since(start))
		}
	})
}

func TestCheck_Allocations(t *testing.T) {
	c := httplimit.Middleware{Limiter: weir.Must(weir.New(roomy)), Headers: httplimit.RateLimit{}}.Checker()
	w, r := &recorder{header: http.Header{}}, request()
	require.LessOrEqual(t, kit.AllocsPerRun(1000, func() {
		w.reset()
		c.Check(w, r, "a", 1)
	}), 2.0)
}
