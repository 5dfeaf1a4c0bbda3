package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-go/weir"
)

// Middleware limits the requests that reach a handler. Limiter and Key are required, or Limits in
// their place. The zero value of every other field is a good default.
//
// A Middleware decides on each request once, before the handler runs. Without a Settle, a granted
// request counts, whatever the handler then answers.
//
// Two Middlewares with the same Limiter share the allowance of each key. If their Keys differ, use
// two Limiters. Otherwise a client could make a key of one Middleware look like a key of the other.
type Middleware struct {
	// Limiter decides on each request.
	Limiter weir.Limiter

	// Key returns the key whose allowance the request uses. If it returns [ErrSkip], the request is
	// not limited. For any other error, and for an empty key, see Failed.
	Key KeyFunc

	// Cost returns how many events a request counts as. If Cost is nil, each request counts as one.
	// A request that costs 0 is not limited. For a negative cost, see Failed.
	//
	// Like Key, Cost must not read the body, as r.FormValue may do. For a parameter of the URL, use
	// r.URL.Query().Get. If the cost is in the body, return 1, and let the handler take the other
	// events with a [Checker] that has the same Limiter.
	Cost func(*http.Request) int

	// Settle, if not nil, returns how many events a granted request counts as in the end. It is
	// called when the handler has returned or panicked. Until then, and in the header fields, the
	// request counts as Cost. Use Settle to count only failed logins, or the bytes of the answer's
	// body. Let Cost return about as much as Settle, but not 0: Settle is not called for a request
	// that costs 0. If Cost returns much less than Settle, a client can start many requests before
	// one is settled.
	//
	// r is the request that the handler got. status is the status that the handler sent. If it sent
	// none, status is 101 after it took over the connection (see [http.Hijacker]), 500 after a
	// panic, and else 200. bytes is the length of the body that the handler wrote to its
	// ResponseWriter. If Settle returns more than Cost, and the key lacks the additional events,
	// the key is in debt: see [weir.Reservation.Settle]. If Settle returns a negative number, the
	// request counts as Cost, and Observe gets an error.
	//
	// The Limiter must be a *[weir.KeyedLimiter], or have its ReserveNow method. MaxWait must be 0.
	Settle func(r *http.Request, status int, bytes int64) int

	// Limits are several limits on each request, in place of Limiter, Key, Cost and Settle. A
	// request must be within all limits that apply to it. If one denies it, the others give back
	// what they granted, by the rules of [weir.Reservation.Cancel]. MaxWait must be 0.
	//
	// The limits are asked in their order. Until the last one has decided, the events are booked in
	// those before it. Put the narrowest limit first, such as a limit by address. Put the limit
	// that all clients share last. The first limit then denies most requests of a flood from one
	// address, before they book anything in the last one.
	Limits []Limit

	// MaxWait is the longest time for which a request is held back until it is granted. If it is 0,
	// a request over the limit is refused at once. A request whose turn would come after MaxWait is
	// refused at once, if the Limiter knows this in advance. If the turn depends on what other
	// waiting requests do, the refusal can take up to MaxWait. A refused request that comes again
	// after its Retry-After is usually granted, after a wait of up to MaxWait.
	//
	// Every waiting request takes up a goroutine, and a connection or a stream of a connection. Use
	// a short MaxWait, or a [weir.LeakyBucket], whose Capacity bounds how many events wait for a
	// key. A request leaves the queue when net/http notices that its client has hung up. Over
	// HTTP/1, net/http notices this only if the request has no body, or if the body has been read.
	// A handler that calls a [Checker] can read the body first.
	MaxWait time.Duration

	// Headers adds fields with the limit and its state to allowed and denied answers, if the state
	// is known. If nil, the Middleware adds none of them. Retry-After does not depend on Headers.
	Headers Headers

	// Denied answers a request that is over the limit. The header already has Cache-Control:
	// no-store and the fields of Headers. It also has Retry-After, unless the request can never be
	// granted. If Denied is nil, the answer is 429 with a short body that reveals nothing about the
	// request.
	Denied func(http.ResponseWriter, *http.Request, Decision)

	// Failed answers a request for which there is no decision: Key or the Limiter has returned an
	// error, the key is empty, or the cost is negative. The header already has Cache-Control:
	// no-store. If Failed is nil, the answer contains nothing of the error. Its status is:
	//
	//   - 400 if the request lacks what Key looks for (the error wraps [ErrNoKey])
	//   - 503 otherwise
	Failed func(http.ResponseWriter, *http.Request, error)

	// Observe, if not nil, gets the decision on a request that a limit applies to, or the error if
	// there is none, before the request is answered or passed on. It also gets errors of settling
	// and of giving events back, in calls of their own. Several goroutines may call it at once.
	Observe func(*http.Request, Decision)

	// InContext puts the decisions into the context of the request that the handler gets: see
	// [Decisions]. This takes three allocations for each request.
	InContext bool

	// Warn is called if a check finds that the Middleware is not wired correctly. Each [Check]
	// warns at most once for a Middleware. The checks look at the first 1,000 requests of each
	// Wrap, Wrapper and Checker. [CheckLimiterPerRequest] looks at all Middlewares of the process
	// instead. If Warn is nil, [log/slog.Warn] is called. Several goroutines may call Warn at once.
	Warn func(check Check, message string)

	// Unchecked are the checks that are left out.
	Unchecked []Check
}

