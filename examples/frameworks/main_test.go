package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

func init() { gin.SetMode(gin.TestMode) }

// start serves until the test ends, and returns the URL.
func start(t *testing.T, s server) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, s, ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		assert.NoError(t, <-served)
	})
	return "http://" + ln.Addr().String()
}

// get returns an answer and its body.
func get(t *testing.T, url string) (*http.Response, string) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/plain")
	return do(t, r)
}

func do(t *testing.T, r *http.Request) (*http.Response, string) {
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(body)
}

func twoAMinute() httplimit.Middleware { return newLimit(weir.SlidingLog{Limit: 2, Per: time.Minute}) }

// Each framework limits each of its routes, and answers as httplimit does.
func TestFrameworks(t *testing.T) {
	for name, newServer := range frameworks {
		t.Run(name, func(t *testing.T) {
			url := start(t, newServer(twoAMinute()))
			for i, path := range []string{"/items/1", "/items/2"} {
				answer, body := get(t, url+path)
				assert.Equal(t, http.StatusOK, answer.StatusCode)
				assert.Equal(t, "item "+path[len("/items/"):], body)
				assert.Equal(t, []string{`"default";r=1;t=60`, `"default";r=0;t=60`}[i], answer.Header.Get("RateLimit"))
				assert.Equal(t, `"default";q=2;w=60`, answer.Header.Get("RateLimit-Policy"))
			}

			denied, body := get(t, url+"/items/3")
			assert.Equal(t, http.StatusTooManyRequests, denied.StatusCode)
			assert.Equal(t, "Quota Exceeded: too many requests, try again after the time in Retry-After\n", body)
			assert.Equal(t, "60", denied.Header.Get("Retry-After"))
			assert.Equal(t, "no-store", denied.Header.Get("Cache-Control"))
			assert.Equal(t, "text/plain; charset=utf-8", denied.Header.Get("Content-Type"))

			other, body := get(t, url+"/users/1")
			assert.Equal(t, http.StatusOK, other.StatusCode, "another route")
			assert.Equal(t, "user 1", body)
			missing, _ := get(t, url+"/none")
			assert.Equal(t, http.StatusNotFound, missing.StatusCode)
		})
	}
}

func TestRun_Faults(t *testing.T) {
	assert.EqualError(t, run(t.Context(), "rails", "localhost:0"),
		`framework is "rails", must be one of chi, echo, fiber, gin, gorilla`)
	assert.Error(t, run(t.Context(), "chi", "localhost:-1"))
}
