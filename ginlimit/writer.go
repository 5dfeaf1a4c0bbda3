package ginlimit

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
)

// A writer is what handlers of gin write to if the Middleware looks at the answer, as it does for a
// Settle. The answer goes through the writer of the Middleware, and from there to gin's own.
//
// gin's writer keeps a status until the header is sent, and handlers may change it until then. The
// Middleware sees the one that is sent.
type writer struct {
	gin.ResponseWriter
	to http.ResponseWriter
}

// begin tells the Middleware the status, unless the header was sent.
func (w *writer) begin() {
	if !w.Written() {
		w.to.WriteHeader(w.Status())
	}
}

func (w *writer) Write(b []byte) (int, error) {
	w.begin()
	return w.to.Write(b)
}

// WriteString implements [io.StringWriter].
func (w *writer) WriteString(s string) (int, error) {
	w.begin()
	return io.WriteString(w.to, s)
}

// WriteHeaderNow implements [gin.ResponseWriter].
func (w *writer) WriteHeaderNow() {
	w.begin()
	w.ResponseWriter.WriteHeaderNow()
}

// Flush implements [http.Flusher].
func (w *writer) Flush() {
	w.begin()
	_ = http.NewResponseController(w.to).Flush() // the Middleware sees the 200 that follows a 103
}

// Hijack implements [http.Hijacker].
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.to).Hijack()
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.to }
