package main

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/weir-go/weir/httplimit"
)

// newEcho limits each route and client.
func newEcho(limit httplimit.Middleware) http.Handler {
	limit.Key = httplimit.Join(httplimit.Pattern, httplimit.RemoteIP)
	e := echo.New()
	limited := e.Group("", echo.WrapMiddleware(limit.Wrapper()), errorsInside)
	limited.GET("/items/:id", func(c *echo.Context) error { return c.String(http.StatusOK, "item "+c.Param("id")) })
	limited.GET("/users/:id", func(c *echo.Context) error { return c.String(http.StatusOK, "user "+c.Param("id")) })
	return e
}

// errorsInside answers errors of handlers before the limit sees the answer. Without it, Echo answers
// them later, and a Settle sees the status 200.
func errorsInside(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c *echo.Context) error {
		if err := next(c); err != nil {
			c.Echo().HTTPErrorHandler(c, err)
		}
		return nil
	}
}
