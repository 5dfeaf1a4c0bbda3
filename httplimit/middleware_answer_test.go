package httplimit_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func denied(after time.Duration) weir.Limiter {
	return answering(weir.Result{Limit: 5, RetryAfter: after, ResetAfter: after})
}

func TestDenied_Problem(t *testing.T) {
	url, client := loopback(t, middleware(denied(90*time.Second), httplimit.RateLimit{Name: `a "b"`}).Wrap(ok))
	resp, body := do(t, client, "GET", url, "Accept", "application/json")

	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	var problem map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &problem))
	assert.Equal(t, map[string]any{
		"type":              "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"title":             "Quota Exceeded",
		"status":            429.0,
		"detail":            "too many requests, try again after the time in Retry-After",
		"violated-policies": []any{`a "b"`},
	}, problem)
}

func TestDenied_AcceptChoosesTheBody(t *testing.T) {
	const problem, text = "application/problem+json", "text/plain; charset=utf-8"
	h := middleware(denied(time.Second), nil).Wrap(ok)
	for _, c := range []struct {
		accept []string
		want   string
	}{
		{nil, problem},
		{[]string{"*/*"}, problem}, // curl
		{[]string{"application/json"}, problem},
		{[]string{"application/problem+json"}, problem},
		{[]string{"Application/JSON; charset=utf-8"}, problem},
		{[]string{"application/*"}, problem},
		{[]string{"application/json, text/plain, */*"}, problem},                            // axios
		{[]string{"text/html", "application/json"}, problem},                                // two lines
		{[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, text}, // a browser
		{[]string{"text/plain"}, text},
		{[]string{"text/*"}, text},
		{[]string{"image/png"}, text},
		{[]string{""}, text},
		{[]string{"application/json;q=0"}, text},
		{[]string{"application/json;q=0, */*"}, text},
		{[]string{"application/json;q=0.5, text/plain;q=0.4"}, problem},
		{[]string{"application/json;q=0.4, text/plain;q=0.5"}, text},
		{[]string{"application/json;q=NaN"}, text},
		{[]string{"application/json;q=2"}, text},
		{[]string{"application/json;q="}, text},
		{[]string{",;,=;q,"}, text},
	} {
		r := request()
		if c.accept != nil {
			r.Header["Accept"] = c.accept
		}
		assert.Equal(t, c.want, serve(h, r).Header.Get("Content-Type"), "Accept: %q", c.accept)
	}
}

func TestDenied_HeadHasNoBody(t *testing.T) {
	h := middleware(denied(time.Second), nil).Wrap(ok)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodHead, "/", nil))
	assert.Equal(t, 429, rec.Code)
	assert.Empty(t, rec.Body.String())
	assert.Equal(t, "1", rec.Header().Get("Retry-After"))

	url, client := loopback(t, h)
	resp, body := do(t, client, "HEAD", url)
	assert.Equal(t, 429, resp.StatusCode)
	assert.Empty(t, body)
}

// Retry-After is whole seconds rounded up, never "0", no date, not the whole window, and absent
// where it could never help.
func TestP24_RetryAfter(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{1, "1"},
		{999 * time.Millisecond, "1"},
		{time.Second, "1"},
		{time.Second + 1, "2"},
		{59*time.Second + 1, "60"},
		{time.Hour, "3600"},
		{weir.Never - 1, "9223372037"},
		{0, "1"}, // a Limiter of somebody else that does not know
		{-time.Second, "1"},
		{weir.Never, ""},
	} {
		resp := serve(middleware(denied(c.after), nil).Wrap(ok), request())
		assert.Equal(t, 429, resp.StatusCode)
		assert.Equal(t, c.want, resp.Header.Get("Retry-After"), c.after.String())
		assert.Equal(t, c.want != "", resp.Header["Retry-After"] != nil)
	}
}

// A client that waits exactly as long as Retry-After says is served, one that waits a second less
// is not.
func TestP24_RetryAfterIsTight(t *testing.T) {
	bucket, calendar := weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.CalendarWindow{Limit: 1, Unit: weir.Minute}
	for _, policy := range []weir.Policy{
		per(1, time.Minute),
		calendar,
		weir.All(bucket, calendar, per(9, time.Hour)),
		weir.Tiers(bucket, calendar),
		weir.SingleRateMarker{Committed: bucket, Excess: 1},
		weir.TwoRateMarker{Committed: bucket, Peak: weir.TokenBucket{Limit: 1, Per: time.Minute, Burst: 2}},
	} {
		for _, elapsed := range []time.Duration{0, time.Second, 7300 * time.Millisecond, 59*time.Second + 999*time.Millisecond} {
			retry := func(less time.Duration) int {
				l, clock := frozen(policy)
				url, client := loopback(t, middleware(l, httplimit.RateLimit{Policy: policy}).Wrap(ok))
				for l.Allow("one") { // as many as there are
				}
				clock.Add(elapsed)
				resp, _ := do(t, client, "GET", url)
				require.Equal(t, 429, resp.StatusCode)
				s, err := strconv.Atoi(resp.Header.Get("Retry-After"))
				require.NoError(t, err)
				_, limits := fieldsOf(t, resp.Header)
				require.Len(t, limits, 1)
				assert.EqualValues(t, s, limits[0].params["t"], "%v", policy)
				clock.Add(time.Duration(s)*time.Second - less)
				resp, _ = do(t, client, "GET", url)
				return resp.StatusCode
			}
			assert.Equal(t, 200, retry(0), "%v after %v", policy, elapsed)
			assert.Equal(t, 429, retry(time.Second), "%v after %v", policy, elapsed)
		}
	}
}

