package httplimit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

type userKey struct{}

// severalLimits are limits by address, by user and for all.
func severalLimits(n int) []httplimit.Limit {
	return []httplimit.Limit{
		{Name: "address", Limiter: weir.Must(weir.New(roomy)), Key: httplimit.RemoteIP},
		{Name: "user", Limiter: weir.Must(weir.New(roomy)), Key: httplimit.ContextValue(userKey{})},
		{Name: "service", Limiter: weir.Must(weir.New(roomy)), Key: httplimit.Everyone},
	}[:n]
}

// serveLimits returns a function that passes a request through limits.
func serveLimits(n int) func() {
	h := httplimit.Middleware{Limits: severalLimits(n), Headers: httplimit.RateLimit{}}.Wrap(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w := &recorder{header: http.Header{}}
	r := from("192.0.2.1:1234")
	r = r.WithContext(context.WithValue(r.Context(), userKey{}, "alice"))
	return func() {
		w.reset()
		h.ServeHTTP(w, r)
	}
}

// The fields of an answer cost one allocation, however many limits there are.
func TestLimits_Allocations(t *testing.T) {
	for n := 1; n <= 3; n++ {
		assert.LessOrEqual(t, kit.AllocsPerRun(1000, serveLimits(n)), 1.0, "%d limits", n)
	}
}

func BenchmarkLimits(b *testing.B) {
	for n := 1; n <= 3; n++ {
		b.Run([]string{1: "1", 2: "2", 3: "3"}[n], func(b *testing.B) {
			serve := serveLimits(n)
			warmUp(serve)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
