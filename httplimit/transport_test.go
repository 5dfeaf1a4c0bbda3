package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// steady lets one request a second go, and freely any number at once.
var (
	steady = weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 1}
	freely = weir.TokenBucket{Limit: 1000, Per: time.Second}
)

// A site is a server in memory that notes when requests came to which path, and answers the first
// ones as told, and then 200.
type site struct {
	mu      sync.Mutex
	start   time.Time
	came    map[string][]time.Duration
	answers []answer
}

type answer struct {
	status int
	fields map[string]string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came == nil {
		s.came = map[string][]time.Duration{}
	}
	s.came[r.Host] = append(s.came[r.Host], time.Since(s.start))
	if len(s.answers) == 0 {
		return
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	for name, value := range a.fields {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
}

func retryAfter(status int, value string) answer {
	return answer{status, map[string]string{"Retry-After": value}}
}

// client returns a client that keeps to p, of a site that answers as told. It must be called in a
// bubble.
func client(p weir.Policy, answers ...answer) (s *site, t *httplimit.Transport, stop func()) {
	s = &site{start: time.Now(), answers: answers}
	base, stop := inMemory(s)
	return s, &httplimit.Transport{Limiter: weir.Must(weir.New(p)), Base: base}, stop
}

func get(ctx context.Context, rt http.RoundTripper, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Client{Transport: rt}).Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

var forever = context.Background()

func TestTransport_WaitsItsTurnPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(steady)
		defer stop()
		var wg sync.WaitGroup
		for range 3 {
			for _, url := range []string{"http://a.example/x", "http://b.example/"} {
				wg.Go(func() {
					status, err := get(forever, rt, url)
					assert.NoError(t, err)
					assert.Equal(t, 200, status)
				})
			}
		}
		wg.Wait()
		want := []time.Duration{0, time.Second, 2 * time.Second}
		assert.Equal(t, map[string][]time.Duration{"a.example": want, "b.example": want}, s.came)
	})
}

// It fails at once if the turn, or the end of a hold, would come after the deadline.
func TestTransport_NeverSleepsPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(steady, answer{200, nil}, retryAfter(429, "99999999999999999999999"))
		defer stop()
		_, err := get(forever, rt, "http://a.example/")
		require.NoError(t, err)
		_, err = get(within(999*time.Millisecond), rt, "http://a.example/")
		assert.ErrorIs(t, err, weir.ErrTooLate, "the turn comes in 1 s")
		assert.Zero(t, time.Since(s.start))

		_, err = get(within(1001*time.Millisecond), rt, "http://a.example/")
		require.NoError(t, err)
		_, err = get(within(time.Hour-1), rt, "http://a.example/")
		assert.ErrorIs(t, err, weir.ErrTooLate, "held back for an hour")
		assert.Equal(t, time.Second, time.Since(s.start))

		c := &http.Client{Transport: rt, Timeout: time.Minute}
		_, err = c.Get("http://a.example/")
		assert.ErrorIs(t, err, weir.ErrTooLate, "a client's Timeout is a deadline")
		assert.Equal(t, time.Second, time.Since(s.start))
	})
}

func TestTransport_ContextThatEndsWhileHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(freely, retryAfter(429, "60"))
		defer stop()
		_, _ = get(forever, rt, "http://a.example/")
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(2*time.Second, cancel)
		_, err := get(ctx, rt, "http://a.example/")
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 2*time.Second, time.Since(s.start))
		_, err = get(ctx, rt, "http://a.example/")
		assert.ErrorIs(t, err, context.Canceled)
		assert.Len(t, s.came["a.example"], 1)
	})
}

// body notes that it was closed.
type body struct {
	io.Reader
	closed atomic.Bool
}

func (b *body) Close() error { b.closed.Store(true); return nil }

