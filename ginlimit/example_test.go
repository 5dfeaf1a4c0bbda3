package ginlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/ginlimit"
	"github.com/weir-go/weir/httplimit"
)

// Each user has an allowance for each route. An earlier handler has authenticated the user.
func Example() {
	limit := ginlimit.New(httplimit.Middleware{
		Limiter: weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Minute})),
		Key:     httplimit.Join(ginlimit.Value("user"), ginlimit.Route),
	})
	router := gin.New()
	router.Use(func(c *gin.Context) { c.Set("user", "ada") })
	router.GET("/items/:id", limit, func(c *gin.Context) { c.String(http.StatusOK, "item %s", c.Param("id")) })

	for i := range 3 {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprint("/items/", i), nil))
		fmt.Printf("%d, try again after %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, try again after ""
	// 200, try again after ""
	// 429, try again after "60"
}
