package benchmarks

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	theirlimit "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func takeBySethVargo(ctx context.Context) (take func(key string) (bool, error), stop func() error, err error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: 15, Interval: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	take = func(key string) (bool, error) {
		tokens, remaining, reset, ok, err := store.Take(ctx, key)
		_, _, _ = tokens, remaining, reset // for the client
		return ok, err
	}
	return take, func() error { return store.Close(ctx) }, nil
}

func takeByFixedWindow(ctx context.Context) (take func(key string) (bool, error), err error) {
	l, err := weir.New(weir.FixedWindow{Limit: 15, Per: time.Hour, FromFirst: true})
	if err != nil {
		return nil, err
	}
	return func(key string) (bool, error) {
		r, err := l.Take(ctx, key, 1) // r.Limit, r.Remaining, r.RetryAfter: for the client
		return r.Allowed, err
	}, nil
}

// Its clock is not that of a bubble.
func TestComingFromSethVargo(t *testing.T) {
	theirs, stop, err := takeBySethVargo(t.Context())
	is(t, "error", err, nil)
	defer stop()
	ours, err := takeByFixedWindow(t.Context())
	is(t, "error", err, nil)
	for who, take := range map[string]func(string) (bool, error){"sethvargo": theirs, "weir": ours} {
		granted(t, who, 20, func() bool {
			ok, err := take("ann")
			is(t, who+"'s error", err, nil)
			return ok
		}, 15)
	}
}

func TestComingFromSethVargoRetryAfter(t *testing.T) {
	store, _ := memorystore.New(&memorystore.Config{Tokens: 15, Interval: time.Hour})
	defer store.Close(t.Context())
	m, _ := theirlimit.NewMiddleware(store, theirlimit.IPKeyFunc())
	theirs := wrapped(m.Handle)
	grants(15, passes(theirs, "/"))
	after := get(theirs, "/").Header.Get("Retry-After")
	is(t, "sethvargo's Retry-After ends with UTC", strings.HasSuffix(after, " UTC"), true)
	_, err := http.ParseTime(after)
	is(t, "http.ParseTime refuses it", err != nil, true)

	bubble(t, "weir", func(t *testing.T) {
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 15, Per: time.Hour, FromFirst: true}))
		ours := wrapped(httplimit.Middleware{Limiter: l, Key: httplimit.RemoteIP}.Wrap)
		grants(15, passes(ours, "/"))
		is(t, "weir's Retry-After", get(ours, "/").Header.Get("Retry-After"), "3600")
	})
}

// With the defaults this is so for an Interval above 12 hours, since that is SweepMinTTL.
func TestComingFromSethVargoSweep(t *testing.T) {
	store, _ := memorystore.New(&memorystore.Config{
		Tokens: 1, Interval: 1000 * time.Hour, SweepInterval: time.Millisecond, SweepMinTTL: 1,
	})
	defer store.Close(t.Context())
	for n := 0; n < 2; runtime.Gosched() { // two in a window, because the sweep ends it after the first
		if _, _, _, ok, _ := store.Take(t.Context(), "ann"); ok {
			n++
		}
	}
	bubble(t, "weir", func(t *testing.T) {
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: 1000 * time.Hour, FromFirst: true}))
		ask := func() bool { return l.Allow("ann") }
		granted(t, "weir", 2, ask, 1)
		time.Sleep(1000*time.Hour - 1)
		granted(t, "weir, before the end", 2, ask, 0)
		time.Sleep(time.Nanosecond)
		granted(t, "weir, at the end", 2, ask, 1)
	})
}

// Of a limit of 100,000 a second, only 10,000 come back. Of the million tokens in this test, 10 do.
func TestComingFromSethVargoLarge(t *testing.T) {
	store, _ := memorystore.New(&memorystore.Config{Tokens: 1_000_000, Interval: 10 * time.Millisecond})
	defer store.Close(t.Context())
	_, remaining, first, _, _ := store.Take(t.Context(), "ann")
	is(t, "what remains at first", remaining, 999_999)
	for reset := first; reset == first; runtime.Gosched() {
		_, remaining, reset, _, _ = store.Take(t.Context(), "ann")
	}
	is(t, "few come back", remaining < 500_000, true) // unless the machine stood still for minutes

	bubble(t, "weir", func(t *testing.T) {
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1_000_000, Per: 10 * time.Millisecond, FromFirst: true}))
		l.Take(t.Context(), "ann", 1_000_000)
		time.Sleep(10 * time.Millisecond)
		r, _ := l.Take(t.Context(), "ann", 1)
		is(t, "Remaining", r.Remaining, 999_999)
	})
}

func TestComingFromSethVargoNothing(t *testing.T) {
	store, err := memorystore.New(&memorystore.Config{})
	is(t, "sethvargo's error", err, nil)
	defer store.Close(t.Context())
	tokens, _, _, _, _ := store.Take(t.Context(), "ann")
	is(t, "sethvargo's limit", tokens, 1)
	_, err = weir.New(weir.FixedWindow{})
	is(t, "weir has an error", err != nil, true)
}
