package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// Every router that takes func(http.Handler) http.Handler takes Wrap.
var _ func(http.Handler) http.Handler = httplimit.Middleware{}.Wrap

func TestMiddleware_LimitsByAddressOnLoopback(t *testing.T) {
	l, clock := frozen(per(2, time.Minute))
	m := httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP}
	url, client := loopback(t, m.Wrap(ok))

	for _, want := range []int{200, 200, 429, 429} {
		resp, _ := do(t, client, "GET", url)
		assert.Equal(t, want, resp.StatusCode)
	}
	clock.Add(time.Minute)
	resp, body := do(t, client, "GET", url)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, "ok", body)
}

// Without Headers, an allowed request costs nothing at its writer. The benchmarks of connectlimit have
// none.
func TestMiddleware_WithoutHeadersTheWriterIsNotTouched(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	passed := false
	httplimit.Middleware{Limiter: l, Key: one}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		passed = true
	})).ServeHTTP(nil, request())
	assert.True(t, passed)
}

func TestMiddleware_SayWhatIsMissing(t *testing.T) {
	l, _ := frozen(per(1, time.Second))
	full := httplimit.Middleware{Limiter: l, Key: one}
	var noKeyed *weir.KeyedLimiter

	for name, c := range map[string]struct {
		change func(*httplimit.Middleware)
		says   string
	}{
		"no limiter":        {func(m *httplimit.Middleware) { m.Limiter = nil }, "Middleware.Limiter is nil"},
		"nil *KeyedLimiter": {func(m *httplimit.Middleware) { m.Limiter = noKeyed }, "Middleware.Limiter is nil"},
		"no key":            {func(m *httplimit.Middleware) { m.Key = nil }, "Middleware.Key is nil"},
		"negative wait":     {func(m *httplimit.Middleware) { m.MaxWait = -time.Second }, "Middleware.MaxWait is -1s"},
		"name":              {func(m *httplimit.Middleware) { m.Headers = httplimit.RateLimit{Name: "ä"} }, `RateLimit.Name is "ä"`},
		"policy": {
			func(m *httplimit.Middleware) { m.Headers = httplimit.RateLimit{Policy: weir.TokenBucket{}} },
			"TokenBucket.Limit is 0",
		},
	} {
		m := full
		c.change(&m)
		assert.Contains(t, panicOf(func() { m.Wrap(ok) }), c.says, name)
	}
	assert.Contains(t, panicOf(func() { full.Wrap(nil) }), "Wrap(nil)")

	all := panicOf(func() { httplimit.Middleware{}.Wrap(ok) })
	assert.Contains(t, all, "Limiter is nil")
	assert.Contains(t, all, "Key is nil", "every fault at once")
}

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return
}

func TestMiddleware_ChangesAfterWrapHaveNoEffect(t *testing.T) {
	l, _ := frozen(per(1, time.Second))
	m := &httplimit.Middleware{Limiter: l, Key: one}
	h := m.Wrap(ok)
	*m = httplimit.Middleware{Limiter: broken(errStore)}

	assert.Equal(t, 200, serve(h, request()).StatusCode)
	assert.Equal(t, 429, serve(h, request()).StatusCode)
}

func TestMiddleware_CostCountsAsEvents(t *testing.T) {
	l, _ := frozen(weir.TokenBucket{Limit: 10, Per: time.Minute})
	m := httplimit.Middleware{Limiter: l, Key: one, Cost: func(r *http.Request) int {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		return n
	}}
	url, client := loopback(t, m.Wrap(ok))

	for _, c := range []struct {
		n    string
		want int
	}{
		{"7", 200},
		{"4", 429}, // all or nothing: three are left
		{"3", 200},
		{"1", 429},
		{"0", 200},  // not limited
		{"-1", 503}, // no way to earn something back
		{"11", 429}, // more than ever fits
	} {
		resp, _ := do(t, client, "GET", url+"?n="+c.n)
		assert.Equal(t, c.want, resp.StatusCode, "n=%s", c.n)
	}
}

func TestMiddleware_CostOfNothingAsksNobody(t *testing.T) {
	m := httplimit.Middleware{
		Limiter: broken(errStore),
		Key:     func(*http.Request) (string, error) { return "", errStore },
		Cost:    func(*http.Request) int { return 0 },
	}
	assert.Equal(t, 200, serve(m.Wrap(ok), request()).StatusCode)
}

func TestMiddleware_SkipIsNotLimited(t *testing.T) {
	m := httplimit.Middleware{Limiter: broken(errStore), Headers: httplimit.RateLimit{}, Key: func(r *http.Request) (string, error) {
		return "", fmt.Errorf("health check: %w", httplimit.ErrSkip)
	}}
	resp := serve(m.Wrap(ok), request())
	assert.Equal(t, 200, resp.StatusCode)
	assert.NotContains(t, resp.Header, "Ratelimit")
}

