package main

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/weir-go/weir/httplimit"
)

// newChi limits each route and client. Limits behind With know the route; those behind Use do not.
func newChi(limit httplimit.Middleware) http.Handler {
	limit.Key = httplimit.Join(httplimit.Pattern, httplimit.RemoteIP)
	router := chi.NewRouter()
	limited := router.With(limit.Wrap)
	limited.Get("/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "item ", chi.URLParam(r, "id"))
	})
	limited.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "user ", chi.URLParam(r, "id"))
	})
	return router
}
