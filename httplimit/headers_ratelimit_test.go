package httplimit_test

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func TestRateLimit_OverTheWire(t *testing.T) {
	policy := weir.TokenBucket{Limit: 100, Per: time.Minute}
	l, _ := frozen(policy)
	_, err := l.Take(context.Background(), "one", 49)
	require.NoError(t, err)
	url, client := loopback(t, middleware(l, httplimit.RateLimit{Policy: policy}).Wrap(ok))

	resp, _ := do(t, client, "GET", url)
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, `"default";q=100;w=60`, resp.Header.Get("RateLimit-Policy"))
	assert.Equal(t, `"default";r=50;t=1`, resp.Header.Get("RateLimit"), "the next token is earned in 0.6 s")

	policies, limits := fieldsOf(t, resp.Header)
	assert.Equal(t, []item{{"default", map[string]int64{"q": 100, "w": 60}}}, policies)
	assert.Equal(t, []item{{"default", map[string]int64{"r": 50, "t": 1}}}, limits)
}

// The handler sees the fields, and can change them.
func TestRateLimit_IsSetBeforeTheHandlerRuns(t *testing.T) {
	h := middleware(answering(weir.Result{Allowed: true, Limit: 5, Remaining: 4}), httplimit.RateLimit{})
	resp := serve(h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, `"default";r=4;t=0`, w.Header().Get("RateLimit"))
		w.Header().Del("RateLimit-Policy")
	})), request())
	assert.NotContains(t, resp.Header, "Ratelimit-Policy")
}

func TestRateLimit_Names(t *testing.T) {
	name := func(s string) string {
		h := middleware(answering(weir.Result{Allowed: true, Limit: 1}), httplimit.RateLimit{Name: s}).Wrap(ok)
		policy, limit := fieldsOf(t, serve(h, request()).Header)
		assert.Equal(t, policy[0].name, limit[0].name)
		return limit[0].name
	}
	assert.Equal(t, "default", name(""))
	for _, s := range []string{"login", "a b", `"`, `\`, `\"`, `a;q=1, "b"`, " ", "~", strings.Repeat("x", 300)} {
		assert.Equal(t, s, name(s))
	}
	for _, s := range []string{"\n", "\x7f", "ü", "a\x00", "\t", "a\r\nSet-Cookie: b"} {
		assert.Contains(t, panicOf(func() { name(s) }), "must be printable ASCII", "%q", s)
	}
}

// w is the time in which the whole of q comes back.
func TestRateLimit_Window(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.TokenBucket{Limit: 100, Per: time.Minute}, `"default";q=100;w=60`},
		{weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 20}, `"default";q=20;w=12`},
		{weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 20}, `"default";q=20;w=3`}, // 2.86 s
		{weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 3}, `"default";q=3;w=10800`},
		{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}, `"default";q=50;w=5`},
		{weir.FixedWindow{Limit: 5, Per: time.Hour}, `"default";q=5;w=3600`},
		{weir.FixedWindow{Limit: 5, Per: time.Hour, FromFirst: true}, `"default";q=5;w=3600`},
		{weir.SlidingWindow{Limit: 5, Per: time.Hour}, `"default";q=5;w=3600`},
		{weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 60}, `"default";q=5;w=3600`},
		{&weir.SlidingWindow{Limit: 5, Per: time.Hour}, `"default";q=5;w=3600`},
		{weir.CalendarWindow{Limit: 5, Unit: weir.Minute}, `"default";q=5;w=60`},
		{weir.CalendarWindow{Limit: 5, Unit: weir.Hour}, `"default";q=5;w=3600`},
		{weir.CalendarWindow{Limit: 5, Unit: weir.Day, Location: "Asia/Kolkata"}, `"default";q=5;w=86400`},
		{weir.CalendarWindow{Limit: 5, Unit: weir.Week}, `"default";q=5;w=604800`},
		{weir.CalendarWindow{Limit: 5, Unit: weir.Month, Start: 15}, `"default";q=5;w=2678400`},
		{&weir.CalendarWindow{Limit: 5, Unit: weir.Year, Start: 7}, `"default";q=5;w=31622400`},
		{weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 5}, Excess: 9}, `"default";q=9;w=9`},
		{weir.SlidingLog{Limit: 5, Per: time.Hour}, `"default";q=5;w=3600`},
		{weir.SlidingLog{Limit: 5, Per: time.Millisecond}, `"default";q=5;w=1`}, // no fractions, never 0
		{weir.SlidingLog{Limit: 1, Per: math.MaxInt64}, `"default";q=1;w=9223372037`},
	} {
		l, _ := frozen(c.policy)
		h := middleware(l, httplimit.RateLimit{Policy: c.policy}).Wrap(ok)
		assert.Equal(t, c.want, serve(h, request()).Header.Get("RateLimit-Policy"), "%+v", c.policy)
	}
	h := middleware(answering(weir.Result{Allowed: true, Limit: 5}), httplimit.RateLimit{}).Wrap(ok)
	assert.Equal(t, `"default";q=5`, serve(h, request()).Header.Get("RateLimit-Policy"), "no policy, no w")
}