// A Decision is the decision of a [Middleware] or [Checker] on a request, or an error.
//
// With several Limits, Observe and Denied get the decision of a single limit: the one that failed,
// or the one that denied. If several denied, it is the one with the longest RetryAfter. If all
// granted, it is the one with the smallest Remaining. If several have the same Remaining, it is the
// one with the longest effective window: see [Headers].
type Decision struct {
	Name   string        // the name of the Limit; without Limits, that of RateLimit
	Key    string        // may be a secret of the client, such as an API key; "" if Key has failed
	Cost   int           // how many events the request counts as, before Settle
	Result weir.Result   // the limiter's answer; zero if Err is not nil
	Waited time.Duration // with MaxWait: the wait, including time in the store; else zero
	Err    error         // an error, or nil; usually wraps context.Canceled if the client has gone
}

// Wrap returns a handler that passes requests to next, unless they are refused. Changes to m after
// Wrap have no effect. Wrap panics with an error that lists the faults of m:
//
//   - no Limiter or no Key, also in one of the Limits
//   - a negative MaxWait, or a MaxWait together with Limits or Settle
//   - Headers that are not valid, or, with Limits, a RateLimit that is not empty
//   - both Limits and one of the fields that they replace
//   - Limits without a name, with the same name, or with a Name or Unit that is not printable ASCII
//   - a Limiter that cannot give events back, where this is needed
//   - an unknown Check in Unchecked
//   - no next
func (m Middleware) Wrap(next http.Handler) http.Handler {
	l := &limited{m: m}
	errs := l.prepare()
	if next == nil {
		errs = append(errs, errNoNext)
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
	return &handler{l, next}
}

// Wrapper returns a function that does what [Middleware.Wrap] does, but prepares the Middleware
// only once. Use it for routers that wrap their handler anew for each request, as gorilla/mux and
// the WrapMiddleware of Echo do:
//
//	router.Use(limit.Wrapper())
//
// With Wrap, the Middleware would take several times as long, and most checks of the wiring would
// begin anew with each request, and find nothing. Wrapper panics in the same cases as Wrap. The
// function that it returns panics if next is nil.
func (m Middleware) Wrapper() func(next http.Handler) http.Handler {
	l := &limited{m: m}
	if err := errors.Join(l.prepare()...); err != nil {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			panic(errNoNext)
		}
		return &handler{l, next}
	}
}

