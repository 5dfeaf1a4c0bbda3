package ginlimit_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/ginlimit"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

func init() { gin.SetMode(gin.TestMode) }

func newLimiter(limit int) weir.Limiter {
	return weir.Must(weir.New(weir.SlidingLog{Limit: limit, Per: time.Minute}))
}

func get(t *testing.T, h http.Handler, target string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", target, nil))
	return w.Result()
}

// A denied request gets the answer of httplimit, and no handler behind the limit runs. Those in
// front of it see the answer.
func TestNew(t *testing.T) {
	var ran []string
	note := func(name string) gin.HandlerFunc {
		return func(c *gin.Context) {
			c.Next()
			ran = append(ran, name)
			if name == "front" {
				ran = append(ran, http.StatusText(c.Writer.Status()))
			}
		}
	}
	router := gin.New()
	router.Use(note("front"), ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(1), Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{Name: "api"},
	}), note("behind"))
	router.GET("/items/:id", func(c *gin.Context) { c.String(http.StatusCreated, "item %s", c.Param("id")) })

	granted := get(t, router, "/items/7")
	assert.Equal(t, http.StatusCreated, granted.StatusCode)
	body, err := io.ReadAll(granted.Body)
	require.NoError(t, err)
	assert.Equal(t, "item 7", string(body))
	assert.Equal(t, `"api";r=0;t=60`, granted.Header.Get("RateLimit"))
	assert.Equal(t, []string{"behind", "front", "Created"}, ran)

	ran = nil
	denied := get(t, router, "/items/7")
	assert.Equal(t, http.StatusTooManyRequests, denied.StatusCode)
	assert.Equal(t, "60", denied.Header.Get("Retry-After"))
	assert.Equal(t, "application/problem+json", denied.Header.Get("Content-Type"))
	assert.Equal(t, []string{"front", "Too Many Requests"}, ran)

	head := httptest.NewRecorder()
	router.HEAD("/items/:id", func(*gin.Context) { t.Error("passed") })
	router.ServeHTTP(head, httptest.NewRequestWithContext(t.Context(), "HEAD", "/items/7", nil))
	assert.Equal(t, http.StatusTooManyRequests, head.Code)
	assert.Empty(t, head.Body.String())
}

// The answers of Denied and Failed are those of the Middleware.
func TestNew_OwnAnswers(t *testing.T) {
	router := gin.New()
	router.GET("/", ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(1),
		Key:     httplimit.Header("X-API-Key"),
		Denied: func(w http.ResponseWriter, r *http.Request, _ httplimit.Decision) {
			ginlimit.Context(r).JSON(http.StatusServiceUnavailable, gin.H{"error": "busy"})
		},
	}), func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	assert.Equal(t, http.StatusBadRequest, get(t, router, "/").StatusCode, "no key")

	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("X-API-Key", "blue")
	for _, want := range []string{"hello", `{"error":"busy"}`} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		assert.Equal(t, want, w.Body.String())
	}
}

// Two limits on one route both count, and each may deny.
func TestNew_SeveralLimits(t *testing.T) {
	router := gin.New()
	everyone := ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(3), Key: func(*http.Request) (string, error) { return "all", nil },
	})
	router.Use(ginlimit.New(httplimit.Middleware{Limiter: newLimiter(2), Key: ginlimit.Route}), everyone)
	router.GET("/a", func(*gin.Context) {})
	router.GET("/b", func(*gin.Context) {})
	var codes []int
	for _, path := range []string{"/a", "/a", "/a", "/b", "/b"} {
		codes = append(codes, get(t, router, path).StatusCode)
	}
	assert.Equal(t, []int{200, 200, 429, 200, 429}, codes)
}

// A request without a route has no Pattern. The wiring warns of it.
func TestPattern_NoRoute(t *testing.T) {
	var told []httplimit.Check
	router := gin.New()
	router.Use(ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(10), Key: httplimit.Pattern,
		Warn: func(c httplimit.Check, _ string) { told = append(told, c) },
	}))
	router.GET("/items/:id", func(*gin.Context) {})
	assert.Equal(t, http.StatusOK, get(t, router, "/items/7").StatusCode)
	assert.Empty(t, told)
	assert.Equal(t, http.StatusServiceUnavailable, get(t, router, "/none").StatusCode)
	assert.Equal(t, []httplimit.Check{httplimit.CheckPattern}, told)
}

func TestRoute(t *testing.T) {
	var keys []string
	router := gin.New()
	router.Use(ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(1000),
		Key:     ginlimit.Route,
		Observe: func(_ *http.Request, d httplimit.Decision) { keys = append(keys, d.Key) },
	}))
	router.Group("/v1").GET("/items/:id", func(*gin.Context) {})
	router.GET("/files/*path", func(*gin.Context) {})
	for _, path := range []string{"/v1/items/7", "/v1/items/8", "/files/a/b", "/none", "/other"} {
		get(t, router, path)
	}
	router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/none", nil))
	assert.Equal(t, []string{"GET /v1/items/:id", "GET /v1/items/:id", "GET /files/*path", "GET ", "GET ", "POST "}, keys)

	_, err := ginlimit.Route(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	assert.EqualError(t, err, "weir: no context of gin, the Middleware must be used by ginlimit.New")
}