// A client that spreads q evenly over w is never refused, whenever it starts.
func TestRateLimit_SpreadOverTheWindow(t *testing.T) {
	start := time.Date(2027, time.December, 13, 11, 47, 0, 0, time.UTC)
	for _, unit := range []weir.Unit{weir.Minute, weir.Hour, weir.Day, weir.Week, weir.Month, weir.Year} {
		p := weir.CalendarWindow{Limit: 20, Unit: unit}
		l, clock := frozen(p)
		clock.Set(start)
		h := middleware(l, httplimit.RateLimit{Policy: p}).Wrap(ok)
		for range 70 {
			resp := serve(h, request())
			require.Equal(t, 200, resp.StatusCode, "%v", p)
			policy, _ := fieldsOf(t, resp.Header)
			clock.Add(time.Duration(policy[0].params["w"]) * time.Second / time.Duration(policy[0].params["q"]))
		}
	}
}

// A nil pointer is as no policy.
func TestRateLimit_NilPointer(t *testing.T) {
	h := middleware(answering(weir.Result{Allowed: true, Limit: 5}), httplimit.RateLimit{Policy: (*weir.TokenBucket)(nil)}).Wrap(ok)
	assert.Equal(t, `"default";q=5`, serve(h, request()).Header.Get("RateLimit-Policy"))
}

// If the limiter's limit is not that of the policy, because it has been changed, q is the
// limiter's.
func TestRateLimit_QuotaIsTheLimiters(t *testing.T) {
	h := middleware(answering(weir.Result{Allowed: true, Limit: 7}), httplimit.RateLimit{Policy: per(5, time.Minute)}).Wrap(ok)
	assert.Equal(t, `"default";q=7;w=60`, serve(h, request()).Header.Get("RateLimit-Policy"))
}

func TestP25_NumbersThatAFieldCanHold(t *testing.T) {
	h := middleware(answering(weir.Result{
		Allowed: true, Limit: math.MaxInt, Remaining: -7, ResetAfter: -time.Second,
	}), httplimit.RateLimit{}).Wrap(ok)
	policy, limit := fieldsOf(t, serve(h, request()).Header)
	assert.Equal(t, min(math.MaxInt, int64(999_999_999_999_999)), policy[0].params["q"]) // int may have 32 bits
	assert.Equal(t, map[string]int64{"r": 0, "t": 0}, limit[0].params)
}

