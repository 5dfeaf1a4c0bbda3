package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
)

// A KeyFunc returns the key of a request: the request uses the allowance of that key. Several
// goroutines may call it at once. It must not change the request.
//
// A [Middleware] calls it before the decision. The function must not read the body: otherwise
// clients whose requests are then refused could fill memory and disk. Note that
// [http.Request.FormValue] reads the body of a form. For a parameter of the URL, use
// r.URL.Query().Get.
//
// Two kinds of error have a meaning:
//
//   - An error that wraps [ErrNoKey]: the request lacks what the function looks for. [Or] then
//     tries its next KeyFunc.
//   - [ErrSkip], or an error that wraps it: the limit does not apply to the request.
type KeyFunc func(*http.Request) (string, error)

var (
	// ErrSkip is the error of a [KeyFunc] for a request to which the limit does not apply.
	ErrSkip = errors.New("the request is not limited")

	// ErrNoKey says that the request lacks what a [KeyFunc] looks for, such as a header field. The
	// error of the KeyFunc wraps it. The errors of [Pattern], and of the KeyFuncs for addresses, do
	// not wrap it, because they show a fault of the wiring.
	ErrNoKey = errors.New("the request has no such key")
)

// Header returns a KeyFunc whose key is the value of a header field. It is for API keys. For
// addresses use [HeaderIP]. If the field is missing or empty, or comes more than once, the request
// has no key. If several fields were accepted, a client could show one value to the limiter, and
// another to the code that checks the API key.
//
// Clients can make up values, and a new value usually has a full allowance. Put the limiter behind
// the check of the API key, or put a limit by address in front of the limiter. Clients can also
// make up the field Host, whose value is that of [http.Request.Host].
func Header(name string) KeyFunc {
	name = http.CanonicalHeaderKey(name)
	none := fmt.Errorf("weir: no value in header field %s: %w", name, ErrNoKey)
	several := fmt.Errorf("weir: several values in header field %s: %w", name, ErrNoKey)
	return func(r *http.Request) (string, error) {
		values := r.Header[name]
		switch {
		case name == "Host" && r.Host != "": // net/http moves it there
			return r.Host, nil
		case len(values) > 1:
			return "", several
		case len(values) == 0 || values[0] == "":
			return "", none
		}
		return values[0], nil
	}
}

// BasicUser is a KeyFunc whose key is the user name of basic authentication. It does not check the
// password. A client can send any name, to evade the limit or to use up the allowance of another
// user. Use it in one of two ways:
//
//   - to slow down the guessing of one user's password, together with a limit by address
//   - behind a handler that has checked the password
//
// A request without a name has no key, and gets the status 400 by default. Browsers ask for the
// password only after a 401. In front of the handler that sends the 401, use Or(BasicUser,
// RemoteIP): with BasicUser alone, the limit answers with the 400, and that handler cannot send its
// 401.
func BasicUser(r *http.Request) (string, error) {
	user, _, ok := r.BasicAuth()
	if !ok || user == "" {
		return "", errNoUser
	}
	return user, nil
}

// Method is a KeyFunc whose key is the request's method. All methods for which net/http has no
// constant share one key, because clients can make up methods.
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

// Everyone is a KeyFunc with one key for all requests, for a limit that all clients share. It
// protects what all requests use, such as a database. One client can use up the allowance of all:
// add a limit by client, as one of the Limits of the same [Middleware].
func Everyone(*http.Request) (string, error) { return "everyone", nil }

// Path is a KeyFunc whose key is the path of the request's URL, decoded and cleaned by
// [path.Clean]: /a/ and /a are one key. If the handler serves several paths, a client can use the
// allowance of each: take [Pattern] instead.
func Path(r *http.Request) (string, error) {
	return path.Clean(cmp.Or(r.URL.Path, "/")), nil // http://a.example is http://a.example/
}

// Pattern is a KeyFunc whose key is the pattern of the [http.ServeMux] that matched the request,
// such as "GET /items/{id}". All paths that match one pattern share an allowance. The mux sets the
// pattern before it calls a handler. Therefore wrap each handler that the mux calls, and not the
// mux itself. A request without a pattern is an error.
func Pattern(r *http.Request) (string, error) {
	if r.Pattern == "" {
		return "", errNoPattern
	}
	return r.Pattern, nil
}

// ContextValue returns a KeyFunc whose key is a string in the request's context. An earlier
// handler, such as one that authenticates users, puts it there under the given key. A request
// without the value, or with an empty one, has no key. A value of another type than string is an
// error.
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
	errNoPattern = errors.New("weir: the request has no pattern, the Middleware must wrap the handlers of routes, not the router")
)