// http.RoundTripper requires that the body is closed also on errors, and that the request is not
// changed.
func TestTransport_RoundTripperContract(t *testing.T) {
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: 1 << 60}))
	_, _ = l.Take(forever, "full.example", 1)
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})
	for _, c := range []struct {
		name string
		rt   *httplimit.Transport
		url  string
		want error
	}{
		{"sent", &httplimit.Transport{Limiter: l, Base: base}, "http://a.example/", nil},
		{"too late", &httplimit.Transport{Limiter: l, Base: base}, "http://full.example/", weir.ErrTooLate},
		{"no key", &httplimit.Transport{Limiter: l, Base: base, Key: is("")}, "http://b.example/", httplimit.ErrNoKey},
		{"failed key", &httplimit.Transport{Limiter: l, Base: base, Key: fails(errStore)}, "http://b.example/", nil},
		{"skipped", &httplimit.Transport{Limiter: l, Base: base, Key: fails(httplimit.ErrSkip)}, "http://full.example/", nil},
		{"no such hold", &httplimit.Transport{Limiter: l, Base: base, MaxHold: -1}, "http://b.example/", nil},
		{"no limiter", &httplimit.Transport{Base: base}, "http://b.example/", nil},
	} {
		b := &body{Reader: strings.NewReader("x")}
		r, err := http.NewRequestWithContext(within(time.Hour), "POST", c.url, b)
		require.NoError(t, err)
		r.Header.Set("X", "y")
		before := r.Clone(r.Context())
		resp, err := c.rt.RoundTrip(r)
		if c.want != nil {
			assert.ErrorIs(t, err, c.want, c.name)
		}
		assert.True(t, (resp == nil) != (err == nil), c.name)
		assert.True(t, b.closed.Load(), c.name)
		assert.Equal(t, before.Header, r.Header, c.name)
		assert.Equal(t, before.URL, r.URL, c.name)
	}
	_, err := (&httplimit.Transport{}).RoundTrip(httptest.NewRequest("GET", "http://a.example/", nil))
	assert.EqualError(t, err, "weir: Transport.Limiter is nil, must be a Limiter")
	_, err = (&httplimit.Transport{Limiter: (*weir.KeyedLimiter)(nil)}).RoundTrip(httptest.NewRequest("GET", "http://a.example/", nil))
	assert.EqualError(t, err, "weir: Transport.Limiter is nil, must be a Limiter")
	_, err = (&httplimit.Transport{MaxHold: -time.Second, Jitter: -1}).RoundTrip(httptest.NewRequest("GET", "http://a.example/", nil))
	assert.EqualError(t, err, "weir: Transport.Limiter is nil, must be a Limiter\nweir: Transport.MaxHold is -1s, must be at least 0\n"+
		"weir: Transport.Jitter is -1ns, must be at least 0")
}

func TestTransport_ErrorsOfBaseArePassedOn(t *testing.T) {
	l := weir.Must(weir.New(freely))
	rt := &httplimit.Transport{Limiter: l, Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errStore })}
	_, err := get(forever, rt, "http://a.example/")
	assert.True(t, errors.Is(err, errStore))
}

// Without a Base it sends by http.DefaultTransport; and it needs no more than a real server.
func TestTransport_OnLoopback(t *testing.T) {
	var n atomic.Int64
	url, _ := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 2 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	rt := &httplimit.Transport{Limiter: weir.Must(weir.New(freely))}
	defer rt.CloseIdleConnections()
	for _, want := range []int{200, 200, 429} {
		status, err := get(forever, rt, url)
		require.NoError(t, err)
		assert.Equal(t, want, status)
	}
	_, err := get(within(time.Minute), rt, url)
	assert.ErrorIs(t, err, weir.ErrTooLate)
	assert.EqualValues(t, 3, n.Load(), "held back, and never retried")
}

// A Transport in front of a Middleware keeps to its limit: what Retry-After told is when it is
// served.
func TestTransport_InFrontOfMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(per(3, 10*time.Second)))
		base, stop := inMemory(middleware(l, nil).Wrap(ok))
		defer stop()
		rt := &httplimit.Transport{Limiter: weir.Must(weir.New(freely)), Base: base}
		start := time.Now()
		var statuses []int
		for range 8 {
			status, err := get(forever, rt, "http://a.example/")
			require.NoError(t, err)
			statuses = append(statuses, status)
		}
		assert.Equal(t, []int{200, 200, 200, 429, 200, 200, 200, 429}, statuses)
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestTargetHost(t *testing.T) {
	for url, want := range map[string]string{
		"http://a.example/":             "a.example",
		"http://A.Example:80/x?y":       "a.example",
		"https://a.example.:443/":       "a.example",
		"https://a.example:80/":         "a.example:80",
		"http://user:pw@a.example/":     "a.example",
		"http://[2001:DB8::1]:8080/":    "[2001:db8::1]:8080",
		"http://[2001:db8:0::1]:80/":    "[2001:db8::1]",
		"https://[2001:db8::1]":         "[2001:db8::1]",
		"https://[2001:db8::1]:/":       "[2001:db8::1]",
		"http://[fe80::1%25eth0]:81/":   "[fe80::1%eth0]:81",
		"http://[::ffff:192.0.2.1]/":    "192.0.2.1",
		"http://192.0.2.1:8080/":        "192.0.2.1:8080",
		"http://a.example:/":            "a.example",
		"https://a.example.:8443/":      "a.example:8443",
		"http://a.example:0080/":        "a.example",
		"http://a.example:08080/":       "a.example:8080",
		"ftp://a.example:80/":           "a.example:80",
		"http://:80/":                   "no key",
		"http://./":                     "no key",
		"http://a.example:8080/":        "a.example:8080",
		"/only/a/path":                  "no key",
		"https://xn--bcher-kva.example": "xn--bcher-kva.example",
	} {
		r, err := http.NewRequest("GET", url, nil)
		require.NoError(t, err)
		assert.Equal(t, want, keyOf(httplimit.TargetHost, r), url)
	}
	assert.Equal(t, "no key", keyOf(httplimit.TargetHost, &http.Request{}))
}