// t and Retry-After are the same on a denial, so Retry-After is never earlier. On an allowed answer
// t is when more events remain, rounded up.
func TestRateLimit_EffectiveWindow(t *testing.T) {
	l, clock := frozen(per(2, time.Minute))
	h := middleware(l, httplimit.RateLimit{}).Wrap(ok)
	for _, c := range []struct {
		step      time.Duration
		r, t      int64
		retryFrom string
	}{
		{0, 1, 60, ""},
		{20*time.Second + 1, 0, 40, ""}, // 39.999999999 s, until the first has left
		{10 * time.Second, 0, 30, "30"},
		{0, 0, 30, "30"},
		{30 * time.Second, 0, 20, ""}, // until the second has left
	} {
		clock.Add(c.step)
		resp := serve(h, request())
		_, limit := fieldsOf(t, resp.Header)
		assert.Equal(t, map[string]int64{"r": c.r, "t": c.t}, limit[0].params)
		assert.Equal(t, c.retryFrom, resp.Header.Get("Retry-After"))
	}
}

// A client that uses no more than r within t is never refused.
func TestRateLimit_WhatRemainsInTheWindowIsServed(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: time.Minute},
		weir.FixedWindow{Limit: 10, Per: time.Minute},
		weir.SlidingWindow{Limit: 10, Per: time.Minute},
		per(10, time.Minute),
	} {
		l, clock := frozen(p)
		h := middleware(l, httplimit.RateLimit{}).Wrap(ok)
		for range 20 {
			resp := serve(h, request())
			require.Equal(t, 200, resp.StatusCode, "%T", p)
			_, limit := fieldsOf(t, resp.Header)
			if r := limit[0].params["r"]; r > 0 {
				continue
			}
			clock.Add(time.Duration(limit[0].params["t"]) * time.Second)
		}
	}
}

// Nested limits each add themselves. A denial tells only of the limit that denied.
func TestRateLimit_SeveralLimits(t *testing.T) {
	outer, _ := frozen(per(10, time.Hour))
	inner, _ := frozen(per(1, time.Minute))
	h := middleware(outer, httplimit.RateLimit{Name: "hour"}).Wrap(
		middleware(inner, httplimit.RateLimit{Name: "minute"}).Wrap(ok))

	policy, limit := fieldsOf(t, serve(h, request()).Header)
	assert.Equal(t, []item{{"hour", map[string]int64{"q": 10, "w": 3600}}, {"minute", map[string]int64{"q": 1, "w": 60}}}, policy)
	assert.Equal(t, []item{{"hour", map[string]int64{"r": 9, "t": 3600}}, {"minute", map[string]int64{"r": 0, "t": 60}}}, limit)

	resp := serve(h, request())
	assert.Equal(t, "60", resp.Header.Get("Retry-After"))
	policy, limit = fieldsOf(t, resp.Header)
	assert.Len(t, policy, 2)
	assert.Equal(t, []item{{"minute", map[string]int64{"r": 0, "t": 60}}}, limit)
}

// A handler that changes the header of one answer does not change the next answer.
func TestP26_AnswersShareNoState(t *testing.T) {
	for _, headers := range []httplimit.Headers{httplimit.RateLimit{}, httplimit.LegacyRateLimit{}, httplimit.XRateLimit{}} {
		m := middleware(answering(weir.Result{Allowed: true, Limit: 5}), headers)
		h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, values := range w.Header() {
				assert.NotContains(t, values[0], "mine")
				values[0] = "mine"
				w.Header().Add(name, "mine, too")
			}
		}))
		serve(h, request())
		serve(h, request())
	}
}

// RFC 9651: a List that is empty is not sent.
func TestRateLimit_NothingIsKnownOfTheDenial(t *testing.T) {
	limits, _, _ := threeLimits(per(1, time.Minute), per(1, time.Hour))
	limits[1].Limiter = answering(weir.Result{RetryAfter: time.Second})
	resp := serve(httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(ok), request())
	assert.Equal(t, "1", resp.Header.Get("Retry-After"))
	assert.Equal(t, `"address";q=1;w=60`, resp.Header.Get("RateLimit-Policy"))
	assert.NotContains(t, resp.Header, "Ratelimit")
}
