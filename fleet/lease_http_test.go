package fleet_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/httplimit"
)

// limiters makes limiters on one store.
type limiters func(name string, p weir.Policy) *weir.KeyedLimiter

// docs/fleet.md says which requests of httplimit a Lease cannot serve from memory.
func TestLease_RequestsOverHTTP(t *testing.T) {
	const requests = 5000
	policy := weir.FixedWindow{Limit: 1_000_000, Per: time.Hour}
	both := weir.All(policy, weir.FixedWindow{Limit: 10_000_000, Per: 24 * time.Hour})
	for _, test := range []struct {
		name  string
		limit func(of limiters) httplimit.Middleware
		calls int64 // of the shared store
	}{
		{"one limit", func(of limiters) httplimit.Middleware {
			return httplimit.Middleware{Limiter: of("a", policy), Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{}}
		}, 23},
		{"All", func(of limiters) httplimit.Middleware {
			return httplimit.Middleware{Limiter: of("a", both), Key: httplimit.RemoteIP}
		}, 24},
		{"All, with its components in the fields", func(of limiters) httplimit.Middleware {
			return httplimit.Middleware{Limiter: of("a", both), Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{}}
		}, requests},
		{"two Limits", func(of limiters) httplimit.Middleware {
			return httplimit.Middleware{Limits: []httplimit.Limit{
				{Name: "address", Limiter: of("a", policy), Key: httplimit.RemoteIP},
				{Name: "all", Limiter: of("b", policy), Key: httplimit.Everyone},
			}}
		}, 2 * requests},
		{"Settle", func(of limiters) httplimit.Middleware {
			return httplimit.Middleware{
				Limiter: of("a", policy), Key: httplimit.RemoteIP,
				Settle: func(*http.Request, int, int64) int { return 1 },
			}
		}, requests},
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := &countingStore{Store: new(weir.MemStore)}
			store := fleet.Lease(shared, fleet.LeaseOptions{})
			h := test.limit(func(name string, p weir.Policy) *weir.KeyedLimiter {
				return weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(name)))
			}).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for range requests {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
				assert.Equal(t, http.StatusOK, w.Code)
			}
			assert.Equal(t, test.calls, shared.calls.Load(), test.name)
		})
	}
}
