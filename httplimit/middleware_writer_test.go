package httplimit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// Wrappers of a ResponseWriter, as other middlewares put them around a Middleware.
type (
	unwraps  struct{ http.ResponseWriter }
	upgrades struct{ http.ResponseWriter } // it has no ReadFrom
	flushing struct {
		http.ResponseWriter
		err error
	}
)

func (w unwraps) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w upgrades) Flush()                     { w.ResponseWriter.(http.Flusher).Flush() }
func (w upgrades) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}
func (w flushing) FlushError() error { return w.err }

func hijack(t *testing.T, h http.Hijacker) {
	conn, _, err := h.Hijack()
	if assert.NoError(t, err) {
		_ = conn.Close()
	}
}

// Behind another middleware's writer, handlers can do what they could do without the limit, and
// Settle gets the status of the answer.
func TestSettle_WrappedResponseWriters(t *testing.T) {
	errFlush := errors.New("flush")
	for name, c := range map[string]struct {
		wrap    func(http.ResponseWriter) http.ResponseWriter
		handler http.HandlerFunc
		want    int
	}{
		"hijack by assertion": {func(w http.ResponseWriter) http.ResponseWriter { return upgrades{w} }, func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush() // sends 200 first
			hijack(t, w.(http.Hijacker))
		}, 200},
		"hijack by assertion at once": {func(w http.ResponseWriter) http.ResponseWriter { return upgrades{w} }, func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, w.(http.Hijacker))
		}, 101},
		"hijack by a controller": {func(w http.ResponseWriter) http.ResponseWriter { return unwraps{w} }, func(w http.ResponseWriter, _ *http.Request) {
			hijack(t, http.NewResponseController(w))
		}, 101},
		"flush by a controller": {func(w http.ResponseWriter) http.ResponseWriter { return unwraps{w} }, func(w http.ResponseWriter, _ *http.Request) {
			assert.NoError(t, http.NewResponseController(w).Flush())
			w.WriteHeader(401) // too late
		}, 200},
		"a notice that the client has gone": {func(w http.ResponseWriter) http.ResponseWriter { return w }, func(w http.ResponseWriter, _ *http.Request) {
			assert.NotNil(t, w.(interface{ CloseNotify() <-chan bool }).CloseNotify())
		}, 200},
		"no such notice": {func(w http.ResponseWriter) http.ResponseWriter { return unwraps{w} }, func(w http.ResponseWriter, _ *http.Request) {
			assert.Nil(t, w.(interface{ CloseNotify() <-chan bool }).CloseNotify())
		}, 200},
		"flush that fails": {func(w http.ResponseWriter) http.ResponseWriter { return flushing{w, errFlush} }, func(w http.ResponseWriter, _ *http.Request) {
			assert.ErrorIs(t, http.NewResponseController(w).Flush(), errFlush)
		}, 200},
		"no flush": {func(w http.ResponseWriter) http.ResponseWriter { return struct{ http.ResponseWriter }{w} }, func(w http.ResponseWriter, _ *http.Request) {
			assert.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
			w.WriteHeader(401)
		}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := frozen(per(2, time.Minute))
			settled := make(chan int, 1)
			h := httplimit.Middleware{Limiter: l, Key: one, Settle: func(_ *http.Request, status int, _ int64) int {
				settled <- status
				return 1
			}}.Wrap(c.handler)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(c.wrap(w), r) }))
			defer s.Close()
			if resp, err := s.Client().Get(s.URL); err == nil { // a hijacked connection gives none
				_ = resp.Body.Close()
			}
			assert.Equal(t, c.want, <-settled)
		})
	}
}

// copies is a ResponseWriter with the interfaces of HTTP/1 but one, and a Pusher.
type copies struct {
	*httptest.ResponseRecorder
	from []io.Reader
}

func (w *copies) Push(string, *http.PushOptions) error { return nil }
func (w *copies) ReadFrom(src io.Reader) (int64, error) {
	w.from = append(w.from, src)
	return io.Copy(w.ResponseRecorder, src)
}

// A writer with some of the interfaces keeps each of them. Files reach it as they are, because it
// may send them without copying them.
func TestSettle_ReadFromAndPush(t *testing.T) {
	l, _ := frozen(per(100_000, time.Minute))
	file, err := os.Open("middleware_writer_test.go")
	require.NoError(t, err)
	defer file.Close()
	w := &copies{ResponseRecorder: httptest.NewRecorder()}
	h := httplimit.Middleware{Limiter: l, Key: one, Settle: func(_ *http.Request, _ int, bytes int64) int { return int(bytes) }}
	h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, file, 7)
		_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("hello")})
		assert.NoError(t, w.(http.Pusher).Push("/", nil))
	})).ServeHTTP(w, request())
	require.Len(t, w.from, 2)
	part, _ := w.from[0].(*io.LimitedReader)
	require.NotNil(t, part)
	assert.Same(t, file, part.R)
	assert.Equal(t, "packagehello", w.Body.String())
	assert.Equal(t, 100_000-12, remaining(t, l, "one"))

	h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("hello")})
		assert.ErrorIs(t, w.(http.Pusher).Push("/", nil), http.ErrNotSupported)
	})).ServeHTTP(httptest.NewRecorder(), request())
	assert.Equal(t, 100_000-17, remaining(t, l, "one"))
}

// Over HTTP/2, a file in the answer to a HEAD may begin the answer, and fail with no byte sent. Each
// of two nested Middlewares is told the status that was sent, and not that of the error.
func TestSettle_NestedHeadOverHTTP2(t *testing.T) {
	told := make(chan int, 2)
	limit := func() httplimit.Middleware {
		return httplimit.Middleware{
			Limiter: weir.Must(weir.New(roomy)), Key: httplimit.Everyone,
			Settle: func(_ *http.Request, status int, _ int64) int { told <- status; return 1 },
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 5000), 0o600))
	server := httptest.NewUnstartedServer(limit().Wrap(limit().Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		file, err := os.Open(path)
		if err == nil {
			defer file.Close()
			w.Header().Set("Trailer", "X-Checksum")
			_, err = io.Copy(w, file)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	answer, err := server.Client().Head(server.URL)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	assert.Equal(t, []int{answer.StatusCode, answer.StatusCode}, []int{<-told, <-told})
}

// A proxy behind the limit passes on trailers, answers without a body, and answers that break off.
func TestSettle_ReverseProxy(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/trailer":
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "hello")
			w.Header().Set("X-Sum", "5")
		case "/304":
			w.Header().Set("Etag", "x")
			w.WriteHeader(304)
		case "/abort":
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer backend.Close()
	to, err := url.Parse(backend.URL)
	require.NoError(t, err)
	l, _ := frozen(per(9, time.Minute))
	type told struct {
		status int
		bytes  int64
	}
	settled := make(chan told, 1)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	s := httptest.NewServer(httplimit.Middleware{Limiter: l, Key: one, Settle: func(_ *http.Request, status int, bytes int64) int {
		settled <- told{status, bytes}
		return 0
	}}.Wrap(proxy))
	defer s.Close()

	for path, want := range map[string]told{"/trailer": {200, 5}, "/304": {304, 0}, "/abort": {200, 4}} {
		resp, err := s.Client().Get(s.URL + path)
		require.NoError(t, err, path)
		_, err = io.ReadAll(resp.Body)
		assert.Equal(t, path == "/abort", err != nil, path)
		_ = resp.Body.Close()
		if path == "/trailer" {
			assert.Equal(t, "5", resp.Trailer.Get("X-Sum"))
		}
		assert.Equal(t, want, <-settled, path)
	}
	assert.Equal(t, 9, remaining(t, l, "one"))
}
