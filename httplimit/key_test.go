package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/httplimit"
)

// keyOf is the key that f finds, or what kind of error it returns.
func keyOf(f httplimit.KeyFunc, r *http.Request) string {
	key, err := f(r)
	switch {
	case err == nil:
		return key
	case key != "":
		return "key and error"
	case errors.Is(err, httplimit.ErrNoKey):
		return "no key"
	case errors.Is(err, httplimit.ErrSkip):
		return "skip"
	default:
		return "error"
	}
}

func TestHeader(t *testing.T) {
	f := httplimit.Header("x-api-key")
	for _, c := range []struct {
		r    *http.Request
		want string
	}{
		{request("X-Api-Key", "a"), "a"},
		{request("X-API-KEY", "a, b"), "a, b"},
		{request(), "no key"},
		{request("X-Api-Key", ""), "no key"},
		// One for the limiter and another for whoever checks it.
		{request("X-Api-Key", "fresh", "X-Api-Key", "mine"), "no key"},
		{request("X-Api-Key", "mine", "X-Api-Key", "mine"), "no key"},
		{request("X-Api-Keys", "a"), "no key"},
	} {
		assert.Equal(t, c.want, keyOf(f, c.r), "%v", c.r.Header)
	}
}

// A server of net/http does not leave Host among the header fields.
func TestHeader_Host(t *testing.T) {
	r := request()
	r.Host = "example.com:8080"
	assert.Equal(t, "example.com:8080", keyOf(httplimit.Header("host"), r))
	r.Host = ""
	assert.Equal(t, "no key", keyOf(httplimit.Header("Host"), r))
}

func TestBasicUser(t *testing.T) {
	r := request()
	assert.Equal(t, "no key", keyOf(httplimit.BasicUser, r))
	r.SetBasicAuth("alice", "wrong password")
	assert.Equal(t, "alice", keyOf(httplimit.BasicUser, r), "the password is not checked")
	r.SetBasicAuth("", "p")
	assert.Equal(t, "no key", keyOf(httplimit.BasicUser, r))
}

func TestMethod(t *testing.T) {
	for method, want := range map[string]string{
		"GET": "GET", "POST": "POST", "HEAD": "HEAD", "OPTIONS": "OPTIONS", "": "GET",
		// Else every made-up method would start with a fresh allowance.
		"get": "other", "GETS": "other", "X1": "other", "X2": "other", "PROPFIND": "other",
	} {
		assert.Equal(t, want, keyOf(httplimit.Method, &http.Request{Method: method}), method)
	}
}

func TestPath(t *testing.T) {
	for _, same := range []string{"/a/b", "/a/b/", "//a//b", "/a/./b", "/a/x/../b", "/a/%62", "/a/b?x=1"} {
		assert.Equal(t, "/a/b", keyOf(httplimit.Path, httptest.NewRequest("GET", same, nil)), same)
	}
	assert.Equal(t, "/A/b", keyOf(httplimit.Path, httptest.NewRequest("GET", "/A/b", nil)))
	for _, root := range []string{"/", "//", "/.", "/a/..", "http://a.example/", "http://a.example", "http://a.example?x=1"} {
		assert.Equal(t, "/", keyOf(httplimit.Path, httptest.NewRequest("GET", root, nil)), root)
	}
}

// Varying the path is no way to a fresh allowance.
func TestP15_PatternIsOneBucket(t *testing.T) {
	l, _ := frozen(per(2, 1))
	m := httplimit.Middleware{Limiter: l, Key: httplimit.Pattern}
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", m.Wrap(ok))
	mux.Handle("GET /other", m.Wrap(ok))
	url, client := loopback(t, mux)

	for _, c := range []struct {
		path string
		want int
	}{
		{"/items/1", 200},
		{"/items/2", 200},
		{"/items/3", 429},
		{"/items/%34?x=5", 429},
		{"/other", 200},
	} {
		resp, _ := do(t, client, "GET", url+c.path)
		assert.Equal(t, c.want, resp.StatusCode, c.path)
	}
}

// Around the mux there is no pattern yet. That is an error, not one bucket for all and not
// unlimited.
func TestPattern_AroundTheMux(t *testing.T) {
	assert.Equal(t, "error", keyOf(httplimit.Pattern, request()))
}

type ctxKey struct{ name string }

func TestContextValue(t *testing.T) {
	f := httplimit.ContextValue(ctxKey{"user"})
	with := func(v any) *http.Request {
		return request().WithContext(context.WithValue(context.Background(), ctxKey{"user"}, v))
	}
	assert.Equal(t, "alice", keyOf(f, with("alice")))
	assert.Equal(t, "no key", keyOf(f, with("")))
	assert.Equal(t, "no key", keyOf(f, request()))
	assert.Equal(t, "error", keyOf(f, with(7)), "wired wrongly")
	_, err := f(with(7))
	assert.EqualError(t, err, "weir: context value of key httplimit_test.ctxKey is a int, must be a string")
}
