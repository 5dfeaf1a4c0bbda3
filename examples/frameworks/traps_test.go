package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// What docs/frameworks.md says of the frameworks and their adapters. If a test fails after an
// update of a framework, the page must change.

func serveHandler(t *testing.T, h http.Handler) string { return start(t, &http.Server{Handler: h}) }

// chi knows the route behind With, and not behind Use.
func TestChi_Use(t *testing.T) {
	limit := twoAMinute()
	limit.Key = httplimit.Pattern
	router := chi.NewRouter()
	router.Use(limit.Wrap)
	router.Get("/items/{id}", func(http.ResponseWriter, *http.Request) {})
	answer, _ := get(t, serveHandler(t, router)+"/items/1")
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
}

// In a router below another, Use knows that router alone. With and Group know the route.
func TestChi_UseBelow(t *testing.T) {
	for where, use := range map[string]func(chi.Router, func(http.Handler) http.Handler) chi.Router{
		"Use":  func(r chi.Router, limit func(http.Handler) http.Handler) chi.Router { r.Use(limit); return r },
		"With": func(r chi.Router, limit func(http.Handler) http.Handler) chi.Router { return r.With(limit) },
		"Group": func(r chi.Router, limit func(http.Handler) http.Handler) chi.Router {
			return r.Group(func(r chi.Router) { r.Use(limit) })
		},
	} {
		key := ""
		limit := twoAMinute()
		limit.Key = httplimit.Pattern
		limit.Observe = func(_ *http.Request, d httplimit.Decision) { key = d.Key }
		router := chi.NewRouter()
		router.Route("/api", func(r chi.Router) {
			use(r, limit.Wrap).Get("/items/{id}", func(http.ResponseWriter, *http.Request) {})
		})
		router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/items/1", nil))
		assert.Equal(t, map[bool]string{true: "/api/*", false: "/api/items/{id}"}[where == "Use"], key, where)
	}
}

// gorilla/mux asks no middleware about requests without a route.
func TestGorilla_NoRoute(t *testing.T) {
	limit := twoAMinute()
	limit.Key = httplimit.RemoteIP
	router := mux.NewRouter()
	router.Use(limit.Wrapper())
	router.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	url := serveHandler(t, router)
	for range 5 {
		answer, _ := get(t, url+"/none")
		assert.Equal(t, http.StatusNotFound, answer.StatusCode)
	}
}

// failedLogins counts answers of 401.
func failedLogins(seen *atomic.Int64) httplimit.Middleware {
	limit := twoAMinute()
	limit.Key = httplimit.RemoteIP
	limit.Settle = func(_ *http.Request, status int, _ int64) int {
		seen.Store(int64(status))
		if status == http.StatusUnauthorized {
			return 1
		}
		return 0
	}
	return limit
}

// Echo answers errors of handlers when all middleware has returned. errorsInside answers them
// before the limit looks.
func TestEcho_Settle(t *testing.T) {
	for _, test := range []struct {
		more []echo.MiddlewareFunc
		want int64
	}{
		{nil, http.StatusOK},
		{[]echo.MiddlewareFunc{errorsInside}, http.StatusUnauthorized},
	} {
		var seen atomic.Int64
		e := echo.New()
		e.Use(append([]echo.MiddlewareFunc{echo.WrapMiddleware(failedLogins(&seen).Wrapper())}, test.more...)...)
		e.GET("/login", func(*echo.Context) error { return echo.ErrUnauthorized })
		answer, _ := get(t, serveHandler(t, e)+"/login")
		assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		assert.Equal(t, test.want, seen.Load())
	}
}

// Middleware of Echo in front of the limit gets no error for a request that was denied. It sees the
// status in the response.
func TestEcho_InFront(t *testing.T) {
	limit := twoAMinute()
	limit.Key = httplimit.RemoteIP
	var statuses []int
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			err := next(c)
			assert.NoError(t, err)
			r, err := echo.UnwrapResponse(c.Response())
			assert.NoError(t, err)
			statuses = append(statuses, r.Status)
			return err
		}
	}, echo.WrapMiddleware(limit.Wrapper()))
	e.GET("/", func(c *echo.Context) error { return c.NoContent(http.StatusAccepted) })
	url := serveHandler(t, e)
	for range 3 {
		get(t, url)
	}
	assert.Equal(t, []int{202, 202, 429}, statuses)
}

// A request without a route has no pattern. Wrap groups, and not all of Echo, if the key is the
// route.
func TestEcho_NoRoute(t *testing.T) {
	limit := twoAMinute()
	limit.Key = httplimit.Pattern
	e := echo.New()
	e.Use(echo.WrapMiddleware(limit.Wrapper()))
	answer, _ := get(t, serveHandler(t, e)+"/none")
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)

	url := serveHandler(t, newEcho(twoAMinute())) // a group, with a pattern for all that has no route
	for i, request := range []string{"GET /none", "POST /items/1", "GET /none"} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequest(method, url+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		assert.NoError(t, answer.Body.Close())
		assert.Equal(t, i < 2, answer.StatusCode == http.StatusNotFound, answer.Status)
	}
}

