package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// protocols serve a handler by a real server, over HTTP/2 with TLS (h2) and without (h2c), to a
// client that speaks nothing else.
var protocols = map[string]func(t *testing.T, h http.Handler) (*http.Client, string){
	"h2": func(t *testing.T, h http.Handler) (*http.Client, string) {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = true
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Client(), s.URL
	},
	"h2c": func(t *testing.T, h http.Handler) (*http.Client, string) {
		var unencrypted http.Protocols
		unencrypted.SetUnencryptedHTTP2(true)
		s := httptest.NewUnstartedServer(h)
		s.Config.Protocols = &unencrypted
		s.Start()
		t.Cleanup(s.Close)
		rt := &http.Transport{Protocols: &unencrypted}
		t.Cleanup(rt.CloseIdleConnections)
		return &http.Client{Transport: rt}, s.URL
	},
}

// Over HTTP/2, clients get the same answers and fields. The streams of a connection share the
// allowance of its address.
func TestHTTP2(t *testing.T) {
	for name, connect := range protocols {
		t.Run(name, func(t *testing.T) {
			l := weir.Must(weir.New(per(10, time.Minute)))
			var reached atomic.Int32
			client, url := connect(t, httplimit.Middleware{
				Limiter: l, Key: httplimit.RemoteIP, Headers: httplimit.RateLimit{Name: "api"},
			}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, 2, r.ProtoMajor)
				reached.Add(1)
			})))

			var granted, denied atomic.Int32
			send := func() {
				answer, err := client.Post(url, "text/plain", strings.NewReader("a body"))
				if !assert.NoError(t, err) {
					return
				}
				defer answer.Body.Close()
				_, err = io.ReadAll(answer.Body)
				assert.NoError(t, err)
				assert.Equal(t, 2, answer.ProtoMajor)
				assert.Contains(t, answer.Header.Get("RateLimit"), `"api";r=`)
				switch answer.StatusCode {
				case http.StatusOK:
					granted.Add(1)
				case http.StatusTooManyRequests:
					denied.Add(1)
					assert.NotEmpty(t, answer.Header.Get("Retry-After"))
				}
			}
			send() // opens the connection, which the streams share
			var streams sync.WaitGroup
			for range 49 {
				streams.Go(send)
			}
			streams.Wait()
			assert.EqualValues(t, 10, granted.Load())
			assert.EqualValues(t, 40, denied.Load())
			assert.EqualValues(t, 10, reached.Load())
		})
	}
}

// Over HTTP/2, a client that hangs up leaves the queue at once, also with a body that the handler
// has not read. Its connection serves other requests.
func TestHTTP2_HangsUp(t *testing.T) {
	for name, connect := range protocols {
		t.Run(name, func(t *testing.T) {
			l := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: time.Hour, Capacity: 2}))
			require.True(t, l.Allow("one"), "those who come later wait for an hour")
			waiting, left := make(chan struct{}), make(chan error, 1)
			client, url := connect(t, httplimit.Middleware{
				Limiter: l, MaxWait: 2 * time.Hour,
				Key: func(r *http.Request) (string, error) {
					if r.URL.Path != "/wait" {
						return "", httplimit.ErrSkip
					}
					close(waiting)
					return "one", nil
				},
				Observe: func(_ *http.Request, d httplimit.Decision) { left <- d.Err },
			}.Wrap(ok))

			ctx, hangUp := context.WithCancel(t.Context())
			body, more := io.Pipe()
			defer more.Close()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/wait", body)
			require.NoError(t, err)
			sent := make(chan error, 1)
			go func() {
				_, err := client.Do(r)
				sent <- err
			}()
			<-waiting
			hangUp()
			assert.ErrorIs(t, <-sent, context.Canceled)
			assert.ErrorIs(t, <-left, context.Canceled)
			look, err := l.Take(context.Background(), "one", 0)
			require.NoError(t, err)
			assert.LessOrEqual(t, look.ResetAfter, time.Hour, "its place is free again")

			answer, err := client.Get(url + "/other")
			require.NoError(t, err)
			assert.NoError(t, answer.Body.Close())
			assert.Equal(t, http.StatusOK, answer.StatusCode)
		})
	}
}
