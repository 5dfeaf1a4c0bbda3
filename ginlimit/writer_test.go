package ginlimit

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// seen is what a Middleware that looks at the answer sees.
type seen struct {
	http.ResponseWriter
	status, bytes int
}

func (s *seen) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return s.ResponseWriter.Write(b)
}

func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Whatever a handler does with gin's writer, the Middleware sees the status and the body that the
// client gets.
func TestWriter(t *testing.T) {
	gin.SetMode(gin.TestMode)
	for name, test := range map[string]struct {
		handler gin.HandlerFunc
		status  int
		body    string
	}{
		"nothing":     {func(*gin.Context) {}, 200, ""},
		"status":      {func(c *gin.Context) { c.Status(401) }, 401, ""},
		"JSON":        {func(c *gin.Context) { c.JSON(401, gin.H{"a": 1}) }, 401, `{"a":1}`},
		"changed":     {func(c *gin.Context) { c.Status(500); c.String(401, "no") }, 401, "no"},
		"WriteString": {func(c *gin.Context) { _, _ = io.WriteString(c.Writer, "hello") }, 200, "hello"},
		"at once":     {func(c *gin.Context) { c.Status(403); c.Writer.WriteHeaderNow() }, 403, ""},
		"flushed":     {func(c *gin.Context) { c.Status(206); c.Writer.Flush(); c.String(206, "part") }, 206, "part"},
		"aborted":     {func(c *gin.Context) { c.AbortWithStatusJSON(409, 1) }, 409, "1"},
		"deadline": {func(c *gin.Context) {
			err := http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(time.Minute))
			c.String(200, "%v", err)
		}, 200, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			var s *seen
			router := gin.New()
			router.Use(func(c *gin.Context) {
				own := c.Writer
				s = &seen{ResponseWriter: own}
				p := &passage{c: c}
				pass(s, c.Request.WithContext(context.WithValue(c.Request.Context(), passageKey{}, p)))
				assert.True(t, p.granted)
				assert.Equal(t, own, c.Writer)
				assert.Equal(t, test.status, c.Writer.Status())
			})
			router.GET("/", test.handler)
			server := httptest.NewServer(router)
			defer server.Close()
			answer, err := server.Client().Get(server.URL)
			if !assert.NoError(t, err) {
				return
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			assert.NoError(t, err)
			assert.Equal(t, test.body, string(body))
			assert.Equal(t, test.status, answer.StatusCode)
			assert.Equal(t, test.status, s.status)
			assert.Equal(t, len(test.body), s.bytes)
		})
	}
}

// A Settle gets the status of answers that do not go through the writer of the Middleware.
func TestWriter_PastTheMiddleware(t *testing.T) {
	gin.SetMode(gin.TestMode)
	for name, test := range map[string]struct {
		handler func(*gin.Engine, *gin.Context)
		status  int
	}{
		"hijacked": {func(_ *gin.Engine, c *gin.Context) {
			conn, _, err := c.Writer.Hijack()
			if assert.NoError(t, err) {
				_ = conn.Close()
			}
		}, 101},
		"hijacked by a controller": {func(_ *gin.Engine, c *gin.Context) {
			conn, _, err := http.NewResponseController(c.Writer).Hijack()
			if assert.NoError(t, err) {
				_ = conn.Close()
			}
		}, 101},
		"hijacked after an informative answer": {func(_ *gin.Engine, c *gin.Context) {
			c.Writer.WriteHeader(103)
			c.Writer.Flush()
			conn, _, err := c.Writer.Hijack()
			if assert.NoError(t, err) {
				_ = conn.Close()
			}
		}, 200},
		"handled again": {func(router *gin.Engine, c *gin.Context) {
			c.Request.URL.Path = "/again"
			router.HandleContext(c)
		}, 401},
		"no route": {func(router *gin.Engine, c *gin.Context) {
			c.Request.URL.Path = "/none"
			router.HandleContext(c)
		}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			settled := make(chan int, 1)
			router := gin.New()
			limit := New(httplimit.Middleware{
				Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Minute})),
				Key:     httplimit.RemoteIP,
				Settle:  func(_ *http.Request, status int, _ int64) int { settled <- status; return 1 },
			})
			router.GET("/", limit, func(c *gin.Context) { test.handler(router, c) })
			router.GET("/again", func(c *gin.Context) { c.String(401, "no") })
			server := httptest.NewServer(router)
			defer server.Close()
			answer, err := server.Client().Get(server.URL)
			if err == nil { // a hijacked connection gives none
				_ = answer.Body.Close()
				assert.Equal(t, test.status, answer.StatusCode)
			}
			assert.Equal(t, test.status, <-settled)
		})
	}
}

// A handler in front may have put a writer of its own into gin's context, whatever its type.
func TestWriter_OfAnotherHandler(t *testing.T) {
	gin.SetMode(gin.TestMode)
	for name, settle := range map[string]func(*http.Request, int, int64) int{
		"as it is": nil, "looked at": func(*http.Request, int, int64) int { return 1 },
	} {
		var written []string
		router := gin.New()
		router.Use(func(c *gin.Context) {
			c.Writer = hooked{c.Writer, []func(string){func(s string) { written = append(written, s) }}}
		}, New(httplimit.Middleware{
			Limiter: weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Minute})),
			Key:     httplimit.RemoteIP,
			Settle:  settle,
		}))
		router.GET("/", func(c *gin.Context) { _, _ = io.WriteString(c.Writer, "hello") })
		w := httptest.NewRecorder()
		assert.NotPanics(t, func() { router.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)) }, name)
		assert.Equal(t, "hello", w.Body.String(), name)
		assert.Equal(t, []string{"hello"}, written, name)
	}
}

// hooked is a writer that cannot be compared with another.
type hooked struct {
	gin.ResponseWriter
	hooks []func(string)
}

func (w hooked) WriteString(s string) (int, error) {
	for _, hook := range w.hooks {
		hook(s)
	}
	return w.ResponseWriter.WriteString(s)
}
