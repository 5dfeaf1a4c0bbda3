package httplimit_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestTransport_RetryAfterHoldsTheKeyBackForAll(t *testing.T) {
	for _, c := range []struct {
		status int
		fields map[string]string
		want   time.Duration // until when the next request is held back
	}{
		{429, map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{503, map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{429, map[string]string{"Retry-After": " 7\t"}, 7 * time.Second},
		{429, map[string]string{}, 0},
		{429, map[string]string{"Retry-After": "0"}, 0},
		{429, map[string]string{"Retry-After": "-7"}, 0},
		{429, map[string]string{"Retry-After": "7.5"}, 7500 * time.Millisecond}, // not allowed, but some send it
		{429, map[string]string{"Retry-After": "soon"}, 0},
		{200, map[string]string{"Retry-After": "7"}, 0},
		{404, map[string]string{"Retry-After": "7"}, 0},
		// The bubble starts on 1 January 2000 at midnight. The three forms of a date:
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:07 GMT"}, 7 * time.Second},
		{429, map[string]string{"Retry-After": "Saturday, 01-Jan-00 00:00:07 GMT"}, 7 * time.Second},
		{429, map[string]string{"Retry-After": "Sat Jan  1 00:00:07 2000"}, 7 * time.Second},
		{429, map[string]string{"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0},
		{429, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:07 CET"}, 0}, // no date of HTTP
		// By the clock of a server that is an hour ahead.
		{429, map[string]string{"Date": "Sat, 01 Jan 2000 01:00:00 GMT", "Retry-After": "Sat, 01 Jan 2000 01:00:07 GMT"}, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, rt, stop := client(freely, answer{c.status, c.fields})
			defer stop()
			status, err := get(forever, rt, "http://a.example/")
			require.NoError(t, err)
			assert.Equal(t, c.status, status, "the answer is passed on, not retried")

			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { _, _ = get(forever, rt, "http://a.example/") })
			}
			_, _ = get(forever, rt, "http://b.example/")
			wg.Wait()
			assert.Equal(t, map[string][]time.Duration{
				"a.example": {0, c.want, c.want, c.want}, "b.example": {0},
			}, s.came, "%d %v", c.status, c.fields)
		})
	}
}

// When the hold ends those who waited go one after the other, as the limiter says, not at once.
func TestTransport_NoStampedeWhenTheHoldEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(steady, retryAfter(429, "10"))
		defer stop()
		var wg sync.WaitGroup
		for range 4 { // the others wait for their turns when the answer comes
			wg.Go(func() { _, _ = get(forever, rt, "http://a.example/") })
		}
		wg.Wait()
		came := s.came["a.example"]
		require.Len(t, came, 4)
		assert.GreaterOrEqual(t, came[1], 10*time.Second)
		assert.GreaterOrEqual(t, came[2]-came[1], time.Second)
		assert.GreaterOrEqual(t, came[3]-came[2], time.Second)
	})
}

// Requests that sit out a hold are sent in the order in which they came, also those that the
// limiter had already queued. However many they are, the limiter's queue does not refuse them. A
// caller that gives up holds back nobody behind it.
func TestTransport_OrderAfterAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 2}, retryAfter(429, "10"))
		defer stop()
		inner, order := rt.Base, []string{}
		var mu sync.Mutex
		rt.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			order = append(order, r.URL.Path)
			mu.Unlock()
			return inner.RoundTrip(r)
		})
		var wg sync.WaitGroup
		send := func(ctx context.Context, path string, want error) {
			wg.Go(func() {
				_, err := get(ctx, rt, "http://a.example/"+path)
				assert.ErrorIs(t, err, want, path)
			})
			synctest.Wait()
		}
		for _, path := range []string{"a", "b", "c"} { // a meets the 429, and the others wait for their turns
			send(forever, path, nil)
		}
		time.Sleep(500 * time.Millisecond)
		leaving, leave := context.WithCancel(forever)
		send(leaving, "gone", context.Canceled)
		send(within(9*time.Second), "late", weir.ErrTooLate)
		for _, path := range []string{"d", "e", "f", "g"} {
			send(forever, path, nil)
		}
		time.Sleep(5 * time.Second)
		leave()
		send(forever, "h", nil)
		wg.Wait()
		require.Equal(t, []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"}, order)
		assert.Equal(t, 10*time.Second, s.came["a.example"][1])
		assert.Equal(t, 16*time.Second, s.came["a.example"][7])

		send(forever, "i", nil) // nobody is left in the line
		wg.Wait()
		assert.Equal(t, 17*time.Second, time.Since(s.start))
	})
}

