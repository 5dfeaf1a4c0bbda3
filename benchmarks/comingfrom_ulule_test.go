package benchmarks

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func limitByUlule(next http.Handler) http.Handler {
	rate, err := limiter.NewRateFromFormatted("100-H")
	if err != nil {
		panic(err)
	}
	return stdlib.NewMiddleware(limiter.New(memory.NewStore(), rate)).Handler(next)
}

func limitByFixedWindow(next http.Handler) http.Handler {
	policy, err := weir.ParsePolicy("fixed-window 100/1h from-first")
	if err != nil {
		panic(err)
	}
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(policy)),
		Key:     httplimit.RemoteIP,
		Headers: httplimit.XRateLimit{},
	}.Wrap(next)
}

func TestComingFromUlule(t *testing.T) {
	theirs, ours := wrapped(limitByUlule), wrapped(limitByFixedWindow)
	granted(t, "ulule", 150, passes(theirs, "/"), 100)
	granted(t, "weir", 150, passes(ours, "/"), 100)
	is(t, "ulule's Retry-After", get(theirs, "/").Header.Get("Retry-After"), "")
	is(t, "weir has a Retry-After", get(ours, "/").Header.Get("Retry-After") != "", true)

	r := &http.Request{RemoteAddr: "[2001:db8::1]:4711"}
	is(t, "ulule's key", limiter.New(memory.NewStore(), limiter.Rate{}).GetIPKey(r), "2001:db8::1")
	key, _ := httplimit.RemoteIP(r)
	is(t, "weir's key", key, "2001:db8::/64")
}

func TestComingFromUluleSeveral(t *testing.T) {
	rate := limiter.Rate{Limit: 10, Period: time.Hour}
	store := memory.NewStore()
	theirs := limiter.New(store, rate)
	c, _ := theirs.Increment(t.Context(), "ann", 20)
	is(t, "20 of 10 are refused", c.Reached, true)
	c, _ = theirs.Get(t.Context(), "ann")
	is(t, "ulule then refuses 1", c.Reached, true)

	policy := weir.FixedWindow{Limit: 10, Per: time.Hour, FromFirst: true}
	ours := weir.Must(weir.New(policy))
	r, _ := ours.Take(t.Context(), "ann", 20)
	is(t, "20 of 10 are granted", r.Allowed, false)
	r, _ = ours.Take(t.Context(), "ann", 0)
	is(t, "weir's Remaining", r.Remaining, 10)

	other := limiter.New(store, limiter.Rate{Limit: 5, Period: time.Minute})
	c, _ = other.Get(t.Context(), "ann")
	is(t, "another limiter on ulule's store counts the same", c.Reached, true)
	shared := new(weir.MemStore)
	weir.Must(weir.New(policy, weir.WithStore(shared)))
	_, err := weir.New(weir.FixedWindow{Limit: 5, Per: time.Minute}, weir.WithStore(shared))
	is(t, "another limiter without a name on weir's store is refused", err != nil, true)
}

// A failing store has lost its connection.
type failing struct{ limiter.Store }

func (failing) Get(context.Context, string, limiter.Rate) (limiter.Context, error) {
	return limiter.Context{}, errors.New("connection lost")
}

func TestComingFromUluleStoreFails(t *testing.T) {
	defer func() { is(t, "ulule panics", recover() != nil, true) }()
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.WithStore(weirFailing{})))
	ours := get(wrapped(httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP}.Wrap), "/")
	is(t, "weir's status", ours.StatusCode, http.StatusServiceUnavailable)
	get(wrapped(stdlib.NewMiddleware(limiter.New(failing{}, limiter.Rate{})).Handler), "/")
}

// A weirFailing is the same for weir.
type weirFailing struct{}

func (weirFailing) Do(context.Context, weir.Request) (weir.Answer, error) {
	return weir.Answer{}, errors.New("connection lost")
}
