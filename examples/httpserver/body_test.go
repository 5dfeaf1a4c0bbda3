package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
)

// counted counts the bytes of a body that are read.
type counted struct {
	io.Reader
	bytes int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += n
	return n, err
}

// A refused client uploads nothing: not one byte of its body is read, which would otherwise fill
// memory and files.
func TestRefusedRequestsAreNotRead(t *testing.T) {
	service := newService(new(weir.MemStore), httplimit.RemoteIP, slog.New(slog.DiscardHandler))
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	require.NoError(t, w.WriteField("n", "20"))
	file, err := w.CreateFormFile("upload", "large")
	require.NoError(t, err)
	_, err = file.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())

	for _, c := range []struct{ method, target string }{
		{http.MethodGet, "/api/items?n=20"},
		{http.MethodPost, "/login"},
	} {
		for i := 0; ; i++ {
			body := &counted{Reader: bytes.NewReader(form.Bytes())}
			r := httptest.NewRequest(c.method, c.target, body)
			r.Header.Set("Content-Type", w.FormDataContentType())
			answer := httptest.NewRecorder()
			service.ServeHTTP(answer, r)
			if answer.Code == http.StatusTooManyRequests {
				assert.Zero(t, body.bytes, c.target)
				break
			}
			require.Less(t, i, 100, "never refused")
		}
	}
}

// A client that hangs up while it is held back is no failure of the service.
func TestAClientThatHangsUpIsNoError(t *testing.T) {
	var log bytes.Buffer
	service := newService(new(weir.MemStore), httplimit.RemoteIP, slog.New(slog.NewTextHandler(&log, nil)))
	gone, hangUp := context.WithCancel(context.Background())
	hangUp()
	service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/report", nil))
	service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/report", nil).WithContext(gone))
	assert.Contains(t, log.String(), "client has gone")
	assert.NotContains(t, log.String(), "level=ERROR")
}
