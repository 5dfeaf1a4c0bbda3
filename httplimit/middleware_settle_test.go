package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/suite/kit"
)

// failuresOnly is a Settle that counts the answers 401.
func failuresOnly(_ *http.Request, status int, _ int64) int {
	if status == http.StatusUnauthorized {
		return 1
	}
	return 0
}

// status is a handler that answers with the status in X-Status.
var status = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	var code int
	_, _ = fmt.Sscan(r.Header.Get("X-Status"), &code)
	w.WriteHeader(code)
})

func TestSettle_CountsFailuresOnly(t *testing.T) {
	l, _ := frozen(per(2, time.Minute))
	h := httplimit.Middleware{Limiter: l, Key: one, Settle: failuresOnly, Headers: httplimit.RateLimit{}}.Wrap(status)
	for i, step := range []struct{ sent, got, left int }{
		{200, 200, 2}, {401, 401, 1}, {200, 200, 1}, {500, 500, 1}, {401, 401, 0}, {200, 429, 0}, {401, 429, 0},
	} {
		resp := serve(h, request("X-Status", fmt.Sprint(step.sent)))
		assert.Equal(t, step.got, resp.StatusCode, "%d", i)
		assert.Equal(t, step.left, remaining(t, l, "one"), "%d", i)
	}
}

// Requests that are being served count: guesses at the same time do not pass.
func TestSettle_CountsWhileTheHandlerRuns(t *testing.T) {
	l, _ := frozen(per(2, time.Minute))
	var h http.Handler
	depth := 0
	h = httplimit.Middleware{Limiter: l, Key: one, Settle: failuresOnly}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		depth++
		want := []int{200, 429}[depth-1]
		assert.Equal(t, want, serve(h, request()).StatusCode)
	}))
	assert.Equal(t, 200, serve(h, request()).StatusCode)
	assert.Equal(t, 2, depth)
	assert.Equal(t, 2, remaining(t, l, "one"))
}

// What Settle is told: the status that the client gets, and the bytes of the body, whichever way
// the handler writes them.
func TestSettle_StatusAndBytes(t *testing.T) {
	type told struct {
		status int
		bytes  int64
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    told
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, told{200, 0}},
		"body":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, told{200, 5}},
		"string":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, told{200, 5}},
		"copy":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("hello")) }, told{200, 5}},
		"empty copy": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("")})
			w.WriteHeader(404)
		}, told{404, 0}},
		"failed copy": {func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.Copy(w, iotest.ErrReader(io.ErrUnexpectedEOF))
			http.Error(w, err.Error(), 500)
		}, told{500, 15}},
		"copy that panics": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, panicking{strings.NewReader("")})
		}, told{500, 0}},
		"copy that panics late": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "200000")
			_, _ = io.Copy(w, panicking{strings.NewReader(strings.Repeat("a", 100_000))})
		}, told{200, 100_000}},
		"file": {func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, "middleware_settle_test.go")
		}, told{200, thisFile(t)}},
		"file that is too long": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			f, err := os.Open("middleware_settle_test.go")
			if assert.NoError(t, err) {
				_, err = io.Copy(w, f)
				assert.ErrorIs(t, err, http.ErrContentLength)
				assert.NoError(t, f.Close())
			}
			w.WriteHeader(404) // too late
		}, told{200, 0}},
		"error":       {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "four", 404) }, told{404, 5}},
		"first":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); w.WriteHeader(500) }, told{204, 0}},
		"flush":       {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(500) }, told{200, 0}},
		"informative": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(401) }, told{401, 0}},
		"panic":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, told{500, 0}},
		"not valid":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(1000) }, told{500, 0}}, // panics
		"late panic": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			panic(http.ErrAbortHandler)
		}, told{200, 5}},
		"hijack": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_ = conn.Close()
			}
		}, told{101, 0}},
		"deadline": {func(w http.ResponseWriter, _ *http.Request) {
			assert.NoError(t, http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour)))
		}, told{200, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := frozen(per(2, time.Minute))
			settled := make(chan told, 1)
			m := httplimit.Middleware{Limiter: l, Key: one, Settle: func(_ *http.Request, status int, bytes int64) int {
				settled <- told{status, bytes}
				return 1
			}}
			s := httptest.NewServer(m.Wrap(c.handler))
			defer s.Close()
			resp, err := s.Client().Get(s.URL)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			assert.Equal(t, c.want, <-settled)
		})
	}
}

// A panicking Reader aborts the handler at its end.
type panicking struct{ r io.Reader }

