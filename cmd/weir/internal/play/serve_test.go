package play

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Serve says where the page is, and ends with its context.
func TestServe(t *testing.T) {
	site := &Site{files: map[string][]byte{"index.html": []byte("<p>")}}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { done <- site.Serve(ctx, l, "127.0.0.1", "p=1/s", w) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	url := strings.TrimSpace(strings.TrimPrefix(line, "The playground is at "))
	assert.True(t, strings.HasSuffix(url, "/#p=1/s"), url)
	resp, err := http.Get(url)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 200, resp.StatusCode)
	cancel()
	assert.NoError(t, <-done)
}
