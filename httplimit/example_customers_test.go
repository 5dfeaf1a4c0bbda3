package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// The function is in docs/choosing.md.

// limitCustomers limits each customer, except those without a limit, and refuses blocked ones.
func limitCustomers(customer httplimit.KeyFunc, unlimited, blocked map[string]bool, next http.Handler) http.Handler {
	limited := httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 60, Per: time.Minute})),
		Key: func(r *http.Request) (string, error) {
			key, err := customer(r)
			if err == nil && unlimited[key] {
				return "", httplimit.ErrSkip
			}
			return key, err
		},
	}.Wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key, err := customer(r); err == nil && blocked[key] {
			http.Error(w, "this account is blocked", http.StatusForbidden)
			return
		}
		limited.ServeHTTP(w, r)
	})
}

// In the bubble time stands still, and nothing is earned.
func TestExampleCustomers(t *testing.T) { synctest.Test(t, testExampleCustomers) }

func testExampleCustomers(t *testing.T) {
	handler := limitCustomers(httplimit.Header("Customer"), map[string]bool{"free of limits": true},
		map[string]bool{"blocked": true}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	answers := map[string]int{}
	for range 61 {
		for _, customer := range []string{"usual", "free of limits", "blocked"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Customer", customer)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			answers[customer+" "+http.StatusText(w.Code)]++
		}
	}
	assert.Equal(t, map[string]int{
		"usual OK": 60, "usual Too Many Requests": 1, "free of limits OK": 61, "blocked Forbidden": 61,
	}, answers)
}
