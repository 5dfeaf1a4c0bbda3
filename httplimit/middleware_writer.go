package httplimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// An answerWriter notes the status and the length of an answer.
type answerWriter struct {
	http.ResponseWriter
	status int // 0 if none was written yet
	bytes  int64
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader notes the first status that is final: 101, or one that is not informational. net/http
// panics if a status is not valid, and sends none.
func (w *answerWriter) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
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

func (w *answerWriter) begun() bool { return w.status != 0 }

// FlushError is for [http.ResponseController]. It is an error if nothing below can flush.
func (w *answerWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		w.begin()
	}
	return err
}

// CloseNotify implements http.CloseNotifier. That is deprecated, but the Stream of gin panics
// without it. If the ResponseWriter below has no CloseNotify, the channel is nil: it never reports
// that the client has gone.
func (w *answerWriter) CloseNotify() <-chan bool {
	if below, ok := w.ResponseWriter.(interface{ CloseNotify() <-chan bool }); ok {
		return below.CloseNotify()
	}
	return nil
}

func (w *answerWriter) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil && w.status == 0 {
		w.status = http.StatusSwitchingProtocols
	}
	return conn, buf, err
}

// ReadFrom implements [io.ReaderFrom]. net/http sends files by it without copying them. If the
// ResponseWriter directly below has no ReadFrom, src is copied. If src gives no byte, ReadFrom does
// not begin the answer, because net/http then sends nothing. The handler can still set the status.
//
// If src panics, the bytes that it gave until then are counted, unless it is a file.
func (w *answerWriter) ReadFrom(src io.Reader) (int64, error) {
	below, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	before := w.bytes
	if !isFile(src) {
		src = &source{src, w}
	}
	n, err := below.ReadFrom(src)
	// A file that is longer than the Content-Length begins the answer, too, and so may one of which
	// nothing is sent over HTTP/2, in the answer to a HEAD. Another Middleware has noted that.
	other, ok := below.(interface{ begun() bool })
	if n > 0 || errors.Is(err, http.ErrContentLength) || ok && other.begun() {
		w.begin()
	}
	w.bytes = before + n
	return n, err
}

// isFile reports whether the system may send src without copying it, if it is not wrapped.
func isFile(src io.Reader) bool {
	if part, ok := src.(*io.LimitedReader); ok {
		src = part.R
	}
	_, ok := src.(syscall.Conn)
	return ok
}

// A source counts what is read from it as sent.
type source struct {
	io.Reader
	to *answerWriter
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if n > 0 {
		s.to.begin()
		s.to.bytes += int64(n)
	}
	return n, err
}

// Push implements [http.Pusher]. It is an error if the one below is no Pusher.
func (w *answerWriter) Push(target string, opts *http.PushOptions) error {
	if below, ok := w.ResponseWriter.(http.Pusher); ok {
		return below.Push(target, opts)
	}
	return http.ErrNotSupported
}

// as returns a ResponseWriter that is also a Flusher and a Hijacker, if the one below is. The one
// below may be that of net/http, of HTTP/1 or HTTP/2, or a wrapper of it.
func (w *answerWriter) as() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	hijacks := canHijack(w.ResponseWriter)
	switch {
	case flushes && hijacks:
		return flushHijackWriter{flushWriter{w}}
	case hijacks:
		return hijackWriter{w}
	case flushes:
		return flushWriter{w}
	}
	return w
}

// canHijack reports whether w, or a writer that it wraps, is a Hijacker. An
// [http.ResponseController] would use the wrapped Hijacker directly, and the answerWriter would not
// notice.
func canHijack(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = wrapper.Unwrap()
	}
}

type flushWriter struct{ *answerWriter }

// Flush implements [http.Flusher].
func (w flushWriter) Flush() { _ = w.FlushError() }

type hijackWriter struct{ *answerWriter }

// Hijack implements [http.Hijacker].
func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

type flushHijackWriter struct{ flushWriter }

// Hijack implements [http.Hijacker].
func (w flushHijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }
