package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

const ms = time.Millisecond

// A web answers requests at once, and remembers when each host got them, since start.
type web struct {
	start  time.Time
	answer func(host string, nth int) (status int, retryAfter string) // nil for 200

	mu  sync.Mutex
	got map[string][]time.Duration // by host
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	host := r.URL.Host
	w.got[host] = append(w.got[host], time.Since(w.start))
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("page"))}
	if w.answer != nil {
		status, after := w.answer(host, len(w.got[host]))
		resp.StatusCode = status
		if after != "" {
			resp.Header.Set("Retry-After", after)
		}
	}
	return resp, nil
}

func newWeb(answer func(host string, nth int) (int, string)) *web {
	return &web{start: time.Now(), answer: answer, got: map[string][]time.Duration{}}
}

// pages are n URLs of each host, in turn.
func pages(n int, hosts ...string) (urls []string) {
	for i := range n {
		for _, h := range hosts {
			urls = append(urls, fmt.Sprintf("http://%s/%d", h, i))
		}
	}
	return urls
}

// crawl fetches urls, in virtual time: it must be called in a bubble.
func crawl(ctx context.Context, t *testing.T, w *web, args string, urls ...string) []result {
	t.Helper()
	o, err := parse(append(strings.Fields(args), urls...), io.Discard)
	require.NoError(t, err)
	var results []result
	for r := range newCrawler(o, w).fetch(ctx, o.urls) {
		results = append(results, r)
	}
	return results
}

// every is n instants, d apart.
func every(d time.Duration, n int) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i)*d)
	}
	return at
}

// Each host gets a request each 200 ms, whatever the number of workers.
func TestPace(t *testing.T) {
	for _, args := range []string{"", "-workers 2", "-workers 100"} {
		t.Run(args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(nil)
				results := crawl(t.Context(), t, w, args, pages(50, "a.test", "b.test")...)
				assert.Len(t, results, 100)
				for _, r := range results {
					assert.NoError(t, r.err)
					assert.Equal(t, 200, r.status)
					assert.EqualValues(t, 4, r.size)
				}
				assert.Equal(t, every(200*ms, 50), w.got["a.test"])
				assert.Equal(t, every(200*ms, 50), w.got["b.test"])
			})
		})
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(nil)
		crawl(t.Context(), t, w, "-rate 20", pages(60, "a.test")...)
		assert.Equal(t, every(50*ms, 60), w.got["a.test"])
	})
}

// A host that asks for two seconds has them, from all workers; the other host is none the slower. The
// page that was refused is asked for again.
func TestRetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(func(host string, nth int) (int, string) {
				if host == "a.test" && nth == 3 {
					return status, "2"
				}
				return 200, ""
			})
			results := crawl(t.Context(), t, w, "-workers 20", pages(10, "a.test", "b.test")...)
			assert.Len(t, results, 20)
			for _, r := range results {
				assert.NoError(t, r.err)
				assert.Equal(t, 200, r.status)
			}
			assert.Equal(t, every(200*ms, 10), w.got["b.test"])
			a := w.got["a.test"]
			require.Len(t, a, 11)
			assert.Equal(t, every(200*ms, 3), a[:3])
			assert.GreaterOrEqual(t, a[3], 2400*ms)
			for i := 4; i < len(a); i++ {
				assert.GreaterOrEqual(t, a[i]-a[i-1], 200*ms)
			}
		})
	}
}

// A page whose error would not get better by waiting is not asked for again. No page is asked for
// without end.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		status int
		after  string
		tries  int
	}{
		{http.StatusTooManyRequests, "1", mostTries},
		{http.StatusServiceUnavailable, "1", mostTries},
		{http.StatusTooManyRequests, "", 1},
		{http.StatusServiceUnavailable, "", 1},
		{http.StatusNotFound, "1", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(func(string, int) (int, string) { return c.status, c.after })
			results := crawl(t.Context(), t, w, "", pages(1, "a.test")...)
			require.Len(t, results, 1)
			assert.NoError(t, results[0].err)
			assert.Equal(t, c.status, results[0].status)
			assert.Len(t, w.got["a.test"], c.tries)
		})
	}
}

// A request that would wait for longer than -timeout fails at once.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(func(string, int) (int, string) { return http.StatusTooManyRequests, "60" })
		results := crawl(t.Context(), t, w, "-timeout 10s -workers 1", pages(3, "a.test")...)
		require.Len(t, results, 3)
		for _, r := range results {
			assert.ErrorIs(t, r.err, weir.ErrTooLate)
		}
		assert.Len(t, w.got["a.test"], 1)
		assert.Zero(t, time.Since(w.start))
	})
}

// When the context ends so does everything, at that instant.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(900*ms, cancel)
		results := crawl(ctx, t, w, "-workers 3", pages(100, "a.test")...)
		assert.Equal(t, 900*ms, time.Since(w.start))
		assert.Equal(t, every(200*ms, 5), w.got["a.test"])
		require.Len(t, results, 8)
		for _, r := range results[5:] {
			assert.ErrorIs(t, r.err, context.Canceled)
		}
	})
}
