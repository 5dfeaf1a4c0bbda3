package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// twoLimits is 2 a minute and 3 an hour.
var twoLimits = weir.All(
	weir.FixedWindow{Limit: 2, Per: time.Minute},
	weir.TokenBucket{Limit: 3, Per: time.Hour},
)

const twoPolicies = `"fixed-window 2/1m";q=2;w=60, "3/1h";q=3;w=3600`

func TestComposed_ListsEveryPart(t *testing.T) {
	l, mock := frozen(twoLimits)
	url, client := loopback(t, middleware(l, httplimit.RateLimit{Policy: twoLimits}).Wrap(ok))
	for _, step := range []struct {
		after      time.Duration
		status     int
		limit      string
		retryAfter string
		violated   string
	}{
		{0, 200, `"fixed-window 2/1m";r=1;t=60, "3/1h";r=2;t=1200`, "", ""},
		{0, 200, `"fixed-window 2/1m";r=0;t=60, "3/1h";r=1;t=1200`, "", ""},
		{0, 429, `"fixed-window 2/1m";r=0;t=60`, "60", `"violated-policies":["fixed-window 2/1m"]`},
		{time.Minute, 200, `"fixed-window 2/1m";r=1;t=60, "3/1h";r=0;t=1140`, "", ""},
		{0, 429, `"3/1h";r=0;t=1140`, "1140", `"violated-policies":["3/1h"]`},
	} {
		mock.Add(step.after)
		resp, body := do(t, client, http.MethodGet, url, "Accept", "application/json")
		assert.Equal(t, step.status, resp.StatusCode)
		assert.Equal(t, twoPolicies, resp.Header.Get("RateLimit-Policy"))
		assert.Equal(t, step.limit, resp.Header.Get("RateLimit"))
		assert.Equal(t, step.retryAfter, resp.Header.Get("Retry-After"))
		assert.Contains(t, body, step.violated)
		policies, limits := fieldsOf(t, resp.Header)
		assert.Len(t, policies, 2)
		assert.NotEmpty(t, limits)
	}
}

// w of a component is that of the same policy alone. If the component is itself composed, w is the
// longest w of the policies that pay q. Tiers are one limit: a client that kept to each of them
// would not get what they grant.
func TestComposed_Windows(t *testing.T) {
	month := weir.CalendarWindow{Limit: 50, Unit: weir.Month}
	minute := &weir.SlidingWindow{Limit: 5, Per: time.Minute}
	for _, c := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.All(month, minute), `"calendar-window 50/month";q=50;w=2678400, "sliding-window 5/1m";q=5;w=60`},
		{weir.Tiers(minute, month), `"default";q=50;w=2678400`},
		{weir.All(weir.All(minute, per(9, time.Second))), `"all(sliding-window 5/1m, sliding-log 9/1s)";q=5;w=60`},
		{weir.All(weir.All(minute, month)), `"all(sliding-window 5/1m, calendar-window 50/month)";q=5;w=2678400`},
		{weir.All(weir.Tiers(minute, per(9, time.Second))), `"tiers(sliding-window 5/1m, sliding-log 9/1s)";q=9;w=1`},
		{weir.Tiers(weir.All(weir.Tiers(minute))), `"all(tiers(sliding-window 5/1m))";q=5;w=60`},
		{weir.All(month, weir.Tiers(minute, per(9, time.Second))), `"calendar-window 50/month";q=50;w=2678400, "tiers(sliding-window 5/1m, sliding-log 9/1s)";q=9;w=1`},
	} {
		l, _ := frozen(c.policy)
		h := middleware(l, httplimit.RateLimit{Policy: c.policy}).Wrap(ok)
		assert.Equal(t, c.want, serve(h, request()).Header.Get("RateLimit-Policy"), "%v", c.policy)
	}
}

// r of a part is never below 0, not in debt and not after a limit was lowered; and t is when that
// part is as new: the end of the hour, or when the last event leaves the window.
func TestP25_PartsTellWhatIsLeft(t *testing.T) {
	policy := func(limit int) weir.Policy {
		return weir.All(weir.CalendarWindow{Limit: limit, Unit: weir.Hour}, per(limit+1, time.Minute))
	}
	l, mock := frozen(policy(2))
	mock.Set(time.Date(2027, time.March, 4, 12, 50, 10, 0, time.UTC))
	h := middleware(l, httplimit.RateLimit{Policy: policy(2)}).Wrap(ok)
	assert.Equal(t, `"calendar-window 2/hour";r=1;t=590, "sliding-log 3/1m";r=2;t=60`, serve(h, request()).Header.Get("RateLimit"))
	mock.Add(20 * time.Second)
	assert.Equal(t, `"calendar-window 2/hour";r=0;t=570, "sliding-log 3/1m";r=1;t=40`, serve(h, request()).Header.Get("RateLimit"))
	resp := serve(h, request())
	assert.Equal(t, `"calendar-window 2/hour";r=0;t=570`, resp.Header.Get("RateLimit"))
	assert.Equal(t, "570", resp.Header.Get("Retry-After"))

	booked, err := l.Reserve(context.Background(), "one", 0)
	assert.NoError(t, err)
	assert.NoError(t, booked.Settle(context.Background(), 100))
	assert.NoError(t, l.SetPolicy(context.Background(), policy(1)))
	h = middleware(l, httplimit.RateLimit{Policy: policy(1)}).Wrap(ok)
	resp = serve(h, request())
	assert.Equal(t, `"calendar-window 1/hour";r=0;t=570`, resp.Header.Get("RateLimit"))
	mock.Add(570 * time.Second)
	assert.Equal(t, `"calendar-window 1/hour";r=0;t=3600, "sliding-log 2/1m";r=1;t=60`, serve(h, request()).Header.Get("RateLimit"))
}

