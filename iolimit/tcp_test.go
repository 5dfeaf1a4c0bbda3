package iolimit_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/iolimit"
)

// Over TCP, in real time: all bytes arrive, no sooner than the limit allows, and a half-closed
// connection still receives.
func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() { // sends back what it gets
		c, err := l.Accept()
		if assert.NoError(t, err) {
			defer c.Close()
			_, err = io.Copy(c, c)
			assert.NoError(t, err)
		}
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	limit := []iolimit.Limit{limitOf(weir.TokenBucket{Limit: 4 << 20, Per: time.Second, Burst: 64 << 10})}
	c := iolimit.NewConn(raw, limit, limit)
	defer c.Close()
	assert.Equal(t, raw, c.NetConn())
	assert.Equal(t, raw.LocalAddr(), c.LocalAddr())
	assert.Equal(t, raw.RemoteAddr(), c.RemoteAddr())

	data, start := bytesOf(256<<10), time.Now()
	go func() {
		_, err := io.Copy(c, bytes.NewReader(data))
		assert.NoError(t, err)
		assert.NoError(t, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, got))
	assert.GreaterOrEqual(t, time.Since(start), 7*time.Second/64, "for 512 KiB in both directions")
}

// A Read of no bytes is what it is without limits: an error after Close, but not after a deadline.
// With TLS, it makes the handshake.
func TestConn_ReadOfNothing(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	raw, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	nothing := []iolimit.Limit{limitOf(weir.TokenBucket{Limit: 1, Per: time.Hour})}
	encrypted := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	_, err = iolimit.NewConn(encrypted, nothing, nothing).Read(nil)
	require.NoError(t, err)
	assert.True(t, encrypted.ConnectionState().HandshakeComplete)

	c := iolimit.NewConn(raw, nothing, nothing)
	require.NoError(t, c.SetReadDeadline(time.Unix(1, 0)))
	_, err = c.Read(nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = c.Read(nil)
	require.ErrorIs(t, err, net.ErrClosed)
}

// A pipe has no CloseWrite.
func TestCloseWriteUnsupported(t *testing.T) {
	near, _ := pipe(t)
	err := iolimit.NewConn(near, nil, nil).CloseWrite()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.Contains(t, err.Error(), "net.pipe")
}

// A server of package http works on limited connections. It reads ahead, and ends that by a
// deadline in the past: the byte that was read then is the first of the next request.
func TestHTTPServer(t *testing.T) {
	all := limitOf(weir.TokenBucket{Limit: 64 << 20, Per: time.Second})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		_, err = w.Write(body)
		assert.NoError(t, err)
	}))
	s.Listener = listener{s.Listener, []iolimit.Limit{all}}
	s.Start()
	defer s.Close()
	for range 20 {
		data := bytesOf(50_000)
		resp, err := s.Client().Post(s.URL, "text/plain", bytes.NewReader(data))
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.True(t, bytes.Equal(data, got))
	}
}

type listener struct {
	net.Listener
	limits []iolimit.Limit
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return iolimit.NewConn(c, l.limits, l.limits), nil
}
