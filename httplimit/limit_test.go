package httplimit_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// threeLimits are limits by a field each, and their limiters, which have one clock.
func threeLimits(policies ...weir.Policy) ([]httplimit.Limit, []*weir.KeyedLimiter, *clock.Mock) {
	mock := clock.NewMock()
	limits := make([]httplimit.Limit, len(policies))
	limiters := make([]*weir.KeyedLimiter, len(policies))
	for i, p := range policies {
		name := []string{"address", "user", "service"}[i]
		limiters[i] = weir.Must(weir.New(p, weir.WithClock(mock)))
		limits[i] = httplimit.Limit{Name: name, Limiter: limiters[i], Key: httplimit.Or(httplimit.Header("X-"+name), httplimit.Everyone)}
	}
	return limits, limiters, mock
}

func remaining(t *testing.T, l *weir.KeyedLimiter, key string) int {
	return kit.Take(t, l, key, 0).Remaining
}

// Whichever limit denies, none counts the request, and Retry-After is when all would grant it.
func TestLimits_AllOrNone(t *testing.T) {
	policies := []weir.Policy{per(2, time.Minute), per(3, time.Hour), weir.TokenBucket{Limit: 5, Per: 5 * time.Hour}}
	const all = `"address";q=2;w=60, "user";q=3;w=3600, "service";q=5;w=18000`
	limits, limiters, mock := threeLimits(policies...)
	h := httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(ok)
	for _, step := range []struct {
		after         time.Duration
		address, user string
		status        int
		limit, retry  string
		violated      []any
		left          [3]int
	}{
		{0, "a", "u", 200, `"address";r=1;t=60, "user";r=2;t=3600, "service";r=4;t=3600`, "", nil, [3]int{1, 2, 4}},
		{0, "a", "u", 200, `"address";r=0;t=60, "user";r=1;t=3600, "service";r=3;t=3600`, "", nil, [3]int{0, 1, 3}},
		{0, "a", "u", 429, `"address";r=0;t=60`, "60", []any{"address"}, [3]int{0, 1, 3}},
		{0, "b", "u", 200, `"address";r=1;t=60, "user";r=0;t=3600, "service";r=2;t=3600`, "", nil, [3]int{1, 0, 2}},
		{0, "b", "u", 429, `"user";r=0;t=3600`, "3600", []any{"user"}, [3]int{1, 0, 2}},
		{0, "a", "u", 429, `"address";r=0;t=60, "user";r=0;t=3600`, "3600", []any{"address", "user"}, [3]int{0, 0, 2}},
		{time.Minute, "a", "v", 200, `"address";r=1;t=60, "user";r=2;t=3600, "service";r=1;t=3540`, "", nil, [3]int{1, 2, 1}},
		{0, "a", "v", 200, `"address";r=0;t=60, "user";r=1;t=3600, "service";r=0;t=3540`, "", nil, [3]int{0, 1, 0}},
		{0, "c", "w", 429, `"service";r=0;t=3540`, "3540", []any{"service"}, [3]int{2, 3, 0}},
		{0, "a", "u", 429, `"address";r=0;t=60, "user";r=0;t=3540, "service";r=0;t=3540`, "3540", []any{"address", "user", "service"}, [3]int{0, 0, 0}},
	} {
		mock.Add(step.after)
		resp, body := served(h, request("X-Address", step.address, "X-User", step.user))
		require.Equal(t, step.status, resp.StatusCode, "%+v", step)
		assert.Equal(t, all, resp.Header.Get("RateLimit-Policy"))
		assert.Equal(t, step.limit, resp.Header.Get("RateLimit"))
		assert.Equal(t, step.retry, resp.Header.Get("Retry-After"))
		if step.status == 429 {
			var problem map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &problem))
			assert.Equal(t, step.violated, problem["violated-policies"])
		}
		assert.Equal(t, step.left, [3]int{
			remaining(t, limiters[0], step.address), remaining(t, limiters[1], step.user), remaining(t, limiters[2], "\x001:everyone"),
		}, "%+v", step)
	}
}

// After Retry-After the same request is granted, and a second before it is not, whichever limits
// deny.
func TestP24_RetryAfterOfSeveralLimits(t *testing.T) {
	policies := []weir.Policy{per(2, time.Minute), weir.TokenBucket{Limit: 1, Per: 40 * time.Second}, weir.FixedWindow{Limit: 3, Per: time.Hour}}
	for used := range 1 << len(policies) {
		for less, want := range map[time.Duration]int{0: 200, time.Second: 429} {
			limits, limiters, mock := threeLimits(policies...)
			mock.Add(17 * time.Minute)
			for i, l := range limiters {
				if used&(1<<i) != 0 {
					key := "\x001:everyone"
					kit.Take(t, l, key, remaining(t, l, key))
				}
			}
			h := httplimit.Middleware{Limits: limits}.Wrap(ok)
			mock.Add(7 * time.Second)
			resp := serve(h, request())
			if used == 0 {
				require.Equal(t, 200, resp.StatusCode)
				continue
			}
			require.Equal(t, 429, resp.StatusCode)
			after, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
			require.NoError(t, err)
			mock.Add(after - less)
			assert.Equal(t, want, serve(h, request()).StatusCode, "limits %b, %v less", used, less)
		}
	}
}