func TestMiddleware_NoKeyIsNeitherUnlimitedNorOneBucket(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	m := httplimit.Middleware{Limiter: l, Key: httplimit.Header("X-Api-Key")}
	h := m.Wrap(ok)
	for range 3 {
		assert.Equal(t, 400, serve(h, request()).StatusCode)
	}
	assert.Equal(t, 200, serve(h, request("X-Api-Key", "a")).StatusCode)

	m.Key = func(*http.Request) (string, error) { return "", nil }
	assert.Equal(t, 400, serve(m.Wrap(ok), request()).StatusCode, "an empty key is none")
}

func TestMiddleware_FailedAndDeniedCanBeReplaced(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	var denied httplimit.Decision
	var failed error
	m := httplimit.Middleware{
		Limiter: l,
		Key:     httplimit.Header("X-Api-Key"),
		Denied: func(w http.ResponseWriter, r *http.Request, d httplimit.Decision) {
			denied = d
			http.Error(w, "slow down", http.StatusServiceUnavailable)
		},
		Failed: func(w http.ResponseWriter, r *http.Request, err error) {
			failed = err
			w.WriteHeader(http.StatusUnauthorized)
		},
	}
	h := m.Wrap(ok)

	assert.Equal(t, 401, serve(h, request()).StatusCode)
	assert.ErrorIs(t, failed, httplimit.ErrNoKey)

	assert.Equal(t, 200, serve(h, request("X-Api-Key", "a")).StatusCode)
	resp := serve(h, request("X-Api-Key", "a"))
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, time.Minute, denied.Result.RetryAfter)
	assert.Equal(t, "a", denied.Key)
	assert.Equal(t, "60", resp.Header.Get("Retry-After"))
	assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
}

func TestMiddleware_ObserveGetsEveryDecision(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	var got []httplimit.Decision
	m := httplimit.Middleware{
		Limiter: l,
		Key:     httplimit.Header("X-Api-Key"),
		Observe: func(_ *http.Request, d httplimit.Decision) { got = append(got, d) },
	}
	h := m.Wrap(ok)
	for _, r := range []*http.Request{request("X-Api-Key", "a"), request("X-Api-Key", "a"), request()} {
		serve(h, r)
	}
	require.Len(t, got, 3)
	assert.Equal(t, httplimit.Decision{
		Key: "a", Cost: 1, Result: weir.Result{Allowed: true, Limit: 1, ResetAfter: time.Minute},
	}, got[0])
	assert.False(t, got[1].Result.Allowed)
	assert.ErrorIs(t, got[2].Err, httplimit.ErrNoKey)
}

// The decision is one step of the limiter. Looking first and counting after it lets through what
// comes in between.
func TestP14_OneAtomicTakeDecides(t *testing.T) {
	var calls []int
	l := limiterFunc(func(n int) (weir.Result, error) {
		calls = append(calls, n)
		return weir.Result{Allowed: len(calls) == 1}, nil
	})
	h := middleware(l, httplimit.RateLimit{}).Wrap(ok)
	serve(h, request())
	assert.Equal(t, []int{1}, calls, "allowed")
	serve(h, request())
	assert.Equal(t, []int{1, 1}, calls, "denied")
}

func TestP14_ParallelClientsGetExactlyTheLimit(t *testing.T) {
	const limit, clients, each = 100, 16, 20
	l, _ := frozen(weir.TokenBucket{Limit: limit, Per: time.Hour})
	url, client := loopback(t, middleware(l, httplimit.RateLimit{}).Wrap(ok))

	var served, refused atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				resp, _ := do(t, client, "GET", url)
				switch resp.StatusCode {
				case 200:
					served.Add(1)
				case 429:
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, limit, served.Load())
	assert.EqualValues(t, clients*each-limit, refused.Load())
}

func TestMiddleware_RequestContextReachesTheLimiter(t *testing.T) {
	l, _ := frozen(per(1, time.Minute))
	h := middleware(l, nil).Wrap(ok)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.Equal(t, 503, serve(h, request().WithContext(ctx)).StatusCode)
	assert.Equal(t, 200, serve(h, request()).StatusCode, "it has counted nothing")
}

// A Wrapper is one Middleware, whatever it wraps.
func TestWrapper(t *testing.T) {
	var w warnings
	l, _ := frozen(per(3, time.Minute))
	wrap := httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP, Warn: w.warn}.Wrapper()
	for i := range 20 {
		status := http.StatusServiceUnavailable // no address
		r := from("@")
		if i%4 == 0 {
			status, r = http.StatusOK, from("192.0.2.1:1")
		}
		if i > 8 && i%4 == 0 {
			status = http.StatusTooManyRequests
		}
		body := fmt.Sprint("handler ", i)
		resp, got := served(wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, body)
		})), r)
		require.Equal(t, status, resp.StatusCode, i)
		require.Equal(t, status == http.StatusOK, got == body, "each goes to its own handler")
	}
	assert.Equal(t, []httplimit.Check{httplimit.CheckAddress}, w.told, "once")

	assert.PanicsWithError(t, "weir: Middleware.Limiter is nil, must be a Limiter", func() {
		httplimit.Middleware{Key: one}.Wrapper()
	})
	assert.PanicsWithError(t, "weir: Middleware.Wrap(nil), must be a handler", func() { wrap(nil) })
}