// So are requests whose turns come in a hold that is shorter than the limiter's queue. They do not
// go behind those that came later, and whose turns come after the hold.
func TestTransport_OrderAfterAShortHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 5})
		defer stop()
		inner, order := rt.Base, []string{}
		var mu sync.Mutex
		rt.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			order = append(order, r.URL.Path)
			mu.Unlock()
			resp, err := inner.RoundTrip(r)
			if r.URL.Path == "/a" {
				time.Sleep(500 * time.Millisecond)
				resp.StatusCode, resp.Header = 429, http.Header{"Retry-After": {"1"}}
			}
			return resp, err
		})
		var wg sync.WaitGroup
		for _, path := range []string{"a", "b", "c", "d"} {
			wg.Go(func() { _, _ = get(forever, rt, "http://a.example/"+path) })
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, []string{"/a", "/b", "/c", "/d"}, order)
		assert.Equal(t, []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond, 3500 * time.Millisecond}, s.came["a.example"])
	})
}

// Turns that would come in a hold are not used up: the requests have left the limiter's queue.
func TestTransport_HoldUsesUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(per(2, 10*time.Second))
		defer stop()
		inner := rt.Base
		rt.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(r)
			if r.URL.Path == "/slow" {
				time.Sleep(7 * time.Second)
				resp.StatusCode, resp.Header = 429, http.Header{"Retry-After": {"5"}}
			}
			return resp, err
		})
		var wg sync.WaitGroup
		for _, path := range []string{"slow", "b", "c", "d"} { // the turns of the last two would come after 10 s
			wg.Go(func() { _, _ = get(forever, rt, "http://a.example/"+path) })
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, []time.Duration{0, 0, 12 * time.Second, 12 * time.Second}, s.came["a.example"])
	})
}

func TestTransport_HeldUntilAndRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(freely, retryAfter(429, "60"))
		defer stop()
		assert.Zero(t, rt.HeldUntil("a.example"))
		_, _ = get(forever, rt, "http://a.example/")
		assert.Equal(t, s.start.Add(time.Minute), rt.HeldUntil("a.example"))
		assert.Zero(t, rt.HeldUntil("b.example"))

		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = get(forever, rt, "http://a.example/") })
		}
		time.Sleep(7 * time.Second)
		rt.Release("b.example") // not held back
		synctest.Wait()
		assert.Len(t, s.came["a.example"], 1)
		rt.Release("a.example")
		wg.Wait()
		assert.Equal(t, []time.Duration{0, 7 * time.Second, 7 * time.Second, 7 * time.Second}, s.came["a.example"])
		assert.Zero(t, rt.HeldUntil("a.example"))
	})
}

// Jitter prolongs a hold and never shortens it.
func TestTransport_Jitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s, rt, stop := client(freely, retryAfter(429, "60"))
			defer stop()
			rt.Jitter = 10 * time.Second
			_, _ = get(forever, rt, "http://a.example/")
			held := rt.HeldUntil("a.example").Sub(s.start)
			assert.GreaterOrEqual(t, held, time.Minute)
			assert.Less(t, held, 70*time.Second)
			seen[held] = true
		})
	}
	assert.Greater(t, len(seen), 1)
}

func TestTransport_HoldIsNotShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rt, stop := client(freely, retryAfter(429, "10"), retryAfter(429, "20"), retryAfter(429, "5"))
		defer stop()
		release := make(chan struct{})
		inner := rt.Base
		rt.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(r)
			<-release // so that all three are out before the first answer is known
			return resp, err
		})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = get(forever, rt, "http://a.example/") })
		}
		synctest.Wait()
		close(release)
		wg.Wait()
		_, _ = get(forever, rt, "http://a.example/")
		assert.Equal(t, 20*time.Second, s.came["a.example"][3])
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A Retry-After of thousands of years, as some servers send by mistake, does not shut a host out.
func TestTransport_MaxHold(t *testing.T) {
	for _, c := range []struct {
		maxHold time.Duration
		after   string
		want    time.Duration
	}{
		{time.Minute, "99999999999999999999999", time.Minute},
		{0, "99999999999999999999999", time.Hour},
		{0, "Fri, 31 Dec 9999 23:59:59 GMT", time.Hour},
		{0, "3599", time.Hour - time.Second},
		{weir.Never, "31536000", 365 * 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, rt, stop := client(freely, retryAfter(429, c.after))
			defer stop()
			rt.MaxHold = c.maxHold
			_, _ = get(forever, rt, "http://a.example/")
			_, _ = get(forever, rt, "http://a.example/")
			assert.Equal(t, []time.Duration{0, c.want}, s.came["a.example"], "%+v", c)
		})
	}
}
