package benchmarks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// The tests of the files comingfrom_*_test.go hold what docs/coming-from.md says of other limiters
// and of weir. Its code stands in these files, word for word: TestDocsCode of the root module
// checks that. Where a test is about time, it runs in a bubble, whose clock stands at midnight UTC.

// grants is how many of n asks are granted, one right after the other.
func grants(n int, ask func() bool) (granted int) {
	for range n {
		if ask() {
			granted++
		}
	}
	return granted
}

// granted checks how many of n asks are granted.
func granted(t *testing.T, who string, n int, ask func() bool, want int) {
	t.Helper()
	if got := grants(n, ask); got != want {
		t.Errorf("%s grants %d of %d asks, not %d", who, got, n, want)
	}
}

// is checks something that the page says.
func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// A middleware is one half of a pair of the page.
type middleware func(next http.Handler) http.Handler

// wrapped is m before a handler that answers 204.
func wrapped(m middleware) http.Handler {
	return m(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
}

// get is the answer of h to a request from 192.0.2.1 with the given fields, by pairs of name and
// value.
func get(h http.Handler, target string, fields ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// passes returns a function that asks h, and reports whether the request passed.
func passes(h http.Handler, target string, fields ...string) func() bool {
	return func() bool { return get(h, target, fields...).StatusCode == http.StatusNoContent }
}

// bubble runs f where time is that of the test.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
