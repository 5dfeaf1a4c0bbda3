package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// The one user who can log in, and the users of the API by their keys.
const (
	loginUser     = "ada"
	loginPassword = "lovelace"
)

var apiKeys = map[string]string{"key-of-ada": "ada", "key-of-grace": "grace"}

// userKey is the key of the user in the context of a request.
type userKey struct{}

// authenticate refuses requests with an unknown API key. Otherwise a client would have an allowance
// for each key that it makes up. Requests with a known key pass, with its user in the context.
// Requests without any key pass too.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if given := r.Header.Values("X-API-Key"); len(given) > 0 {
			user, ok := apiKeys[given[0]]
			if !ok || len(given) > 1 {
				http.Error(w, "unknown API key", http.StatusUnauthorized)
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), userKey{}, user))
		}
		next.ServeHTTP(w, r)
	})
}

func serveLogin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	user := subtle.ConstantTimeCompare([]byte(r.PostFormValue("user")), []byte(loginUser))
	password := subtle.ConstantTimeCompare([]byte(r.PostFormValue("password")), []byte(loginPassword))
	if user&password == 0 {
		http.Error(w, "wrong user or password", http.StatusUnauthorized)
		return
	}
	fmt.Fprintln(w, "welcome, "+loginUser)
}

// itemCount is how many items a request wants. It counts as so many.
func itemCount(r *http.Request) (int, error) {
	return intParam(r, "n", 1)
}

func serveItems(w http.ResponseWriter, r *http.Request) {
	n, err := itemCount(r)
	from, err2 := intParam(r, "from", 0)
	if err != nil || err2 != nil {
		http.Error(w, "n must be a whole number, at least 1, and from at least 0", http.StatusBadRequest)
		return
	}
	items := make([]string, n) // no more than were granted
	for i := range items {
		items[i] = fmt.Sprintf("item %d", uint64(from)+uint64(i))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(items) // an error means that the client is gone
}

// intParam is a parameter of the query, at least and by default least. r.FormValue would also read
// the body: itemCount is asked before the limit has decided, and a refused request must cost
// nothing.
func intParam(r *http.Request, name string, least int) (int, error) {
	value := r.URL.Query().Get(name)
	if value == "" {
		return least, nil
	}
	n, err := strconv.Atoi(value)
	if err == nil && n < least {
		err = strconv.ErrRange
	}
	return n, err
}

func serveReport(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintln(w, "a report that takes half a second of somebody's database")
}

func serveHealth(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