// A part that can never grant says so for the whole, although others could.
func TestP24_APartThatNeverFitsSaysSo(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.CalendarWindow{Limit: 5, Unit: weir.Month}, `"default";r=5;t=0`},
		{weir.All(weir.TokenBucket{Limit: 9, Per: time.Minute}, weir.CalendarWindow{Limit: 5, Unit: weir.Month}), `"calendar-window 5/month";r=5;t=0`},
		{weir.Tiers(weir.TokenBucket{Limit: 5, Per: time.Minute}, per(4, time.Minute)), `"default";r=5;t=0`},
	} {
		l, _ := frozen(c.policy)
		m := middleware(l, httplimit.RateLimit{Policy: c.policy})
		m.Cost = func(*http.Request) int { return 6 }
		resp := serve(m.Wrap(ok), request())
		assert.Equal(t, 429, resp.StatusCode)
		assert.NotContains(t, resp.Header, "Retry-After")
		assert.Equal(t, c.want, resp.Header.Get("RateLimit"), "%v", c.policy)
	}
}

func TestP24_NeverFitsSaysSo(t *testing.T) {
	l, _ := frozen(per(5, time.Minute))
	m := middleware(l, httplimit.RateLimit{})
	m.Cost = func(*http.Request) int { return 6 }
	url, client := loopback(t, m.Wrap(ok))
	resp, body := do(t, client, "GET", url, "Accept", "text/plain")
	assert.Equal(t, 429, resp.StatusCode)
	assert.NotContains(t, resp.Header, "Retry-After")
	assert.Equal(t, `"default";r=5;t=0`, resp.Header.Get("RateLimit"))
	assert.Equal(t, "Quota Exceeded: the request counts for more than is ever granted at once\n", body)
}

// An answer contains nothing of an error, of the key, or of what this or another client sent.
func TestP26_AnswersShowNothing(t *testing.T) {
	const victim, key = "alice", "s3cret-key"
	l, _ := frozen(per(1, time.Minute))
	over := httplimit.Middleware{Limiter: l, Key: httplimit.Header("X-Api-Key"), Headers: httplimit.RateLimit{}}.Wrap(ok)
	serve(over, request("X-Api-Key", key, "X-User", victim))

	failing := middleware(broken(errStore), httplimit.RateLimit{}).Wrap(ok)
	noKey := httplimit.Middleware{Limiter: l, Key: httplimit.Join(httplimit.Header("X-Api-Key"), httplimit.Header("X-Other"))}.Wrap(ok)

	for _, c := range []struct {
		name string
		h    http.Handler
		want int
	}{
		{"denied", over, 429},
		{"failed", failing, 503},
		{"no key", noKey, 400},
	} {
		for _, accept := range []string{"application/json", "text/plain"} {
			url, client := loopback(t, c.h)
			resp, body := do(t, client, "GET", url, "Accept", accept, "X-Api-Key", key, "X-Echo", "echo")
			assert.Equal(t, c.want, resp.StatusCode, c.name)
			all := body
			for name, values := range resp.Header {
				for _, v := range values {
					all += name + ": " + v + "\n"
				}
			}
			for _, secret := range []string{victim, key, "echo", "X-Echo", "X-Api-Key", "X-Other", errStore.Error(), "dial", "10.1.2.3", "weir"} {
				assert.NotContains(t, all, secret, c.name)
			}
		}
	}
}

// No answer that this package makes may be kept by a cache.
func TestP27_AnswersAreNotCached(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"429": middleware(denied(time.Second), nil).Wrap(ok),
		"503": middleware(broken(errStore), nil).Wrap(ok),
		"400": httplimit.Middleware{Limiter: denied(1), Key: httplimit.BasicUser}.Wrap(ok),
	} {
		url, client := loopback(t, h)
		resp, _ := do(t, client, "GET", url)
		assert.Equal(t, name, strconv.Itoa(resp.StatusCode))
		assert.Equal(t, []string{"no-store"}, resp.Header["Cache-Control"], name)
	}
	resp := serve(middleware(answering(weir.Result{Allowed: true, Limit: 1}), httplimit.RateLimit{}).Wrap(ok), request())
	assert.NotContains(t, resp.Header, "Cache-Control", "the handler's own answers are its own business")
}