// Denied gets the decision of the limit with the longest RetryAfter.
func TestLimits_DeniedLearnsWhichLimit(t *testing.T) {
	limits, _, _ := threeLimits(per(1, time.Minute), per(2, time.Hour))
	var got httplimit.Decision
	h := httplimit.Middleware{Limits: limits, Denied: func(w http.ResponseWriter, _ *http.Request, d httplimit.Decision) {
		got = d
		w.WriteHeader(http.StatusTooManyRequests)
	}}.Wrap(ok)
	for i, want := range []string{"", "address", "", "user"} {
		got = httplimit.Decision{}
		serve(h, request("X-Address", string(rune('a'+i/2)), "X-User", "u"))
		assert.Equal(t, want, got.Name)
	}
	assert.Equal(t, "u", got.Key)
	assert.Equal(t, time.Hour, got.Result.RetryAfter)
}

// Limits with the same Limiter and the same key need events for all of them at once. Retry-After is
// the time until there are enough.
func TestLimits_SameLimiterSameKey(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		used   int
		after  string // empty for never
	}{
		{weir.SlidingLog{Limit: 3, Per: time.Minute}, 3, "60"},
		{weir.SlidingWindow{Limit: 3, Per: time.Minute}, 2, "61"},
		{weir.TokenBucket{Limit: 3, Per: time.Minute}, 3, "40"},
		{weir.TokenBucket{Limit: 3, Per: time.Minute}, 2, "20"},
		{weir.TokenBucket{Limit: 3, Per: time.Minute, Burst: 1}, 0, ""},
	} {
		limits, limiters, mock := threeLimits(c.policy, c.policy)
		limits[1].Limiter = limits[0].Limiter
		h := httplimit.Middleware{Limits: limits}.Wrap(ok)
		kit.Take(t, limiters[0], "a", c.used)
		resp := serve(h, request("X-Address", "a", "X-User", "a"))
		assert.Equal(t, 429, resp.StatusCode, "%v", c.policy)
		assert.Equal(t, c.after, resp.Header.Get("Retry-After"), "%v", c.policy)
		if c.after != "" {
			after, err := time.ParseDuration(c.after + "s")
			require.NoError(t, err)
			mock.Add(after - time.Second)
			assert.Equal(t, 429, serve(h, request("X-Address", "a", "X-User", "a")).StatusCode, "%v", c.policy)
			mock.Add(time.Second)
			assert.Equal(t, 200, serve(h, request("X-Address", "a", "X-User", "a")).StatusCode, "%v", c.policy)
		}
		assert.Equal(t, 200, serve(h, request("X-Address", "b", "X-User", "c")).StatusCode, "other keys")
	}
}

// Each limit has a cost of its own. A limit that costs nothing, or skips the request, is not asked.
func TestLimits_CostsDiffer(t *testing.T) {
	limits, limiters, _ := threeLimits(per(2, time.Minute), weir.TokenBucket{Limit: 100, Per: time.Minute})
	limits[1].Cost = func(r *http.Request) int { return int(r.ContentLength) }
	var got []httplimit.Decision
	h := httplimit.Middleware{
		Limits: limits, Headers: httplimit.XRateLimit{},
		Observe: func(_ *http.Request, d httplimit.Decision) { got = append(got, d) },
	}.Wrap(ok)
	send := func(tokens int64, fields ...string) *http.Response {
		r := request(fields...)
		r.ContentLength = tokens
		return serve(h, r)
	}
	key := "\x001:everyone"
	assert.Equal(t, "1", send(60).Header.Get("X-RateLimit-Remaining"), "of the requests, of which fewest remain")
	assert.Equal(t, 429, send(60).StatusCode)
	assert.Equal(t, "user", got[1].Name)
	assert.Equal(t, 60, got[1].Cost)
	assert.Equal(t, 1, remaining(t, limiters[0], key), "the request is given back")
	assert.Equal(t, 200, send(0).StatusCode)
	assert.Equal(t, 40, remaining(t, limiters[1], key))
	resp := send(101, "X-Address", "other")
	assert.Equal(t, 429, resp.StatusCode)
	assert.NotContains(t, resp.Header, "Retry-After", "more than is ever granted")
	assert.Equal(t, 2, remaining(t, limiters[0], "other"))

	limits[0].Key = func(*http.Request) (string, error) { return "", httplimit.ErrSkip }
	limits[1].Key = limits[0].Key
	h = httplimit.Middleware{Limits: limits}.Wrap(ok)
	for range 3 {
		assert.Equal(t, 200, send(200).StatusCode)
	}
}

