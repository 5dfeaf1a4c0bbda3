package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func TestLimits_SayWhatIsWrong(t *testing.T) {
	l, _ := frozen(per(1, time.Second))
	good := httplimit.Limit{Name: "a", Limiter: l, Key: one}
	b := good
	b.Name = "b"
	settle := func(*http.Request, int, int64) int { return 0 }
	for says, m := range map[string]httplimit.Middleware{
		"Middleware.Limits[0].Limiter is nil":                              {Limits: []httplimit.Limit{{Name: "a", Key: one}}},
		"Middleware.Limits[1].Key is nil":                                  {Limits: []httplimit.Limit{b, {Name: "a", Limiter: l}}},
		`Middleware.Limits[0].Name is "", must be a name`:                  {Limits: []httplimit.Limit{{Limiter: l, Key: one}}},
		`Middleware.Limits[1].Name is "a", must be a name that no other`:   {Limits: []httplimit.Limit{good, good}},
		"its Limiter, Key, Cost and Settle must be nil":                    {Limits: []httplimit.Limit{good}, Key: one},
		"RateLimit must be the zero value":                                 {Limits: []httplimit.Limit{good}, Headers: httplimit.RateLimit{Name: "x"}},
		"Limits[0].Limiter is a httplimit_test.limiterFunc, must be a *we": {Limits: []httplimit.Limit{{Name: "x", Limiter: broken(nil), Key: one}, b}},
		"Middleware.Limiter is a httplimit_test.limiterFunc, must be a *w": {Limiter: broken(nil), Key: one, Settle: settle},
		"Middleware.MaxWait is 1s, must be 0 with Limits or Settle":        {Limiter: l, Key: one, Settle: settle, MaxWait: time.Second},
		"Middleware.MaxWait is 2s, must be 0 with Limits or Settle":        {Limits: []httplimit.Limit{good}, MaxWait: 2 * time.Second},
		`Middleware.Limits[0].Name is "ü", must be printable ASCII`:        {Limits: []httplimit.Limit{{Name: "ü", Limiter: l, Key: one}}},
		`Middleware.Limits[0].Unit is "\n", must be printable ASCII`:       {Limits: []httplimit.Limit{{Name: "x", Unit: "\n", Limiter: l, Key: one}}},
		`Middleware.Unchecked has "one", must be one of`:                   {Limits: []httplimit.Limit{good}, Unchecked: []httplimit.Check{"one"}},
	} {
		assert.Contains(t, panicOf(func() { m.Wrap(ok) }), says)
	}
	assert.Contains(t, panicOf(func() { httplimit.Middleware{Limiter: l, Settle: settle}.Checker() }), "Checker with Limits or Settle")
}

// Each plan's policy is described as it is, also after a change, and components are listed.
func TestLimits_PlansByKey(t *testing.T) {
	free, paid := per(1, time.Minute), weir.All(weir.TokenBucket{Limit: 5, Per: time.Minute}, per(9, time.Hour))
	l := weir.Must(weir.New(free, weir.WithClock(clock.NewMock()), weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
		if key == "paid" {
			return paid
		}
		return nil
	})))
	h := httplimit.Middleware{Limiter: l, Key: httplimit.Header("X-Key"), Headers: httplimit.RateLimit{Name: "api", Unit: "requests"}}.Wrap(ok)
	for range 2 {
		resp := serve(h, request("X-Key", "free"))
		assert.Equal(t, `"api";q=1;qu="requests";w=60`, resp.Header.Get("RateLimit-Policy"))
		resp = serve(h, request("X-Key", "paid"))
		assert.Equal(t, `"api 5/1m";q=5;qu="requests";w=60, "api sliding-log 9/1h";q=9;qu="requests";w=3600`, resp.Header.Get("RateLimit-Policy"))
	}
	require.NoError(t, l.SetPolicy(context.Background(), per(7, time.Hour)))
	assert.Equal(t, `"api";q=7;qu="requests";w=3600`, serve(h, request("X-Key", "free")).Header.Get("RateLimit-Policy"))

	many := weir.Must(weir.New(free, weir.WithClock(clock.NewMock()), weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
		return weir.TokenBucket{Limit: len(key), Per: time.Minute}
	})))
	h = httplimit.Middleware{Limiter: many, Key: httplimit.Header("X-Key"), Headers: httplimit.RateLimit{}}.Wrap(ok)
	key := ""
	for range 2500 { // more than are kept
		key += "k"
		serve(h, request("X-Key", key))
	}
	assert.Equal(t, `"default";q=2500;w=60`, serve(h, request("X-Key", key)).Header.Get("RateLimit-Policy"))
}

// A Middleware around others with Limits adds to their fields.
func TestLimits_MoreThanFour(t *testing.T) {
	var limits []httplimit.Limit
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		l, _ := frozen(per(3, time.Minute))
		limits = append(limits, httplimit.Limit{Name: name, Limiter: l, Key: one})
	}
	last, _ := frozen(per(2, time.Minute))
	limits[5].Limiter = last
	h := httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(ok)
	for _, want := range []int{200, 200, 429} {
		resp := serve(h, request())
		assert.Equal(t, want, resp.StatusCode)
		policies, _ := fieldsOf(t, resp.Header)
		assert.Len(t, policies, 6)
	}
	for _, lm := range limits[:5] {
		assert.Equal(t, 1, remaining(t, lm.Limiter.(*weir.KeyedLimiter), "one"))
	}
}

// R2: a denial by a later limit does not make what is green in a marker yellow. The same request is
// granted after Retry-After.
func TestLimits_MarkerKeepsItsGreen(t *testing.T) {
	limits, _, mock := threeLimits(
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: 5}, Excess: 2}, per(1, time.Minute))
	cost := 0
	limits[0].Cost = func(*http.Request) int { return cost }
	h := httplimit.Middleware{Limits: limits}.Wrap(ok)
	for _, step := range []struct {
		after        time.Duration
		cost, status int
	}{
		{0, 5, 200}, {time.Minute, 2, 200}, {5 * time.Hour, 1, 200}, {0, 4, 429}, {time.Minute, 4, 200},
	} {
		mock.Add(step.after)
		cost = step.cost
		assert.Equal(t, step.status, serve(h, request()).StatusCode, "%+v", step)
	}
}