var errNoNext = errors.New("weir: Middleware.Wrap(nil), must be a handler")

// A handler is what a Middleware makes of the handler next.
type handler struct {
	*limited
	next http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serve(w, r, &h.answers)
}

// limited is a prepared Middleware.
type limited struct {
	m         Middleware
	inHandler bool // for a Checker: the handler asks, and gives the key
	limits    []limit
	settles   bool // whether one of the limits has a Settle
	books     bool // whether what one of the limits grants may have to be given back
	answers   answers
	fields    fields
	wiring    wiring
}

// prepare prepares everything but next. It returns the faults of the Middleware.
func (l *limited) prepare() (errs []error) {
	m := &l.m
	l.answers = answers{m.Denied, m.Failed}
	if m.Headers != nil {
		if err := m.Headers.addTo(&l.fields); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, l.prepareLimits()...)
	switch {
	case m.MaxWait < 0:
		errs = append(errs, fmt.Errorf("weir: Middleware.MaxWait is %v, must be at least 0", m.MaxWait))
	case m.MaxWait > 0 && (len(m.Limits) > 0 || m.Settle != nil):
		errs = append(errs, fmt.Errorf("weir: Middleware.MaxWait is %v, must be 0 with Limits or Settle", m.MaxWait))
	}
	return append(errs, l.wiring.prepare(l)...)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, by *answers) {
	if h.books {
		h.serveBooked(w, r, by)
		return
	}
	var room [1]asked
	all := h.find(r, room[:])
	if len(all) == 0 || h.admit(w, r, all, by) {
		h.pass(w, r, all)
	}
}

// serveBooked is serve if what limits grant may have to be given back. If a handler with a Settle
// panics, the bookings do not go back to the pool.
func (h *handler) serveBooked(w http.ResponseWriter, r *http.Request, by *answers) {
	var room [4]asked
	all := room[:]
	if len(h.limits) > len(room) {
		all = make([]asked, len(h.limits))
	}
	all = h.find(r, all)
	b := bookingsPool.Get().(*bookings)
	b.lend(all)
	decided := false
	defer func() {
		if !decided { // a Limiter, Observe or Warn panics
			h.giveBack(r, all)
		}
	}()
	granted := len(all) == 0 || h.admit(w, r, all, by)
	decided = true
	if granted && h.settles {
		h.pass(w, r, all)
	}
	bookingsPool.Put(b)
	if granted && !h.settles {
		h.pass(w, r, all)
	}
}

// pass passes on a request that the limits have granted.
func (h *handler) pass(w http.ResponseWriter, r *http.Request, all []asked) {
	if len(all) > 0 {
		if h.m.InContext {
			outer := r
			r = r.WithContext(withDecisions(r.Context(), all))
			defer handOver(outer, r)
		}
		if h.wiring.looks() {
			defer h.wiring.enter(r, all)()
		}
		if h.settles {
			h.serveAndSettle(w, r, all)
			return
		}
	}
	h.next.ServeHTTP(w, r)
}

// admit decides on a request, and reports whether it is granted. If it is not, admit has answered
// it.
func (l *limited) admit(w http.ResponseWriter, r *http.Request, all []asked, by *answers) bool {
	decisive := l.decide(r, all)
	if l.wiring.looks() {
		l.wiring.look(r, all, l.m.MaxWait)
	}
	d := &all[decisive].d
	if l.m.Observe != nil {
		l.m.Observe(r, *d)
	}
	switch {
	case d.Err != nil:
		by.fail(w, r, d.Err)
	case !d.Result.Allowed:
		l.deny(w, r, all, decisive, by)
	default:
		if l.fields.any() && d.Result.Limit > 0 { // 0 if the query after a wait failed
			l.fields.set(w.Header(), all, decisive, l.inHandler)
		}
		return true
	}
	return false
}

var errEmptyKey = fmt.Errorf("weir: Middleware.Key returned an empty key: %w", ErrNoKey)