// A limit for one route that all clients share is no mistake in the wiring.
func TestRoute_OfAllClients(t *testing.T) {
	router := gin.New()
	router.GET("/items/:id", ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(10_000), Key: ginlimit.Route,
		Warn: func(c httplimit.Check, message string) { t.Errorf("%s: %s", c, message) },
	}), func(c *gin.Context) { assert.Equal(t, "/items/:id", c.Request.Pattern) })
	for i := range 1000 {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/items/7", nil)
		r.RemoteAddr = fmt.Sprintf("203.0.%d.%d:1", i/250, i%250)
		router.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func TestValue(t *testing.T) {
	type key struct{}
	for _, test := range []struct {
		value   any
		want    string
		err     string
		isNoKey bool
	}{
		{"ada", "ada", "", false},
		{"", "", "weir: no value of key {} in gin's context: the request has no such key", true},
		{nil, "", "weir: no value of key {} in gin's context: the request has no such key", true},
		{7, "", "weir: the value of key {} in gin's context is a int, must be a string", false},
	} {
		router := gin.New()
		router.Use(func(c *gin.Context) {
			if test.value != nil {
				c.Set(key{}, test.value)
			}
		}, ginlimit.New(httplimit.Middleware{
			Limiter: newLimiter(1),
			Key:     ginlimit.Value(key{}),
			Observe: func(_ *http.Request, d httplimit.Decision) {
				assert.Equal(t, test.want, d.Key)
				if test.err != "" {
					assert.EqualError(t, d.Err, test.err)
				}
				assert.Equal(t, test.isNoKey, errors.Is(d.Err, httplimit.ErrNoKey))
			},
		}))
		get(t, router, "/")
	}
	_, err := ginlimit.Value("user")(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	assert.ErrorContains(t, err, "no context of gin")
}

// Failed logins are counted, and others are given back. The status may be set before the body is
// written, or without one.
func TestNew_Settle(t *testing.T) {
	var seen []int
	router := gin.New()
	router.POST("/login/:password", ginlimit.New(httplimit.Middleware{
		Limiter: newLimiter(2),
		Key:     httplimit.RemoteIP,
		Settle: func(r *http.Request, status int, bytes int64) int {
			seen = append(seen, status, int(bytes))
			if status == http.StatusUnauthorized && ginlimit.Context(r).Param("password") == "wrong" {
				return 1
			}
			return 0
		},
	}), func(c *gin.Context) {
		if c.Param("password") == "wrong" {
			c.Status(http.StatusUnauthorized)
			return
		}
		c.String(http.StatusOK, "welcome")
	})
	var codes []int
	for _, password := range []string{"right", "wrong", "right", "right", "wrong", "right"} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/login/"+password, nil))
		codes = append(codes, w.Code)
	}
	assert.Equal(t, []int{200, 401, 200, 200, 401, 429}, codes)
	assert.Equal(t, []int{200, 7, 401, 0, 200, 7, 200, 7, 401, 0}, seen)
}

// With InContext, handlers read the decision from c.Request.
func TestNew_InContext(t *testing.T) {
	router := gin.New()
	router.GET("/", ginlimit.New(httplimit.Middleware{Limiter: newLimiter(3), Key: httplimit.RemoteIP, InContext: true}),
		func(c *gin.Context) {
			decisions := httplimit.Decisions(c.Request.Context())
			require.Len(t, decisions, 1)
			assert.Equal(t, 2, decisions[0].Result.Remaining)
		})
	assert.Equal(t, 200, get(t, router, "/").StatusCode)
}

// A panic behind the limit reaches gin's Recovery, and the writer is gin's again.
func TestNew_Panic(t *testing.T) {
	router := gin.New()
	router.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) { c.String(500, "recovered") }),
		ginlimit.New(httplimit.Middleware{Limiter: newLimiter(1), Key: httplimit.RemoteIP}))
	router.GET("/", func(*gin.Context) { panic("a fault") })
	assert.Equal(t, 500, get(t, router, "/").StatusCode)
	assert.Equal(t, 429, get(t, router, "/").StatusCode)
}

func TestNew_Faults(t *testing.T) {
	assert.Panics(t, func() { ginlimit.New(httplimit.Middleware{}) })
}

// The handlers behind a limit get a copy of the request. The files of an upload that they have read
// are removed all the same.
func TestFilesOfUploads(t *testing.T) {
	kit.Upload(t, func(there func()) http.Handler {
		router := gin.New()
		router.MaxMultipartMemory = 1
		router.Use(ginlimit.New(httplimit.Middleware{Limiter: newLimiter(1), Key: httplimit.RemoteIP}))
		router.POST("/", func(c *gin.Context) {
			_, err := c.FormFile("f")
			assert.NoError(t, err)
			there()
		})
		return router
	})
}
