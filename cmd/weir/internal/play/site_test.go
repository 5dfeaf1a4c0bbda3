package play

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// A browser loads at most 1,250,000 bytes, compressed as web servers do. It loads the program for
// logs only when there is a log.
func TestWeight(t *testing.T) {
	runs.SkipDear(t) // to compress it takes as long as to load it in a browser
	site, err := theSite()
	require.NoError(t, err)
	total := 0
	for name, content := range site.files {
		if name == "log.wasm" {
			continue
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		t.Logf("%s: %d bytes", name, b.Len())
		total += b.Len()
	}
	assert.Less(t, total, 1_250_000)
}

// Static files are those that the server serves.
func TestWrite(t *testing.T) {
	site := &Site{files: map[string][]byte{"index.html": []byte("<p>"), "weir.wasm": {0, 1}}}
	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, site.Write(dir))
	for name, content := range site.files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, content, got)
	}
	assert.Error(t, site.Write(filepath.Join(dir, "weir.wasm")))
}

func TestHandler(t *testing.T) {
	site := &Site{files: map[string][]byte{"index.html": []byte("<p>"), "weir.wasm": {0, 1}}}
	h := site.Handler("Play.example") // browsers write it in small letters
	get := func(method, host, path string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	for host, status := range map[string]int{
		"127.0.0.1:8429": 200, "localhost:8429": 200, "localhost": 200, "[::1]:8429": 200, "[::1]": 200, "127.9.9.9": 200, "LOCALHOST": 200,
		"192.0.2.1:8429": 200, "play.example:8429": 200, "evil.example": 421, "localhost.evil.example:8429": 421, "": 421, "127.0.0.1.evil.example": 421,
	} {
		assert.Equal(t, status, get("GET", host, "/").StatusCode, host)
	}
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/weir.wasm": "application/wasm"} {
		resp := get("GET", "localhost", path)
		assert.Equal(t, kind, resp.Header.Get("Content-Type"))
		csp := resp.Header.Get("Content-Security-Policy")
		assert.True(t, strings.HasPrefix(csp, "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "), csp)
		assert.NotContains(t, csp, "unsafe-inline")
		assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	}
	for _, path := range []string{"/page/index.html", "/../site.go", "/x", "//"} {
		assert.Equal(t, 404, get("GET", "localhost", path).StatusCode, path)
	}
	assert.Equal(t, 405, get("POST", "localhost", "/").StatusCode)
	assert.Equal(t, 200, get("GET", "localhost", "http://localhost").StatusCode, "a URL without a path")
	resp := get("HEAD", "localhost", "/")
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Empty(t, body)
}

// The page itself states the policy that the server sends, as far as a page can.
func TestPageStatesItsPolicy(t *testing.T) {
	index, err := page.ReadFile("page/index.html")
	require.NoError(t, err)
	assert.Contains(t, string(index), `content="`+strings.TrimSuffix(policy, "; frame-ancestors 'none'")+`"`)
	assert.NotContains(t, string(index), "style=")
	assert.NotContains(t, string(index), "onclick=")
}
