package httplimit_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A hint is what an answer tells a client: r events, and no more of them for t.
type hint struct {
	r int64
	t time.Duration
}

// tightest reads the fields of an answer. Of several limits it is the one that leaves the least,
// and of these the one that lasts longest.
func tightest(t *testing.T, h http.Header) hint {
	if r := h.Get("RateLimit-Remaining"); r != "" {
		remaining, err := strconv.ParseInt(r, 10, 64)
		require.NoError(t, err)
		reset, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64)
		require.NoError(t, err)
		return hint{remaining, time.Duration(reset) * time.Second}
	}
	_, limits := fieldsOf(t, h)
	tight := hint{r: 1 << 62}
	for _, l := range limits {
		one := hint{l.params["r"], time.Duration(l.params["t"]) * time.Second}
		if one.r < tight.r || one.r == tight.r && one.t > tight.t {
			tight = one
		}
	}
	return tight
}

// Clients that do what the fields tell get the whole limit of every policy, and are never refused.
// They are of two kinds: one sends what remains at once, and waits for t when nothing does. The
// other spreads what remains over t.
func TestRateLimit_ObedientClientsGetTheWholeLimit(t *testing.T) {
	hours := time.Duration(runs.Long(3, 2))
	policies := append(kit.AllPolicies(600, time.Hour), kit.MorePolicies(600, time.Hour)...)
	policies = append(
		policies,
		weir.SlidingWindow{Limit: 6000, Per: time.Hour},
		weir.TokenBucket{Limit: 1200, Per: time.Hour, Burst: 20},
		weir.All(weir.FixedWindow{Limit: 100, Per: time.Minute}, weir.SlidingWindow{Limit: 1200, Per: time.Hour}),
		weir.Tiers(weir.FixedWindow{Limit: 100, Per: time.Hour}, weir.SlidingLog{Limit: 600, Per: time.Hour}),
	)
	// run counts what a client gets. It starts within an hour, at a time that suits no window.
	run := func(p weir.Policy, serve func(l *weir.KeyedLimiter) (granted bool, wait time.Duration)) (granted, atFirst, refused int) {
		l, clock := kit.Frozen(p)
		clock.Time = time.Date(2027, time.March, 4, 12, 23, 45, 678, time.UTC)
		start := clock.Time
		for end := clock.Time.Add(hours * time.Hour); clock.Time.Before(end); {
			ok, wait := serve(l)
			if ok {
				granted++
			} else {
				refused++
			}
			if clock.Time.Equal(start) {
				atFirst = granted
			}
			clock.Time = clock.Time.Add(wait)
		}
		return granted, atFirst, refused
	}
	for i, p := range policies {
		if i%runs.Long(1, 9) != 0 {
			continue
		}
		// The most that anyone can get: by asking all the time.
		most, burst, _ := run(p, func(l *weir.KeyedLimiter) (bool, time.Duration) {
			r := kit.Take(t, l, "one", 1)
			return r.Allowed, r.RetryAfter
		})
		for _, headers := range []httplimit.Headers{httplimit.RateLimit{Policy: p}, httplimit.LegacyRateLimit{}} {
			for name, wait := range map[string]func(hint) time.Duration{
				"at once": func(h hint) time.Duration {
					if h.r > 0 {
						return 0
					}
					return h.t
				},
				"evenly": func(h hint) time.Duration { return h.t / time.Duration(max(h.r, 1)) },
			} {
				var h http.Handler
				got, _, refused := run(p, func(l *weir.KeyedLimiter) (bool, time.Duration) {
					if h == nil {
						h = middleware(l, headers).Wrap(ok)
					}
					resp := serve(h, request())
					return resp.StatusCode == http.StatusOK, wait(tightest(t, resp.Header))
				})
				assert.Zero(t, refused, "%v %T %s", p, headers, name)
				due := most
				if name == "evenly" {
					due -= burst // there is no time to spread what is left at the end
				}
				assert.GreaterOrEqual(t, float64(got), 0.95*float64(due), "%v %T %s: %d of %d", p, headers, name, got, due)
			}
		}
	}
}
