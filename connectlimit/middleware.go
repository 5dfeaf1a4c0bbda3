package connectlimit

import (
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/internal/edge"
	"github.com/weir-go/weir/internal/text"
)

// Middleware limits the requests that reach HTTP handlers of connect-go. Limit is required.
type Middleware struct {
	// Limit decides on each request, and adds its header fields to the answers. Its Denied and
	// Failed answer requests that are not calls. Its Key can be any of package httplimit.
	//
	// Its MaxWait takes no account of the deadline of a call. If the client gives up, the call
	// leaves the queue when net/http notices that. Over HTTP/1, net/http notices it only if the
	// call has no body, such as a GET. A call with a body keeps its place until its turn or the end
	// of MaxWait.
	//
	// Its Settle gets the status of HTTP. For calls of gRPC and gRPC-Web, and for streams, this is
	// usually 200, even if the call fails.
	Limit httplimit.Middleware

	// Policy is reported, as a text such as 100/1m, in the QuotaFailure of a call over the limit.
	// If Policy is nil, there is no QuotaFailure. Leave Policy out if there are several Limits, if
	// keys have different policies, or if SetPolicy is called: the text does not follow SetPolicy.
	Policy weir.Policy

	// Options are the options that the handlers behind the Middleware were made with. Only
	// [connect.WithCodec] and [connect.WithRequireConnectProtocolHeader] matter. Without the second
	// option, a GET is treated as a call, and so is a POST whose Content-Type begins with
	// application/, such as JSON or an HTML form.
	Options []connect.HandlerOption
}

// Wrap returns a handler that passes the requests within the limit to next. It is safe for
// concurrent use. Changes to m after Wrap have no effect. Calls that are not passed on get one of
// these errors:
//
//   - resource_exhausted if the call is over the limit
//   - invalid_argument if the request lacks what Key looks for (the cause wraps
//     [httplimit.ErrNoKey])
//   - unavailable if there is no decision, because Key, Cost or the Limiter failed
//   - canceled or deadline_exceeded, in place of invalid_argument or unavailable, if the context of
//     the request has ended
//
// RetryInfo in the details of resource_exhausted is the time after which the same call is granted,
// if nothing else is counted meanwhile. With a MaxWait, the repeated call may first have to wait,
// up to MaxWait. RetryInfo is absent if the call is never granted.
//
// In the Connect protocol, Retry-After has RetryInfo's time in seconds, rounded up, and the status
// of a unary call is 429. In the other protocols, the trailer grpc-retry-pushback-ms has the time
// in milliseconds, rounded up, or -1 (do not retry) if the call is never granted.
//
// The errors do not contain the key of the request or the cause of a failure. Wrap panics if the
// Policy is not valid, and in the same cases as [httplimit.Middleware.Wrap]. The message names the
// faults.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	return m.answers().wrap(m.Limit.Wrap(next))
}

// Wrapper returns a function that does what Wrap does, but prepares m only once. It is for routers
// that wrap their handler anew for each request: see [httplimit.Middleware.Wrapper]. It panics if m
// has faults. The returned function panics if next is nil.
func (m Middleware) Wrapper() func(next http.Handler) http.Handler {
	a, wrap := m.answers(), m.Limit.Wrapper()
	return func(next http.Handler) http.Handler { return a.wrap(wrap(next)) }
}

// answers returns the answers to calls.
func (m Middleware) answers() *answers {
	quota, err := quotaFailure(m.Policy)
	if err != nil {
		panic(errors.Join(text.Within("Middleware.Policy", err)...))
	}
	return &answers{connect.NewErrorWriter(m.Options...), quota}
}

// limited is a handler behind a Middleware.
type limited struct {
	writer       *connect.ErrorWriter
	calls, other http.Handler // the same limit, with other answers
}

func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.writer.IsSupported(r) {
		l.calls.ServeHTTP(w, r)
	} else {
		l.other.ServeHTTP(w, r)
	}
}

// answers are the answers of a Middleware to calls.
type answers struct {
	writer *connect.ErrorWriter
	quota  *connect.ErrorDetail
}

// wrap returns a handler that answers calls in place of h, which a Middleware of httplimit has
// made.
func (a *answers) wrap(h http.Handler) http.Handler {
	return &limited{a.writer, h.(edge.Answering).AnsweringBy(a.denied, a.failed), h}
}

func (a *answers) denied(w http.ResponseWriter, r *http.Request, res weir.Result) {
	err := refusal(res, a.quota)
	if strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/grpc") { // as the writer reads it
		pushBack(err, res)
	}
	_ = a.writer.Write(w, r, err) // an error means that the client has gone
}

func (a *answers) failed(w http.ResponseWriter, r *http.Request, err error) {
	_ = a.writer.Write(w, r, failure(r.Context(), err))
}