// If a key is missing or a store fails, no limit counts the request.
func TestLimits_FailuresCountNothing(t *testing.T) {
	limits, limiters, _ := threeLimits(per(9, time.Minute), per(9, time.Minute), per(9, time.Minute))
	limits[2].Key = httplimit.Header("X-Service")
	limits[1].Limiter = weir.Must(weir.New(per(1, time.Minute), weir.WithStore(kit.StoreFunc(
		func(context.Context, weir.Request) (weir.Answer, error) { return weir.Answer{}, kit.ErrStore }))))
	var got []httplimit.Decision
	h := httplimit.Middleware{Limits: limits, Observe: func(_ *http.Request, d httplimit.Decision) { got = append(got, d) }}.Wrap(ok)
	assert.Equal(t, 400, serve(h, request()).StatusCode)
	assert.Equal(t, 503, serve(h, request("X-Service", "s")).StatusCode)
	require.Len(t, got, 2)
	assert.Equal(t, "service", got[0].Name)
	assert.ErrorIs(t, got[0].Err, httplimit.ErrNoKey)
	assert.Equal(t, "user", got[1].Name)
	assert.ErrorIs(t, got[1].Err, kit.ErrStore)
	assert.Equal(t, 9, remaining(t, limiters[0], "\x001:everyone"))
	assert.Equal(t, 9, remaining(t, limiters[2], "s"))
}

// A negative Cost is a mistake in the wiring. A limit before it that denies must not hide it: the
// client would be told when to try again, and would then fail.
func TestLimits_NegativeCostBehindADenial(t *testing.T) {
	limits, limiters, _ := threeLimits(per(1, time.Minute), per(9, time.Minute), per(9, time.Minute))
	limits[1].Cost = func(*http.Request) int { return -2 }
	assert.True(t, limiters[0].Allow("\x001:everyone"))
	var got error
	h := httplimit.Middleware{Limits: limits, Observe: func(_ *http.Request, d httplimit.Decision) { got = d.Err }}.Wrap(ok)
	assert.Equal(t, 503, serve(h, request()).StatusCode)
	assert.EqualError(t, got, "weir: Middleware.Cost returned -2, must be at least 0")
}

// R16: a client that hangs up while a shared store decides leaves nothing in any limit, or counts in
// all of them. Otherwise it could use up the limit of all, and the one by address would not notice.
func TestR16_ClientsThatHangUpWhileTheStoreDecides(t *testing.T) {
	for hangsUp := time.Duration(0); hangsUp < 60*time.Millisecond; hangsUp += 5 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			mem := new(weir.MemStore)
			limits, limiters, _ := threeLimits(per(9, time.Minute), per(9, time.Minute), per(9, time.Minute))
			for i, name := range []string{"address", "user", "service"} {
				limiters[i] = weir.Must(weir.New(per(9, time.Minute), weir.WithName(name), weir.WithStore(kit.StoreFunc(
					func(ctx context.Context, r weir.Request) (weir.Answer, error) {
						time.Sleep(7 * time.Millisecond)
						answer, err := mem.Do(context.WithoutCancel(ctx), r)
						time.Sleep(7 * time.Millisecond)
						if ctx.Err() != nil {
							return weir.Answer{}, ctx.Err()
						}
						return answer, err
					}))))
				limits[i].Limiter = limiters[i]
			}
			passed := 0
			h := httplimit.Middleware{Limits: limits, Headers: httplimit.RateLimit{}}.Wrap(
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
			ctx, hangUp := context.WithCancel(t.Context())
			time.AfterFunc(hangsUp, hangUp)
			serve(h, request().WithContext(ctx))
			for i, l := range limiters {
				assert.Equal(t, 9-passed, remaining(t, l, "\x001:everyone"), "%v limit %d", hangsUp, i)
			}
		})
	}
}

// If the store of an earlier limit fails when its events are given back, Observe gets the error,
// and the request is denied as it would be without.
func TestLimits_GiveBackThatFails(t *testing.T) {
	limits, _, _ := threeLimits(per(9, time.Minute), per(1, time.Minute))
	mem := new(weir.MemStore)
	limits[0].Limiter = weir.Must(weir.New(per(9, time.Minute), weir.WithStore(kit.StoreFunc(
		func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N < 0 {
				return weir.Answer{}, kit.ErrStore
			}
			return mem.Do(ctx, r)
		}))))
	var got []httplimit.Decision
	h := httplimit.Middleware{Limits: limits, Observe: func(_ *http.Request, d httplimit.Decision) { got = append(got, d) }}.Wrap(ok)
	assert.Equal(t, 200, serve(h, request()).StatusCode)
	assert.Equal(t, 429, serve(h, request()).StatusCode)
	require.Len(t, got, 3)
	assert.Equal(t, "address", got[1].Name)
	assert.ErrorIs(t, got[1].Err, kit.ErrStore)
	assert.Equal(t, "user", got[2].Name)
	assert.False(t, got[2].Result.Allowed)
	assert.NoError(t, got[2].Err)
}
