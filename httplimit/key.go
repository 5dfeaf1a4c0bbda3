package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"path"
)

// A KeyFunc finds the key of a request: whose allowance it counts for. It is called concurrently,
// and must not change the request.
//
// An error that wraps [ErrNoKey] says that the request lacks what the function looks for; [Or] then
// tries another. ErrSkip says that the request is not to be limited.
type KeyFunc func(*http.Request) (string, error)

var (
	// ErrSkip is what a [KeyFunc] returns for a request that is not limited.
	ErrSkip = errors.New("the request is not limited")

	// ErrNoKey is what the errors of a [KeyFunc] wrap if the request lacks what it looks for.
	ErrNoKey = errors.New("the request has no such key")
)

// Header returns a KeyFunc whose key is the value of a header field, for API keys. A request with
// no value, or with several, has no key: a client must not be able to show one to the limiter, and
// another to whoever checks it.
//
// Clients can make up values, and each starts with a fresh allowance. So either put the limiter
// behind the check of the API key, or another limiter by address in front of it.
func Header(name string) KeyFunc {
	name = http.CanonicalHeaderKey(name)
	none := fmt.Errorf("weir: no value in header field %s: %w", name, ErrNoKey)
	several := fmt.Errorf("weir: several values in header field %s: %w", name, ErrNoKey)
	return func(r *http.Request) (string, error) {
		values := r.Header[name]
		switch {
		case len(values) > 1:
			return "", several
		case len(values) == 0 || values[0] == "":
			return "", none
		}
		return values[0], nil
	}
}

// BasicUser is a KeyFunc whose key is the user name of basic authentication. It does not check the
// password, so a client can send any name: to evade the limit by made-up names, or to use up the
// allowance of another. Use it to slow down the guessing of one user's password, together with a
// limit by address; or behind a handler that has checked the password.
func BasicUser(r *http.Request) (string, error) {
	user, _, ok := r.BasicAuth()
	if !ok || user == "" {
		return "", errNoUser
	}
	return user, nil
}

// Method is a KeyFunc whose key is the request's method. All methods that HTTP does not define have
// one key, since a client can make them up.
func Method(r *http.Request) (string, error) {
	switch r.Method {
	case "":
		return http.MethodGet, nil
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return r.Method, nil
	}
	return "other", nil
}

// Path is a KeyFunc whose key is the path of the request's URL, decoded and without superfluous
// slashes and dots. If the handler serves more than one path a client gets an allowance for each;
// use [Pattern] in that case.
func Path(r *http.Request) (string, error) {
	return path.Clean(r.URL.Path), nil
}

// Pattern is a KeyFunc whose key is the pattern of the [http.ServeMux] that matched the request, such
// as "GET /items/{id}". So a client gains nothing by varying the path. The pattern is known to the
// handlers in the mux only: wrap those, not the mux.
func Pattern(r *http.Request) (string, error) {
	if r.Pattern == "" {
		return "", errNoPattern
	}
	return r.Pattern, nil
}

// ContextValue returns a KeyFunc whose key is a string that an earlier handler, such as one that
// authenticates users, has put in the request's context under the given key. A request without it,
// or with an empty one, has no key.
func ContextValue(key any) KeyFunc {
	none := fmt.Errorf("weir: no context value of key %T: %w", key, ErrNoKey)
	return func(r *http.Request) (string, error) {
		switch value := r.Context().Value(key).(type) {
		case string:
			if value != "" {
				return value, nil
			}
			return "", none
		case nil:
			return "", none
		default:
			return "", fmt.Errorf("weir: context value of key %T is a %T, must be a string", key, value)
		}
	}
}

var (
	errNoUser    = fmt.Errorf("weir: no user name of basic authentication: %w", ErrNoKey)
	errNoPattern = errors.New("weir: no ServeMux pattern, Middleware must wrap a handler in the mux, not the mux")
)
