package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/weir-go/weir/httplimit"
)

// newGorilla limits each route and client.
func newGorilla(limit httplimit.Middleware) http.Handler {
	limit.Key = httplimit.Join(gorillaRoute, httplimit.RemoteIP)
	router := mux.NewRouter()
	router.Use(limit.Wrapper())
	router.HandleFunc("/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "item ", mux.Vars(r)["id"])
	}).Methods(http.MethodGet)
	router.HandleFunc("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "user ", mux.Vars(r)["id"])
	}).Methods(http.MethodGet)
	return router
}

// gorillaRoute is a KeyFunc whose key is the route, such as "/items/{id}".
func gorillaRoute(r *http.Request) (string, error) {
	route := mux.CurrentRoute(r)
	if route == nil {
		return "", errors.New("no route: the limit must be behind Use")
	}
	return route.GetPathTemplate()
}
