package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// told is a Limiter that gives one answer.
type told struct {
	weir.Limiter
	result weir.Result
}

func (l told) Take(context.Context, string, int) (weir.Result, error) { return l.result, nil }

// The fields that the page shows are those that httplimit writes.
func TestHeadersAreThoseOfHTTPLimit(t *testing.T) {
	names := map[string]string{
		"RateLimit-Policy": "Ratelimit-Policy", "RateLimit": "Ratelimit", "Retry-After": "Retry-After",
	}
	for _, policy := range []string{
		"10/1s", "100/1m+burst%3D30", "leaky-bucket+10/1s", "fixed-window+10/1s", "sliding-window+10/3s", "sliding-log+10/1m",
		"calendar-window+10/month", "calendar-window+10/year", "single-rate-marker+10/1s+burst%3D5+excess%3D5", "two-rate-marker(5/1s,+10/1s)",
		"all(10/1s,+sliding-log+20/5s)", "tiers(5/1s,+sliding-log+20/5s)",
		"tiers(fixed-window+20/1m,+leaky-bucket+5/1s)", "tiers(sliding-window+5/3s,+calendar-window+10/month)",
		"tiers(all(10/1s,+sliding-window+20/1m),+sliding-log+3/1s)", "tiers(tiers(3/1s,+5/10s),+20/1h)",
	} {
		r := ran(t, "p="+policy+"&r=5&b=3s:40&t=5s")
		p := r.scenario.Lanes[0].Policy
		fields := httplimit.RateLimit{Policy: p}
		if strings.HasPrefix(policy, "all") {
			fields.Policy = nil
		}
		kinds := map[Kind]bool{}
		for _, rec := range answers(r, 0) {
			kinds[rec.Kind] = true
			m := httplimit.Middleware{
				Limiter: told{result: rec.Result}, Key: func(*http.Request) (string, error) { return "k", nil }, Headers: fields,
			}
			w := httptest.NewRecorder()
			m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			want := fmt.Sprintf("HTTP/1.1 %d %s\n", w.Code, http.StatusText(w.Code))
			for _, name := range []string{"RateLimit-Policy", "RateLimit", "Retry-After"} {
				if value := w.Header()[names[name]]; value != nil {
					want += name + ": " + strings.Join(value, ", ") + "\n"
				}
			}
			require.Equal(t, want, Headers(p, rec.Result), policy)
		}
		assert.True(t, kinds[Granted] && kinds[Denied], policy)
	}
}
