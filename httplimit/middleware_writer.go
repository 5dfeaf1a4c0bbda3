package httplimit

import (
	"bufio"
	"errors"
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

// FlushError is for [http.ResponseController]. It is an error if nothing below can flush.
func (w *answerWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		w.begin()
	}
	return err
}

// CloseNotify implements http.CloseNotifier. That is deprecated, but the Stream of gin panics
// without it. If nothing below has it, the channel is nil: no one hears that the client has gone.
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

// as returns a ResponseWriter that also implements the interfaces that handlers look for, if the
// one below does. The one below may be that of net/http, of HTTP/1 or HTTP/2, or a wrapper of it.
func (w *answerWriter) as() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, readsFrom := w.ResponseWriter.(io.ReaderFrom)
	_, pushes := w.ResponseWriter.(http.Pusher)
	hijacks := canHijack(w.ResponseWriter)
	switch {
	case flushes && hijacks && readsFrom:
		return http1Writer{flushHijackWriter{flushWriter{w}}}
	case flushes && hijacks:
		return flushHijackWriter{flushWriter{w}}
	case hijacks:
		return hijackWriter{w}
	case flushes && pushes:
		return http2Writer{flushWriter{w}}
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

type http1Writer struct{ flushHijackWriter }

// ReadFrom implements [io.ReaderFrom]. net/http uses it to send files without copying them.
func (w http1Writer) ReadFrom(src io.Reader) (int64, error) {
	w.begin()
	n, err := w.ResponseWriter.(io.ReaderFrom).ReadFrom(src)
	w.bytes += n
	return n, err
}

type http2Writer struct{ flushWriter }

// Push implements [http.Pusher].
func (w http2Writer) Push(target string, opts *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, opts)
}
