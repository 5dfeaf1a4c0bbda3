package main

import (
	"context"
	"net"
	"net/http"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/valyala/fasthttp"

	"github.com/weir-go/weir/httplimit"
)

type routeKey struct{}

// newFiber limits each route and client. Fiber's Locals are values in the context of the request.
func newFiber(limit httplimit.Middleware) *fiber.App {
	limit.Key = httplimit.Join(httplimit.ContextValue(routeKey{}), httplimit.RemoteIP)
	limited := limitFiber(limit)
	app := fiber.New()
	app.Get("/items/:id", noteRoute, limited, func(c fiber.Ctx) error { return c.SendString("item " + c.Params("id")) })
	app.Get("/users/:id", noteRoute, limited, func(c fiber.Ctx) error { return c.SendString("user " + c.Params("id")) })
	return app
}

// noteRoute tells the limit the route, such as "/items/:id".
func noteRoute(c fiber.Ctx) error {
	c.Locals(routeKey{}, c.Route().Path)
	return c.Next()
}

// limitFiber returns m as a handler of Fiber. It wraps m once. adaptor.HTTPMiddleware would call
// Wrap again for each request.
func limitFiber(m httplimit.Middleware) fiber.Handler {
	type passedKey struct{}
	limit := m.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		*r.Context().Value(passedKey{}).(*bool) = true
	}))
	limited := adaptor.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit.ServeHTTP(w, r.WithContext(localsOf(r.Context().(*fasthttp.RequestCtx))))
	}))
	return func(c fiber.Ctx) error {
		passed := false
		c.Locals(passedKey{}, &passed)
		if err := limited(c); err != nil || !passed {
			return err
		}
		return c.Next()
	}
}

// localsOf returns a context with a copy of the Locals in Fiber's context. Fiber reuses its context
// for another request as soon as this one is answered, and a store may still read the context then.
func localsOf(own *fasthttp.RequestCtx) context.Context {
	ctx := context.Background()
	own.VisitUserValuesAll(func(key, value any) { ctx = context.WithValue(ctx, key, value) })
	return ctx
}

// A fiberServer is an App with the methods of an http.Server.
type fiberServer struct{ app *fiber.App }

func (s fiberServer) Serve(ln net.Listener) error {
	return s.app.Listener(ln, fiber.ListenConfig{DisableStartupMessage: true})
}

func (s fiberServer) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }
