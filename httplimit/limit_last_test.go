package httplimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The last limit may be of any kind, because nothing of it is given back. If it would deny the
// request after another one, it is only looked at.
func TestLimits_LastOfAnotherKind(t *testing.T) {
	limits, _, mock := threeLimits(per(1, time.Minute), per(1, time.Hour), per(1, 30*time.Minute))
	limits[2].Limiter = weir.Shadow(limits[2].Limiter, nil)
	require.NoError(t, limits[2].Limiter.(*weir.Shadowed).Enforce(1))
	limits = []httplimit.Limit{limits[0], limits[2]}
	h := httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(ok)
	assert.Equal(t, 200, serve(h, request()).StatusCode)
	resp := serve(h, request())
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "1800", resp.Header.Get("Retry-After"))
	mock.Add(time.Minute)
	assert.Equal(t, "1740", serve(h, request()).Header.Get("Retry-After"))

	limits[1].Cost = func(*http.Request) int { return 2 }
	h = httplimit.Middleware{Limits: limits}.Wrap(ok)
	kit.Take(t, limits[0].Limiter, "\x001:everyone", 1)
	assert.NotContains(t, serve(h, request()).Header, "Retry-After", "2 are never granted")
}

// A Shadow that refuses nothing prolongs no Retry-After, and denies nothing in an answer.
func TestLimits_LastOnTrial(t *testing.T) {
	limits, _, _ := threeLimits(per(1, time.Minute), per(1, time.Hour), per(1, 24*time.Hour))
	limits[2].Limiter = weir.Shadow(limits[2].Limiter, nil)
	h := httplimit.Middleware{Limits: []httplimit.Limit{limits[0], limits[2]}, Headers: httplimit.RateLimit{}}.Wrap(ok)
	assert.Equal(t, 200, serve(h, request()).StatusCode)
	resp := serve(h, request())
	assert.Equal(t, "60", resp.Header.Get("Retry-After"))
	assert.Equal(t, `"address";r=0;t=60`, resp.Header.Get("RateLimit"))
	assert.Contains(t, resp.Header.Get("RateLimit-Policy"), `"service"`)
}

// A Limiter that reports nothing but its decision, as one of another package does, is not said to
// deny a request because another limit denies it.
func TestLimits_LastOfWhichNothingIsKnown(t *testing.T) {
	limits, _, _ := threeLimits(per(1, time.Minute), per(1, time.Hour))
	limits[1].Limiter = answering(weir.Result{Allowed: true})
	h := httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(ok)
	assert.Equal(t, 200, serve(h, request()).StatusCode)
	resp, body := served(h, request("Accept", "application/json"))
	assert.Equal(t, "60", resp.Header.Get("Retry-After"))
	assert.Equal(t, `"address";r=0;t=60`, resp.Header.Get("RateLimit"))
	assert.Contains(t, body, `"violated-policies":["address"]`)
}

// uncomparable is a Limiter that cannot be compared, not even with itself.
type uncomparable struct {
	*weir.KeyedLimiter
	_ func()
}

// Limiters that cannot be compared are not taken for one: the Retry-After is that of the request's
// own cost.
func TestLimits_NotComparable(t *testing.T) {
	minute, mock := frozen(per(1, time.Minute))
	hour := weir.Must(weir.New(per(1, time.Hour), weir.WithClock(mock)))
	h := httplimit.Middleware{Limits: []httplimit.Limit{
		{Name: "minute", Limiter: uncomparable{KeyedLimiter: minute}, Key: one},
		{Name: "hour", Limiter: uncomparable{KeyedLimiter: hour}, Key: one},
	}}.Wrap(http.HandlerFunc(ok))
	require.Equal(t, 200, serve(h, request()).StatusCode)
	mock.Add(time.Minute)
	denied := serve(h, request())
	assert.Equal(t, 429, denied.StatusCode)
	assert.Equal(t, "3540", denied.Header.Get("Retry-After"))
}
