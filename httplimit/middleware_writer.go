package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// An answerWriter notes the status and the length of an answer.
type answerWriter struct {
	http.ResponseWriter
	status int // 0 if none was written yet
	bytes  int64
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes the first status that is not informational. 101 is the last one, too.
func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// WriteString implements [io.StringWriter].
func (w *answerWriter) WriteString(s string) (int, error) {
	w.begin()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.bytes += int64(n)
	return n, err
}

// begin notes the status that net/http sends if the handler sends none before the body.
func (w *answerWriter) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// as returns a ResponseWriter that also implements the interfaces that handlers look for, if the one
// below does: those of HTTP/1, those of HTTP/2, or Flusher alone.
func (w *answerWriter) as() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	_, readsFrom := w.ResponseWriter.(io.ReaderFrom)
	_, pushes := w.ResponseWriter.(http.Pusher)
	switch {
	case flushes && hijacks && readsFrom:
		return http1Writer{flushWriter{w}}
	case flushes && pushes:
		return http2Writer{flushWriter{w}}
	case flushes:
		return flushWriter{w}
	}
	return w
}

type flushWriter struct{ *answerWriter }

// Flush implements [http.Flusher].
func (w flushWriter) Flush() {
	w.begin()
	w.ResponseWriter.(http.Flusher).Flush()
}

type http1Writer struct{ flushWriter }

// ReadFrom implements [io.ReaderFrom]. net/http sends files by it without copying them.
func (w http1Writer) ReadFrom(src io.Reader) (int64, error) {
	w.begin()
	n, err := w.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
	w.bytes += n
	return n, err
}

// Hijack implements [http.Hijacker].
func (w http1Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, buf, err
}

type http2Writer struct{ flushWriter }

// Push implements [http.Pusher].
func (w http2Writer) Push(target string, opts *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, opts)
}