func (p panicking) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if err == io.EOF {
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// thisFile is the length of this file.
func thisFile(t *testing.T) int64 {
	info, err := os.Stat("middleware_settle_test.go")
	require.NoError(t, err)
	return info.Size()
}

// Over HTTP/2, and on a ResponseWriter that can do nothing more, handlers find what is there.
func TestSettle_ResponseWriters(t *testing.T) {
	l, _ := frozen(per(9, time.Minute))
	m := httplimit.Middleware{Limiter: l, Key: one, Settle: func(_ *http.Request, status int, bytes int64) int { return int(bytes) }}
	s := httptest.NewUnstartedServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pushes := w.(http.Pusher)
		_, hijacks := w.(http.Hijacker)
		assert.True(t, pushes && !hijacks)
		assert.ErrorIs(t, w.(http.Pusher).Push("/", nil), http.ErrNotSupported) // the client wants none
		_, _ = io.WriteString(w, "hello")
	})))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	resp, err := s.Client().Get(s.URL)
	require.NoError(t, err)
	_ = resp.Body.Close()
	assert.Equal(t, 2, resp.ProtoMajor)

	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, flushes := w.(http.Flusher)
		_, unwraps := w.(interface{ Unwrap() http.ResponseWriter })
		assert.True(t, !flushes && unwraps)
		_, _ = io.WriteString(w, "hey")
	}))
	before := remaining(t, l, "one")
	h.ServeHTTP(&recorder{header: http.Header{}}, request())
	assert.Equal(t, before-3, remaining(t, l, "one"))
	serve(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		_, hijacks := w.(http.Hijacker)
		assert.False(t, hijacks)
	})), request())
}

// More than there is is charged all the same. A client that has gone does not keep it from that.
func TestSettle_BytesIntoDebt(t *testing.T) {
	l, clock := frozen(weir.TokenBucket{Limit: 100, Per: time.Second})
	m := httplimit.Middleware{
		Limiter: l, Key: one, Cost: func(*http.Request) int { return 10 },
		Settle: func(_ *http.Request, _ int, bytes int64) int { return int(bytes) },
	}
	ctx, gone := context.WithCancel(context.Background())
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 250))
		gone()
	}))
	serve(h, request().WithContext(ctx))
	assert.Equal(t, "2", serve(h, request()).Header.Get("Retry-After"), "150 in debt, and 10 more")
	clock.Add(1600 * time.Millisecond)
	assert.Equal(t, 200, serve(h, request()).StatusCode)
}

// Observe gets the errors of Settle, after the answer. The events stay charged as booked.
func TestSettle_Errors(t *testing.T) {
	for name, settle := range map[string]func(*http.Request, int, int64) int{
		"negative": func(*http.Request, int, int64) int { return -1 },
		"store":    func(*http.Request, int, int64) int { return 5 },
	} {
		mem := new(weir.MemStore)
		l := weir.Must(weir.New(per(9, time.Minute), weir.WithStore(kit.StoreFunc(
			func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				if r.Mode == weir.Regardless {
					return weir.Answer{}, kit.ErrStore
				}
				return mem.Do(ctx, r)
			}))))
		var got []httplimit.Decision
		h := httplimit.Middleware{
			Limiter: l, Key: one, Settle: settle,
			Observe: func(_ *http.Request, d httplimit.Decision) { got = append(got, d) },
		}.Wrap(ok)
		assert.Equal(t, 200, serve(h, request()).StatusCode, name)
		require.Len(t, got, 2, name)
		assert.NoError(t, got[0].Err)
		assert.Error(t, got[1].Err, name)
		assert.Equal(t, 8, remaining(t, l, "one"), name)
	}
}

// Several limits are settled each by its own Settle. A limit without one counts the request as it
// was.
func TestSettle_OfSeveralLimits(t *testing.T) {
	limits, limiters, _ := threeLimits(per(9, time.Minute), per(9, time.Minute), weir.TokenBucket{Limit: 100, Per: time.Minute})
	limits[0].Settle = failuresOnly
	limits[2].Settle = func(_ *http.Request, _ int, bytes int64) int { return int(bytes) }
	h := httplimit.Middleware{Limits: limits}.Wrap(ok)
	serve(h, request())
	key := "\x001:everyone"
	assert.Equal(t, []int{9, 8, 98}, []int{
		remaining(t, limiters[0], key), remaining(t, limiters[1], key), remaining(t, limiters[2], key),
	})
}

// Without a Settle, the handler gets the ResponseWriter itself.
func TestSettle_UnusedCostsNothing(t *testing.T) {
	l, _ := frozen(per(9, time.Minute))
	var got http.ResponseWriter
	h := httplimit.Middleware{Limiter: l, Key: one}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = w }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request())
	assert.Same(t, w, got)
}

// A Settle that panics leaves the other limits with what they are to count.
func TestSettle_PanicLeavesTheOthersSettled(t *testing.T) {
	for at := range 3 {
		var limits []httplimit.Limit
		for i, name := range []string{"pair", "address", "user"} {
			l, _ := frozen(per(9, time.Minute))
			limits = append(limits, httplimit.Limit{Name: name, Limiter: l, Key: one, Settle: func(*http.Request, int, int64) int {
				if i == at {
					panic("settle " + name)
				}
				return 3
			}})
		}
		h := httplimit.Middleware{Limits: limits}.Wrap(ok)
		assert.PanicsWithValue(t, "settle "+limits[at].Name, func() { serve(h, request()) })
		for i, limit := range limits {
			want := 6
			if i == at {
				want = 8 // as booked
			}
			assert.Equal(t, want, remaining(t, limit.Limiter.(*weir.KeyedLimiter), "one"), limit.Name)
		}
	}
}
