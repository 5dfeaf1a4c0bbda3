package benchmarks

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/httprate"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func limitByHTTPRate(next http.Handler) http.Handler {
	return httprate.LimitBy(100, time.Minute, remoteIP)(next)
}

func limitBySlidingWindow(next http.Handler) http.Handler {
	return httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingWindow{Limit: 100, Per: time.Minute})),
		Key:     httplimit.RemoteIP,
		Headers: httplimit.XRateLimit{},
	}.Wrap(next)
}

func weirWindow(limit int, per time.Duration, key httplimit.KeyFunc) http.Handler {
	l := weir.Must(weir.New(weir.SlidingWindow{Limit: limit, Per: per}))
	return wrapped(httplimit.Middleware{Limiter: l, Key: key}.Wrap)
}

func TestComingFromHTTPRate(t *testing.T) {
	bubble(t, "grants and Retry-After", func(t *testing.T) {
		theirs, ours := wrapped(limitByHTTPRate), wrapped(limitBySlidingWindow)
		for who, h := range map[string]http.Handler{"httprate": theirs, "weir": ours} {
			granted(t, who, 150, passes(h, "/"), 100)
		}
		time.Sleep(90 * time.Second) // the middle of the next window
		for who, h := range map[string]http.Handler{"httprate": theirs, "weir": ours} {
			granted(t, who, 150, passes(h, "/"), 50)
		}
		is(t, "httprate's Retry-After", get(theirs, "/").Header.Get("Retry-After"), "60")
		is(t, "weir's Retry-After", get(ours, "/").Header.Get("Retry-After"), "1")
		time.Sleep(time.Second)
		is(t, "weir after Retry-After", passes(ours, "/")(), true)
	})
	bubble(t, "at Retry-After", func(t *testing.T) {
		theirs, ours := wrapped(limitByHTTPRate), wrapped(limitBySlidingWindow)
		grants(100, passes(theirs, "/"))
		grants(100, passes(ours, "/"))
		is(t, "httprate's Retry-After", get(theirs, "/").Header.Get("Retry-After"), "60")
		is(t, "weir's Retry-After", get(ours, "/").Header.Get("Retry-After"), "61")
		time.Sleep(time.Minute)
		is(t, "httprate after 60 s", passes(theirs, "/")(), false)
		time.Sleep(time.Second)
		is(t, "weir after 61 s", passes(ours, "/")(), true)
	})
	bubble(t, "X-RateLimit-Reset", func(t *testing.T) {
		theirs, ours := wrapped(limitByHTTPRate), wrapped(limitBySlidingWindow)
		grants(50, passes(theirs, "/"))
		grants(50, passes(ours, "/"))
		time.Sleep(90 * time.Second) // the middle of the next window
		start := time.Now()
		reset := func(h http.Handler) string {
			unix, err := strconv.ParseInt(get(h, "/").Header.Get("X-RateLimit-Reset"), 10, 64)
			is(t, "no error", err, error(nil))
			return time.Unix(unix, 0).Sub(start).String()
		}
		is(t, "httprate's reset", reset(theirs), "30s")
		is(t, "weir's reset", reset(ours), "1s")
	})
	bubble(t, "half a second", func(t *testing.T) {
		theirs := wrapped(httprate.LimitBy(1, 500*time.Millisecond, remoteIP))
		ours := weirWindow(1, 500*time.Millisecond, httplimit.RemoteIP)
		get(theirs, "/")
		get(ours, "/")
		is(t, "httprate's Retry-After", get(theirs, "/").Header.Get("Retry-After"), "0")
		is(t, "weir's Retry-After", get(ours, "/").Header.Get("Retry-After"), "1")
	})
	bubble(t, "a limit of 1", func(t *testing.T) {
		theirs := wrapped(httprate.LimitBy(1, time.Minute, remoteIP))
		ours := weirWindow(1, time.Minute, httplimit.RemoteIP)
		get(theirs, "/")
		get(ours, "/")
		time.Sleep(61 * time.Second)
		is(t, "httprate after 61 s", passes(theirs, "/")(), false)
		is(t, "weir after 61 s", passes(ours, "/")(), true)
		time.Sleep(30 * time.Second)
		is(t, "httprate after 91 s", passes(theirs, "/")(), true)
	})
}

func TestComingFromHTTPRateKeys(t *testing.T) {
	fails := func(*http.Request) (string, error) { return "", errors.New("dial tcp 10.1.2.3: refused") }
	theirs := get(wrapped(httprate.LimitBy(1, time.Hour, fails)), "/")
	ours := get(weirWindow(1, time.Hour, fails), "/")
	is(t, "httprate's status", theirs.StatusCode, http.StatusPreconditionRequired)
	is(t, "httprate shows the error", strings.Contains(body(t, theirs), "10.1.2.3"), true)
	is(t, "weir's status", ours.StatusCode, http.StatusServiceUnavailable)
	is(t, "weir shows the error", strings.Contains(body(t, ours), "10.1.2.3"), false)

	user := func(r *http.Request) (string, error) { return r.Header.Get("User"), nil }
	team := func(r *http.Request) (string, error) { return r.Header.Get("Team"), nil }
	for who, c := range map[string]struct {
		h    http.Handler
		want bool
	}{
		"httprate": {wrapped(httprate.LimitBy(1, time.Hour, httprate.JoinKeys(user, team))), false},
		"weir":     {weirWindow(1, time.Hour, httplimit.Join(user, team)), true},
	} {
		get(c.h, "/", "User", "a:b", "Team", "c")
		is(t, who+" tells a:b, c from a, b:c", passes(c.h, "/", "User", "a", "Team", "b:c")(), c.want)
	}
}

// A request reads the clock, waits for the lock, and counts when others have begun the next window.
func TestComingFromHTTPRateLate(t *testing.T) {
	c := httprate.NewLocalLimitCounter(time.Minute)
	this := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	last := this.Add(-time.Minute)
	c.IncrementBy("ann", this, 100)
	c.IncrementBy("bob", last, 1) // late
	n, _, _ := c.Get("ann", this, last)
	is(t, "what is left of 100 events", n, 0)
}
