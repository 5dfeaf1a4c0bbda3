package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/weir-go/weir/ginlimit"
	"github.com/weir-go/weir/httplimit"
)

// newGin limits each route and client.
func newGin(limit httplimit.Middleware) http.Handler {
	limit.Key = httplimit.Join(ginlimit.Route, httplimit.RemoteIP)
	router := gin.New()
	router.Use(gin.Recovery())
	limited := router.Group("", ginlimit.New(limit))
	limited.GET("/items/:id", func(c *gin.Context) { c.String(http.StatusOK, "item %s", c.Param("id")) })
	limited.GET("/users/:id", func(c *gin.Context) { c.String(http.StatusOK, "user %s", c.Param("id")) })
	return router
}