// gorilla/mux and Echo call Wrap for each request. A Wrapper prepares the limit once, and its checks
// of the wiring see all requests.
func TestWrapper(t *testing.T) {
	for name, newHandler := range map[string]func(wrap func(http.Handler) http.Handler) http.Handler{
		"gorilla": func(wrap func(http.Handler) http.Handler) http.Handler {
			router := mux.NewRouter()
			router.Use(wrap)
			router.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
			return router
		},
		"echo": func(wrap func(http.Handler) http.Handler) http.Handler {
			e := echo.New()
			e.Use(echo.WrapMiddleware(wrap))
			e.GET("/", func(c *echo.Context) error { return c.NoContent(http.StatusOK) })
			return e
		},
	} {
		var told []httplimit.Check
		limit := newLimit(weir.SlidingLog{Limit: 20, Per: time.Minute})
		limit.Key = httplimit.RemoteIP
		limit.Warn = func(c httplimit.Check, _ string) { told = append(told, c) }
		wraps, wrapper := 0, limit.Wrapper()
		h := newHandler(func(next http.Handler) http.Handler {
			wraps++
			return wrapper(next)
		})
		for i := range 21 {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = "10.0.0.1:1" // a proxy that nobody trusts
			r.Header.Set("X-Forwarded-For", "192.0.2."+strconv.Itoa(i))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, i < 20, w.Code == http.StatusOK, "%s: %d", name, i)
		}
		assert.Equal(t, []httplimit.Check{httplimit.CheckForwarded}, told, name)
		assert.Equal(t, 21, wraps, "%s: if it is 1, Wrap would do", name)
	}
}

func serveFiber(t *testing.T, limited fiber.Handler, h fiber.Handler) string {
	app := fiber.New()
	app.Get("/", limited, h)
	return start(t, fiberServer{app})
}

func fine(c fiber.Ctx) error { return c.SendString("fine") }

// adaptor.HTTPMiddleware wraps for each request, limitFiber once.
func TestFiber_WrapsOnce(t *testing.T) {
	for _, test := range []struct {
		limited func(m httplimit.Middleware, wraps *atomic.Int64) fiber.Handler
		want    int64
	}{
		{func(m httplimit.Middleware, wraps *atomic.Int64) fiber.Handler {
			return adaptor.HTTPMiddleware(func(next http.Handler) http.Handler {
				wraps.Add(1)
				return m.Wrap(next)
			})
		}, 3},
		{func(m httplimit.Middleware, wraps *atomic.Int64) fiber.Handler {
			wraps.Add(1)
			return limitFiber(m)
		}, 1},
	} {
		var wraps atomic.Int64
		limit := twoAMinute()
		limit.Key = httplimit.RemoteIP
		url := serveFiber(t, test.limited(limit, &wraps), fine)
		var codes []int
		for range 3 {
			answer, _ := get(t, url)
			codes = append(codes, answer.StatusCode)
		}
		assert.Equal(t, []int{200, 200, 429}, codes)
		assert.Equal(t, test.want, wraps.Load())
	}
}

// Fiber's handler runs when the limit has returned. A Settle sees neither its status nor its body.
func TestFiber_Settle(t *testing.T) {
	var seen atomic.Int64
	url := serveFiber(t, limitFiber(failedLogins(&seen)), func(c fiber.Ctx) error { return c.SendStatus(401) })
	answer, _ := get(t, url)
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	assert.EqualValues(t, http.StatusOK, seen.Load())
}

// Of a header field on several lines, the adaptor keeps the last line.
func TestFiber_RepeatedFields(t *testing.T) {
	limit := twoAMinute()
	var key atomic.Value
	limit.Key = httplimit.Header("X-API-Key")
	limit.Observe = func(_ *http.Request, d httplimit.Decision) { key.Store(strings.Clone(d.Key)) }
	url := serveFiber(t, limitFiber(limit), fine)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header["X-Api-Key"] = []string{"first", "last"}
	answer, _ := do(t, r)
	assert.Equal(t, http.StatusOK, answer.StatusCode, "httplimit alone answers 400")
	assert.Equal(t, "last", key.Load())

	w := httptest.NewRecorder()
	limit.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
	assert.Equal(t, http.StatusBadRequest, w.Code)
}

// A store may read the context of a request that has been answered. It still has the values of that
// request, while Fiber serves the next.
func TestFiber_ContextOfOneRequest(t *testing.T) {
	type userKey struct{}
	var contexts []context.Context
	limit := twoAMinute()
	limit.Key = httplimit.ContextValue(userKey{})
	limit.Observe = func(r *http.Request, _ httplimit.Decision) { contexts = append(contexts, r.Context()) }
	app, users := fiber.New(), []string{"ada", "bob"}
	app.Get("/", func(c fiber.Ctx) error {
		c.Locals(userKey{}, users[len(contexts)])
		return c.Next()
	}, limitFiber(limit), fine)
	url := start(t, fiberServer{app})
	for range users {
		get(t, url)
	}
	for i, user := range users {
		assert.Equal(t, user, contexts[i].Value(userKey{}))
	}
}
