package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// Two kinds of fields at once, one of them with names of its own, count a request once.
func TestHeaderSet(t *testing.T) {
	policy := weir.All(per(5, time.Minute), per(9, time.Hour))
	l, _ := frozen(policy)
	h := middleware(l, httplimit.HeaderSet{
		httplimit.OwnFields{Limit: "x-quota", Remaining: "X-Left", Reset: "X-Again"},
		httplimit.RateLimit{Policy: policy},
		httplimit.XRateLimit{},
	}).Wrap(ok)
	for _, remaining := range []string{"4", "3", "2", "1", "0", "0"} {
		resp := serve(h, request("Accept", "application/json"))
		assert.Equal(t, "5", resp.Header.Get("X-Quota"))
		assert.Equal(t, remaining, resp.Header.Get("X-Left"))
		assert.Equal(t, "60", resp.Header.Get("X-Again"))
		assert.Equal(t, remaining, resp.Header.Get("X-RateLimit-Remaining"))
		assert.Contains(t, resp.Header.Get("RateLimit"), `"sliding-log 5/1m";r=`+remaining+";t=60")
		if resp.StatusCode == http.StatusTooManyRequests {
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Contains(t, string(body), `"violated-policies":["sliding-log 5/1m"]`)
		}
	}
	assert.NotPanics(t, func() { middleware(l, httplimit.HeaderSet{}).Wrap(ok) })
}

func TestHeaderSet_Faults(t *testing.T) {
	l, _ := frozen(per(5, time.Minute))
	text := panicOf(func() {
		middleware(l, httplimit.HeaderSet{
			nil, httplimit.OwnFields{Limit: "a b", Remaining: "ü"}, httplimit.RateLimit{Name: "\n"},
		}).Wrap(ok)
	})
	for _, fault := range []string{
		"HeaderSet[0] is nil", `OwnFields.Limit is "a b", must be the name of a header field`,
		`OwnFields.Remaining is "ü"`, `OwnFields.Reset is ""`, "RateLimit.Name",
	} {
		assert.Contains(t, text, fault)
	}
}

// An outer limit has granted what an inner one denies. Beside the Retry-After of the inner one,
// nothing may remain of what the outer one has left.
func TestHeaders_NestedLimitsDoNotContradictADenial(t *testing.T) {
	outer, _ := frozen(per(30, time.Minute))
	inner, _ := frozen(per(1, time.Minute))
	all := httplimit.HeaderSet{httplimit.RateLimit{}, httplimit.LegacyRateLimit{}, httplimit.XRateLimit{}}
	for _, headers := range []httplimit.Headers{nil, httplimit.XRateLimit{}} {
		h := middleware(outer, all).Wrap(middleware(inner, headers).Wrap(ok))
		serve(h, request())
		resp := serve(h, request())
		assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		assert.Equal(t, "60", resp.Header.Get("Retry-After"))
		for _, name := range []string{"RateLimit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Limit"} {
			assert.Empty(t, resp.Header.Values(name), name)
		}
		if headers == nil {
			assert.Empty(t, resp.Header.Values("X-RateLimit-Remaining"))
		} else {
			assert.Equal(t, "0", resp.Header.Get("X-RateLimit-Remaining"))
		}
	}
}

// Fields with room for one limit tell of the one that leaves the least for the longest: a client
// that waits for it is served. A limit of which nothing is known hides no other.
func TestHeaders_OneOfSeveralLimits(t *testing.T) {
	store := new(kit.Faulty)
	store.Down.Store(true)
	trial := weir.Shadow(weir.Must(weir.New(per(5, time.Minute), weir.WithStore(store))), nil)
	for _, windows := range [][]time.Duration{{time.Minute, time.Hour}, {time.Hour, time.Minute}} {
		limits, _, mock := threeLimits(per(2, windows[0]), per(2, windows[1]), per(2, time.Minute))
		limits[2].Limiter = trial
		h := httplimit.Middleware{Limits: limits, Headers: httplimit.LegacyRateLimit{}}.Wrap(ok)
		for _, remaining := range []string{"1", "0"} {
			resp := serve(h, request())
			assert.Equal(t, 200, resp.StatusCode)
			assert.Equal(t, remaining, resp.Header.Get("RateLimit-Remaining"))
			assert.Equal(t, "3600", resp.Header.Get("RateLimit-Reset"))
		}
		mock.Add(time.Hour)
		assert.Equal(t, 200, serve(h, request()).StatusCode)
	}
}

func TestLegacyRateLimit(t *testing.T) {
	l, _ := frozen(per(2, time.Minute))
	url, client := loopback(t, middleware(l, httplimit.LegacyRateLimit{}).Wrap(ok))
	for _, remaining := range []string{"1", "0", "0"} {
		resp, _ := do(t, client, "GET", url)
		assert.Equal(t, "2", resp.Header.Get("RateLimit-Limit"))
		assert.Equal(t, remaining, resp.Header.Get("RateLimit-Remaining"))
		assert.Equal(t, "60", resp.Header.Get("RateLimit-Reset"))
		assert.NotContains(t, resp.Header, "Ratelimit")
	}
}

func TestXRateLimit_ResetIsUnixTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(per(2, time.Minute)))
		h := middleware(l, httplimit.XRateLimit{}).Wrap(ok)
		start := time.Now() // a whole second, as every bubble starts
		for _, c := range []struct {
			step      time.Duration
			remaining string
			reset     time.Duration
		}{
			{0, "1", time.Minute},
			{time.Nanosecond, "0", time.Minute}, // until the first has left
			{0, "0", time.Minute},               // denied
			{time.Minute - time.Nanosecond, "0", time.Minute + time.Second}, // until the second has left, rounded up
		} {
			time.Sleep(c.step)
			resp := serve(h, request())
			assert.Equal(t, "2", resp.Header.Get("X-RateLimit-Limit"))
			assert.Equal(t, c.remaining, resp.Header.Get("X-RateLimit-Remaining"))
			assert.Equal(t, strconv.FormatInt(start.Add(c.reset).Unix(), 10), resp.Header.Get("X-RateLimit-Reset"))
		}
	})
}

func TestHeaders_NoneSetsNone(t *testing.T) {
	resp := serve(middleware(answering(weir.Result{Allowed: true, Limit: 1}), nil).Wrap(ok), request())
	assert.Len(t, resp.Header, 1, "the recorder's Content-Type")
	resp = serve(middleware(denied(time.Second), nil).Wrap(ok), request())
	for name := range resp.Header {
		assert.NotContains(t, name, "Ratelimit")
	}
}

// An upload that waits for a 100 gets one from a server behind a proxy. httputil.ReverseProxy passes
// it on and clears the header, unless the server is not asked to send one.
func TestHeaders_ReverseProxyAndExpect(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer backend.Close()
	to, err := url.Parse(backend.URL)
	require.NoError(t, err)
	upload := func(expects bool) http.Header {
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			if !expects {
				r.Out.Header.Del("Expect")
			}
		}}
		l, _ := frozen(per(9, time.Minute))
		s := httptest.NewServer(middleware(l, httplimit.RateLimit{}).Wrap(proxy))
		defer s.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL, strings.NewReader("hello"))
		require.NoError(t, err)
		r.Header.Set("Expect", "100-continue")
		resp, err := s.Client().Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		return resp.Header
	}
	assert.NotContains(t, upload(true), "Ratelimit", "docs/http.md says so")
	assert.Equal(t, `"default";r=8;t=60`, upload(false).Get("RateLimit"))
}
