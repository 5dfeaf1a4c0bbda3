package main

import (
	"net/http"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// ample is so much that no request is denied.
func ample() weir.Limiter {
	return weir.Must(weir.New(weir.TokenBucket{Limit: 1e8, Per: century}))
}

func withoutFields() httplimit.Middleware {
	return httplimit.Middleware{Limiter: ample(), Key: httplimit.RemoteIP}
}

func oneLimit() httplimit.Middleware {
	return httplimit.Middleware{Limiter: ample(), Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{}}
}

func threeLimits() httplimit.Middleware {
	return httplimit.Middleware{
		Limits: []httplimit.Limit{
			{Name: "address", Limiter: ample(), Key: httplimit.RemoteIP},
			{Name: "method", Limiter: ample(), Key: httplimit.Method},
			{Name: "service", Limiter: ample(), Key: httplimit.Everyone},
		},
		Headers: httplimit.RateLimit{},
	}
}

// looksAt is how many requests a middleware looks at, to warn of mistakes. They take longer.
const looksAt = 1000

// serves starts requests through a middleware, after those that it looks at.
func serves(m func() httplimit.Middleware) func(int) func(int) int {
	return func(int) func(int) int {
		served := 0
		h := m().Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		w, r := answer{}, &http.Request{Method: http.MethodGet, RemoteAddr: "192.0.2.1:4711"}
		serve := func(n int) int {
			served = 0
			for range n {
				clear(w)
				h.ServeHTTP(w, r)
			}
			return served
		}
		serve(looksAt)
		return serve
	}
}

// An answer is the header of one, and can be used again.
type answer http.Header

func (a answer) Header() http.Header         { return http.Header(a) }
func (a answer) WriteHeader(int)             {}
func (a answer) Write(b []byte) (int, error) { return len(b), nil }
