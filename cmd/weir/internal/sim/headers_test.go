package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// served returns a function that asks httplimit, and returns what the page shows of its answer.
func served(l *weir.KeyedLimiter, maxWait time.Duration) func() string {
	handler := httplimit.Middleware{
		Limiter: l, Key: func(*http.Request) (string, error) { return key, nil }, Headers: httplimit.RateLimit{}, MaxWait: maxWait,
	}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	return func() string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		text := fmt.Sprintf("HTTP/1.1 %d %s\n", w.Code, http.StatusText(w.Code))
		for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After"} {
			if values := w.Header().Values(name); values != nil {
				text += name + ": " + strings.Join(values, ", ") + "\n"
			}
		}
		return text
	}
}

// The fields that the page shows are those that httplimit writes.
func TestHeadersAreThoseOfHTTPLimit(t *testing.T) {
	for _, policy := range []string{
		"10/1s", "100/1m+burst%3D30", "leaky-bucket+10/1s", "fixed-window+10/1s", "sliding-window+10/3s", "sliding-log+10/1m",
		"calendar-window+10/month", "calendar-window+10/year", "single-rate-marker+10/1s+burst%3D5+excess%3D5", "two-rate-marker(5/1s,+10/1s)",
		"all(10/1s,+sliding-log+20/5s)", "all(token-bucket+10/1s+burst%3D3,+all(20/2s,+tiers(2/1s,+9/1m)))", "all(5/1s)",
		"all(9000000000000000000/1ms,+5/1s)", "10/1s~2s~all(5/1s,+sliding-window+9/2s)", "all(10/1s,+12/2s)~2s~all(12/2s,+sliding-log+9/1s,+5/1s)",
		"tiers(5/1s,+sliding-log+20/5s)", "tiers(5/1s)", "tiers(all(3/1s,+4/2s),+all(5/1s))",
		"tiers(fixed-window+20/1m,+leaky-bucket+5/1s)", "tiers(sliding-window+5/3s,+calendar-window+10/month)",
		"tiers(all(10/1s,+sliding-window+20/1m),+sliding-log+3/1s)", "tiers(tiers(3/1s,+5/10s),+20/1h)",
	} {
		r := ran(t, "p="+policy+"&r=5&b=3s:40&t=5s")
		lane, now, kinds := r.scenario.Lanes[0], new(clock), map[Kind]bool{}
		l := weir.Must(weir.New(lane.Policy, weir.WithClock(now)))
		answer := served(l, 0)
		for _, rec := range answers(r, 0) {
			if lane.Then != nil && rec.At >= lane.At {
				now.now = int64(lane.At)
				require.NoError(t, l.SetPolicy(context.Background(), lane.Then))
				lane.Policy, lane.Then = lane.Then, nil
			}
			now.now = int64(rec.At)
			require.Equal(t, answer(), Headers(lane.Policy, &rec), "%s at %v", policy, rec.At)
			kinds[rec.Kind] = true
		}
		assert.True(t, kinds[Granted] && kinds[Denied], policy)
	}
}

// They are also those that httplimit writes for requests that it has held back, or that found the
// queue full.
func TestHeadersOfThoseWhoWait(t *testing.T) {
	for _, policy := range []string{"10/1s", "leaky-bucket+10/1s+capacity%3D3", "leaky-bucket+1/1s+capacity%3D4", "all(10/1s,+token-bucket+12/1s+burst%3D50)"} {
		r := ran(t, "p="+policy+"&r=15&t=5s&c=wait")
		var want, got []string
		for _, rec := range answers(r, 0) {
			if rec.Kind != Waits {
				got = append(got, fmt.Sprintln(rec.At)+Headers(r.scenario.Lanes[0].Policy, &rec))
			}
		}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(Start))
			answer := served(weir.Must(weir.New(r.scenario.Lanes[0].Policy)), time.Hour)
			answers := make(chan string, maxArrivals)
			for _, at := range r.scenario.arrivals() {
				time.Sleep(time.Until(Start.Add(time.Duration(at))))
				synctest.Wait()
				go func() {
					text := answer()
					answers <- fmt.Sprintln(time.Since(Start)) + text
				}()
				synctest.Wait()
			}
			time.Sleep(time.Until(Start.Add(r.scenario.Span)))
			synctest.Wait()
			for range len(answers) {
				want = append(want, <-answers)
			}
			time.Sleep(time.Hour) // those who still wait
		})
		assert.Equal(t, want, got, policy)
	}
}
