package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-go/weir"
)

// Middleware limits the requests that reach a handler. Limiter and Key are required. The zero value
// of every other field is a good default.
//
// Middleware calls the Limiter once for each request, before the handler runs. The request counts,
// whatever the handler then answers.
//
// Two Middlewares with the same Limiter share the allowance of each key. That is right if they have
// the same Key. Otherwise, give each its own Limiter. If they share one, a client could make a key
// of one look like a key of the other.
type Middleware struct {
	// Limiter decides on each request.
	Limiter weir.Limiter

	// Key returns the key that the request counts for. If it returns [ErrSkip], the request is not
	// limited. On any other error, and on an empty key, Failed answers.
	Key KeyFunc

	// Cost returns how many events a request counts as. If Cost is nil, each request counts as one.
	// A request that costs 0 is not limited. A negative cost is an error, and Failed answers.
	//
	// Like Key, Cost runs before the decision and must not read the body, as r.FormValue does. For
	// a parameter of the URL, use r.URL.Query().Get. If the cost is in the body, return 1, and let
	// the handler take the rest from the Limiter.
	Cost func(*http.Request) int

	// MaxWait is the longest time for which a request is held back until it is granted. If it is 0,
	// a request over the limit is refused at once. A request whose turn would come after MaxWait is
	// refused at once. If its turn depends on other waiting requests, it is refused later.
	//
	// A client that hangs up leaves the queue when net/http notices it. Over HTTP/1, net/http
	// notices it only if the request has no body. Every waiting request costs a goroutine and a
	// connection. Use a [weir.LeakyBucket], whose Capacity bounds their number, or a short MaxWait.
	MaxWait time.Duration

	// Headers adds fields with the limit and its state to allowed and denied answers. If nil, a
	// denied answer has Retry-After only, and an allowed answer has no fields.
	Headers Headers

	// Denied answers a request that is over the limit. The header already has Cache-Control:
	// no-store and the fields of Headers. It also has Retry-After, unless the request can never be
	// granted. If Denied is nil, the answer is 429 with a short body that contains nothing of the
	// request.
	Denied func(http.ResponseWriter, *http.Request, weir.Result)

	// Failed answers a request on which Key, Cost or the Limiter failed. The header already has
	// Cache-Control: no-store. If Failed is nil, the answer contains nothing of the error. Its
	// status is:
	//
	//   - 400 if the request lacks what Key looks for (the error wraps [ErrNoKey])
	//   - 503 otherwise
	Failed func(http.ResponseWriter, *http.Request, error)

	// Observe, if not nil, is called with every decision and every failure to decide, before the
	// request is answered or passed on. It is for logs and metrics. It is called concurrently.
	Observe func(*http.Request, Decision)
}

// A Decision is the decision of a [Middleware] on a request. Middleware passes it to Observe.
type Decision struct {
	Key    string        // may be a secret of the client, such as an API key
	Cost   int           // how many events the request counts as
	Result weir.Result   // the limiter's answer; zero if Err is not nil
	Waited time.Duration // how long the request was held back; zero unless MaxWait is set
	Err    error         // the reason why there is no decision, or nil; context.Canceled if the client has gone
}

// Wrap returns a handler that passes the requests within the limit to next. Changes to m after Wrap
// have no effect. Wrap panics with a message that lists the faults of m:
//
//   - no Limiter or no Key
//   - a negative MaxWait
//   - Headers whose name or policy is not valid
//   - no next
func (m Middleware) Wrap(next http.Handler) http.Handler {
	l := &limited{m: m, next: next}
	var errs []error
	if k, ok := m.Limiter.(*weir.KeyedLimiter); m.Limiter == nil || ok && k == nil {
		errs = append(errs, errors.New("weir: Middleware.Limiter is nil, must be a Limiter"))
	}
	if m.Key == nil {
		errs = append(errs, errors.New("weir: Middleware.Key is nil, must be a KeyFunc"))
	}
	if m.MaxWait < 0 {
		errs = append(errs, fmt.Errorf("weir: Middleware.MaxWait is %v, must be at least 0", m.MaxWait))
	}
	if next == nil {
		errs = append(errs, errors.New("weir: Middleware.Wrap(nil), must be a handler"))
	}
	l.pages = newPages("")
	if m.Headers != nil {
		f, err := m.Headers.fields()
		if err != nil {
			errs = append(errs, err)
		} else {
			l.fields, l.pages = f, newPages(f.name())
			l.detailed, _ = m.Limiter.(detailedTaker)
			for _, name := range f.partNames() {
				l.partPages = append(l.partPages, newPages(name))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
	return l
}

// limited is a handler behind a Middleware.
type limited struct {
	m      Middleware
	next   http.Handler
	fields fields // nil for none
	pages  pages  // the answers of Denied and Failed, where those are nil

	detailed  detailedTaker // the Limiter, or nil if it is none, or there are no fields
	partPages []pages       // one for each part of a composed policy, if the fields list them
}

func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := Decision{Cost: 1}
	var parts []weir.Result
	if l.m.Cost != nil {
		if d.Cost = l.m.Cost(r); d.Cost == 0 {
			l.next.ServeHTTP(w, r)
			return
		}
	}
	d.Key, d.Err = l.m.Key(r)
	switch {
	case d.Err == nil && d.Key == "":
		d.Err = errEmptyKey
	case d.Err == nil && l.m.MaxWait > 0:
		parts = l.wait(r.Context(), &d)
	case d.Err == nil:
		d.Result, parts, d.Err = l.take(r.Context(), d.Key, d.Cost)
	case errors.Is(d.Err, ErrSkip):
		l.next.ServeHTTP(w, r)
		return
	}
	if l.m.Observe != nil {
		l.m.Observe(r, d)
	}
	switch {
	case d.Err != nil:
		l.failed(w, r, d.Err)
	case !d.Result.Allowed:
		l.denied(w, r, d.Result, parts)
	default:
		if l.fields != nil && d.Result.Limit > 0 { // 0 if the query after a wait failed
			l.fields.set(w.Header(), d.Result, parts)
		}
		l.next.ServeHTTP(w, r)
	}
}

var errEmptyKey = fmt.Errorf("weir: Middleware.Key returned an empty key: %w", ErrNoKey)
