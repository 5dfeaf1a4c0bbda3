// Package ginlimit limits the requests to handlers of gin. It makes a handler of gin from a
// Middleware of package httplimit, with the same options, keys, answers and header fields.
//
//	limit := ginlimit.New(httplimit.Middleware{
//		Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute})),
//		Key:     httplimit.RemoteIP,
//	})
//	router := gin.Default()
//	router.GET("/items/:id", limit, showItem)
//
// All key functions of httplimit work. The key of [httplimit.Pattern] is the path of the route, and
// the key of [Route] also has the method. The key of [Value] comes from gin's context. If a request
// matches no route, Route still finds a key, but Pattern returns an error. A limit by Pattern that
// is added with router.Use then answers with a 503 by default.
//
// For the address of a client behind proxies, use [httplimit.ForwardedIP]. It trusts only the
// proxies that you name. gin's own ClientIP trusts every proxy, unless it is configured otherwise.
package ginlimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weir-go/weir/httplimit"
)

// New returns a handler of gin that passes on the requests within the limit. It answers the others
// as m would, and aborts: no later handler of the chain runs. The handler is safe for concurrent
// use. New panics in the same cases as [httplimit.Middleware.Wrap].
//
// Routes share an allowance if their Middlewares have the same Limiter and their requests have the
// same key. It does not matter whether New is called once or for each route.
//
// The Settle of m gets the status and the bytes of the answer, no matter how handlers behind the
// limit write it. It does not get what handlers in front of the limit write afterwards, such as a
// page for the errors of c.Error. If gin's HandleContext has answered, the bytes are 0.
func New(m httplimit.Middleware) gin.HandlerFunc {
	limited := m.Wrap(http.HandlerFunc(pass))
	return func(c *gin.Context) {
		outer := c.Request
		defer func() { // net/http removes the files of an upload that the outer request knows
			if outer.MultipartForm == nil {
				outer.MultipartForm = c.Request.MultipartForm
			}
		}()
		p := &passage{c: c}
		r := outer.WithContext(context.WithValue(outer.Context(), passageKey{}, p))
		r.Pattern = c.FullPath() // as a ServeMux does it
		limited.ServeHTTP(c.Writer, r)
		if !p.granted {
			c.Abort()
		}
	}
}

// A passage is a request on its way through a limit.
type passage struct {
	c       *gin.Context
	granted bool
}

type passageKey struct{}

// pass is the handler behind the limit. It goes on with gin's chain.
func pass(w http.ResponseWriter, r *http.Request) {
	p := r.Context().Value(passageKey{}).(*passage)
	p.granted = true
	c := p.c
	c.Request = r
	if _, own := w.(gin.ResponseWriter); own { // as it was passed in
		c.Next()
		return
	}
	outer := c.Writer
	c.Writer = &writer{outer, w}
	defer func() { c.Writer = outer }()
	c.Next()
	w.WriteHeader(outer.Status()) // the Middleware has not seen it if gin's HandleContext has answered
}

// Context returns gin's context of a request, for a key, a cost or a Settle of your own:
//
//	Key: func(r *http.Request) (string, error) { return ginlimit.Context(r).Param("tenant"), nil },
//
// It returns nil if the request does not come from a handler of [New]. The context must not be used
// after the request has been answered.
func Context(r *http.Request) *gin.Context {
	if p, ok := r.Context().Value(passageKey{}).(*passage); ok {
		return p.c
	}
	return nil
}

var errNoGin = errors.New("weir: no context of gin, the Middleware must be used by ginlimit.New")

// Route is a [httplimit.KeyFunc] whose key is the route that matched the request, such as
// "GET /items/:id". A client cannot evade the limit by varying the path. Requests with no route and
// the same method share a key.
func Route(r *http.Request) (string, error) {
	c := Context(r)
	if c == nil {
		return "", errNoGin
	}
	method, err := httplimit.Method(r)
	return method + " " + c.FullPath(), err
}

// Value returns a [httplimit.KeyFunc] whose key is a string that an earlier handler has put into
// gin's context by Set, such as the user that it has authenticated. A request without the value, or
// with an empty one, has no key. A value that is not a string is an error.
func Value(key any) httplimit.KeyFunc {
	none := fmt.Errorf("weir: no value of key %v in gin's context: %w", key, httplimit.ErrNoKey)
	return func(r *http.Request) (string, error) {
		c := Context(r)
		if c == nil {
			return "", errNoGin
		}
		switch value, _ := c.Get(key); value := value.(type) {
		case string:
			if value == "" {
				return "", none
			}
			return value, nil
		case nil:
			return "", none
		default:
			return "", fmt.Errorf("weir: the value of key %v in gin's context is a %T, must be a string", key, value)
		}
	}
}
