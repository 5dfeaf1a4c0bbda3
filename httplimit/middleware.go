package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-go/weir"
)

// Middleware limits the requests that reach a handler. Limiter and Key are needed; the zero value
// of every other field is a good default.
//
// A request is decided on once, before the handler runs, by one call of the Limiter. It counts
// whatever the handler then answers.
//
// Two Middlewares with the same Limiter share the allowance of each key. That is as it should be if
// their Key is the same; if not, give each a Limiter of its own, lest the key of one can be
// made to look like the key of another.
type Middleware struct {
	// Limiter decides.
	Limiter weir.Limiter

	// Key finds out whose allowance the request counts for. If it returns [ErrSkip], the
	// request is not limited. On any other error, and if the key is empty, Failed answers.
	Key KeyFunc

	// Cost is how many events a request counts as; one if Cost is nil. A request that
	// costs nothing is not limited. A negative cost is an error, and Failed answers.
	Cost func(*http.Request) int

	// MaxWait is how long a request may be held back until it is granted, instead of being refused at
	// once. A request whose turn would come later is refused: at once, unless that depends on
	// others who wait.
	//
	// A client that hangs up leaves the queue, as soon as net/http notices it: over HTTP/1 that is
	// when the request has no body. Every request held back costs a goroutine and a connection. So
	// use [weir.LeakyBucket], whose Capacity bounds them, or a short MaxWait.
	MaxWait time.Duration

	// Headers are the fields that tell clients how they stand, on allowed and on denied answers. If
	// nil, there are none, and a denied answer has Retry-After alone.
	Headers Headers

	// Denied answers a request that is over the limit. The header already has Cache-Control:
	// no-store, the fields of Headers, and Retry-After unless the request can never be granted. If
	// nil, the answer is 429 with a short body, which has nothing of the request in it.
	Denied func(http.ResponseWriter, *http.Request, weir.Result)

	// Failed answers a request on which there is no decision, because Key, Cost or the Limiter
	// failed. The header already has Cache-Control: no-store. If nil, the answer is 400 if the
	// request lacks what Key looks for (the error wraps [ErrNoKey]) and 503 otherwise, and shows
	// nothing of the error.
	Failed func(http.ResponseWriter, *http.Request, error)

	// Observe, if not nil, gets every decision, and every failure to decide, before the
	// request goes on. It is for logs and metrics, and is called concurrently.
	Observe func(*http.Request, Decision)
}

// A Decision is what [Middleware] decided on a request, for its Observe.
type Decision struct {
	Key    string        // may be a secret of the client, such as an API key
	Cost   int           // how many events the request counts as
	Result weir.Result   // the limiter's answer; zero if Err is not nil
	Waited time.Duration // how long the request was held back; zero unless MaxWait is set
	Err    error         // why there is no decision, or nil
}

// Wrap returns a handler that passes to next those requests that are within the limit. It panics if m
// cannot work, and says why: no Limiter, no Key, a negative MaxWait, Headers with a name or
// policy that is not valid, or no next. Changes to m after Wrap have no effect.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	l := &limited{m: m, next: next}
	var errs []error
	if k, ok := m.Limiter.(*weir.Keyed); m.Limiter == nil || ok && k == nil {
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
			for _, name := range f.partNames() {
				l.parts, _ = m.Limiter.(partsTaker)
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

	// If the fields list the parts of a composed policy:
	parts     partsTaker // the Limiter, or nil if it does not tell of them
	partPages []pages    // for each of the parts
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
		if l.fields != nil && d.Result.Limit > 0 { // 0 if the look after a wait failed
			l.fields.set(w.Header(), d.Result, parts)
		}
		l.next.ServeHTTP(w, r)
	}
}

var errEmptyKey = fmt.Errorf("weir: Middleware.Key returned an empty key: %w", ErrNoKey)