func TestComposed_NamesAreTellApart(t *testing.T) {
	l, _ := frozen(twoLimits)
	outer, _ := frozen(per(9, time.Minute))
	h := middleware(l, httplimit.RateLimit{Name: "api", Policy: twoLimits}).Wrap(ok)
	h = middleware(outer, httplimit.RateLimit{Name: "all", Policy: per(9, time.Minute)}).Wrap(h)
	resp := serve(h, request())
	policies, limits := fieldsOf(t, resp.Header)
	assert.Len(t, policies, 3)
	assert.Equal(t, []string{"all", "api fixed-window 2/1m", "api 3/1h"}, []string{limits[0].name, limits[1].name, limits[2].name})
}

func TestComposed_HeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a busy machine uses up no MaxWait
		m := middleware(weir.Must(weir.New(twoLimits, weir.WithClock(clock.NewMock()))), httplimit.RateLimit{Policy: twoLimits})
		m.MaxWait = time.Millisecond
		h := m.Wrap(ok)
		assert.Equal(t, `"fixed-window 2/1m";r=1;t=60, "3/1h";r=2;t=1200`, serve(h, request()).Header.Get("RateLimit"))
		serve(h, request())
		resp := serve(h, request())
		assert.Equal(t, 429, resp.StatusCode)
		assert.Equal(t, `"fixed-window 2/1m";r=0;t=60`, resp.Header.Get("RateLimit"))
	})
}

// A request that never fits does not make the window of the part longer than it is.
func TestComposed_NeverFits(t *testing.T) {
	policy := weir.All(per(5, time.Minute), per(50, time.Hour))
	l, _ := frozen(policy)
	m := middleware(l, httplimit.RateLimit{Policy: policy})
	m.Cost = func(r *http.Request) int { return len(r.Header["X-N"]) }
	h := m.Wrap(ok)
	serve(h, request("X-N", "", "X-N", ""))
	resp := serve(h, request("X-N", "", "X-N", "", "X-N", "", "X-N", "", "X-N", "", "X-N", ""))
	assert.Equal(t, 429, resp.StatusCode)
	assert.Empty(t, resp.Header.Get("Retry-After"))
	assert.Equal(t, `"sliding-log 5/1m";r=3;t=60`, resp.Header.Get("RateLimit"))
}

// A limiter that does not tell of its parts, and a key whose policy has others, have one member.
func TestComposed_PartsThatAreNotKnown(t *testing.T) {
	l, _ := frozen(twoLimits)
	single := middleware(struct{ weir.Limiter }{l}, httplimit.RateLimit{Policy: twoLimits}).Wrap(ok)
	byKey := weir.Must(weir.New(twoLimits, weir.WithClock(clock.NewMock()), weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		return weir.FixedWindow{Limit: 7, Per: time.Minute}
	})))
	for want, h := range map[string]http.Handler{
		`"default";r=1;t=1200`: single,
		`"default";r=6;t=60`:   middleware(byKey, httplimit.RateLimit{Policy: twoLimits}).Wrap(ok),
	} {
		resp := serve(h, request())
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, want, resp.Header.Get("RateLimit"))
	}
}

func TestComposed_OtherHeaders(t *testing.T) {
	l, _ := frozen(twoLimits)
	h := middleware(l, httplimit.LegacyRateLimit{}).Wrap(ok)
	serve(h, request())
	resp := serve(h, request())
	assert.Equal(t, "0", resp.Header.Get("RateLimit-Remaining"))
	assert.Equal(t, "2", resp.Header.Get("RateLimit-Limit"))
}

func TestComposed_Allocations(t *testing.T) {
	roomyTwo := weir.All(roomy, weir.FixedWindow{Limit: 1 << 30, Per: time.Hour})
	h := middleware(weir.Must(weir.New(roomyTwo)), httplimit.RateLimit{Policy: roomyTwo}).Wrap(ok)
	w, r := &recorder{header: http.Header{}}, request()
	assert.LessOrEqual(t, kit.AllocsPerRun(500, func() {
		w.reset()
		h.ServeHTTP(w, r)
	}), 4.0)
}

// A Shadow grants what its limiter denies. t of each component is then the time until it has more
// events, and not until it has all that the request costs.
func TestComposed_OnTrial(t *testing.T) {
	policy := weir.All(per(10, time.Hour), weir.TokenBucket{Limit: 100, Per: time.Minute})
	l, mock := frozen(policy)
	for range 8 {
		l.Allow("one")
		mock.Add(time.Minute)
	}
	m := middleware(weir.Shadow(l, nil), httplimit.RateLimit{Policy: policy})
	m.Cost = func(*http.Request) int { return 5 }
	resp := serve(m.Wrap(ok), request())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, `"sliding-log 10/1h";r=2;t=3120, "100/1m";r=100;t=0`, resp.Header.Get("RateLimit"))
}
