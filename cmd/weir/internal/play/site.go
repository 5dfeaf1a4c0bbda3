// Package play is the playground: one page, which runs weir itself in the browser as WebAssembly.
// It builds the page, and serves it or writes it as static files.
package play

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed page
var page embed.FS

// A Site is the files of the page, by name. It is immutable, and safe for concurrent use.
type Site struct{ files map[string][]byte }

// NewSite builds the page. It needs the go command, and the source of weir. The first time takes
// about half a minute, because the standard library is compiled for the browser. Later it takes
// about a second, if the source has not changed.
func NewSite(ctx context.Context) (*Site, error) {
	s := &Site{files: make(map[string][]byte)}
	entries, err := page.ReadDir("page")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		content, err := fs.ReadFile(page, "page/"+e.Name())
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(e.Name(), ".js") {
			content = comment.ReplaceAll(content, nil)
		}
		s.files[e.Name()] = content
	}
	if err := build(ctx, s.files); err != nil {
		return nil, err
	}
	return s, nil
}

// comment is a line of JavaScript that a browser does not need.
var comment = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)

// Write writes the page into a directory, which it makes if it is not there. Any web server can
// serve the files. The server should compress the files that end in .wasm.
func (s *Site) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range s.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// policy is the Content-Security-Policy: the page loads its own files and nothing else. The page
// says the same of itself, for servers that do not.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".wasm": "application/wasm",
}

// Handler serves the page to requests for the given host, for localhost, and for addresses. It
// refuses other names. A foreign page could otherwise read this one, through a name that it points
// here.
func (s *Site) Handler(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowedHost(r.Host, host) {
			http.Error(w, fmt.Sprintf("the host is %q, must be localhost, an address, or the name of -addr", r.Host), http.StatusMisdirectedRequest)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the method must be GET", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/") // is empty after GET http://localhost
		if name == "" {
			name = "index.html"
		}
		content, ok := s.files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", contentTypes[filepath.Ext(name)])
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		if r.Method == http.MethodGet {
			_, _ = w.Write(content) // an error means that the browser has gone
		}
	})
}

// allowedHost reports whether the Host of a request is an address, this machine, or the name that
// the server listens at. Other names can be made to point here by anybody.
func allowedHost(got, listens string) bool {
	name, _, err := net.SplitHostPort(got)
	if err != nil {
		name = strings.Trim(got, "[]")
	}
	return name != "" && (strings.EqualFold(name, "localhost") || strings.EqualFold(name, listens) || net.ParseIP(name) != nil)
}
