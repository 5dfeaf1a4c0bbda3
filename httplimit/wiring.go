package httplimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Check is the name of a check of how a [Middleware] or [Checker] is wired. See Middleware.Warn.
type Check string

// The checks of how a [Middleware] is wired. Each text says what is wrong if the check warns, and
// what to do.
const (
	// CheckForwarded: requests come through a proxy, but their key is the address of the proxy, or
	// a key that [Join], [Or] and [Hashed] make of it. Use [ClientIP] with the addresses of the
	// proxies. The check warns if these requests have such a key:
	//
	//   - the first ten that come from private addresses, and have X-Forwarded-For or another field
	//     of proxies
	//   - 100 of the first 110 requests, if they come from public addresses, such as those of a
	//     CDN, and a field of proxies names a public address in each of the 100
	//
	// Requests whose key has no address, such as an API key, do not count. Neither do requests of a
	// client that has the address of its proxy, such as a client on the same host.
	CheckForwarded Check = "forwarded"

	// CheckProxyKey: requests look as if they come from several clients, but their key, or a part of
	// it, is a private address. Requests whose key has no address do not count. The cases are:
	//
	//   - 100 of the first 110 requests have the same private address.
	//   - 100 of the first 110 requests have private addresses, perhaps several addresses of one
	//     proxy. In these requests, a field of proxies names a public address. Addresses to the
	//     right of the key do not count: they are those of trusted proxies.
	//   - The first 900 requests all have the same key.
	//
	// Perhaps a proxy is not trusted, or Key reads another field than the one that the proxy writes.
	// Then name the proxy in [ClientIP], and read the field that it writes. Or the key is a prefix
	// of addresses, such as fd00::/64, and the clients of a private network share it. Then set
	// IPv6Bits to 128.
	CheckProxyKey Check = "proxy-key"

	// CheckHops: ten of the first 1,000 requests have a field of proxies with fewer addresses than
	// ClientIP.Hops. Either Hops is too large, or these requests have bypassed a proxy. In both
	// cases, clients can choose their key.
	CheckHops Check = "hops"

	// CheckOneKey: the first 900 requests with a key have the same key, and look as if they come
	// from many clients. If all clients are meant to share the limit, use [Everyone] as its Key. If
	// the key has a private address, CheckProxyKey warns instead. The keys of Everyone, [Pattern],
	// [Method] and [Path] are not checked, and neither are those that a handler gives to a
	// [Checker].
	CheckOneKey Check = "one-key"

	// CheckPattern: the Key is [Pattern], and a request has no pattern. Usually the Middleware
	// wraps the mux, and runs before the mux has found the pattern. By default, such requests get a
	// 503. Wrap each handler that the mux calls, and not the mux. Routers of other packages may set
	// no pattern, or none for a request without a route: see docs/frameworks.md.
	CheckPattern Check = "pattern"

	// CheckAddress: the Key is made from an address, for example by [RemoteIP], but a request has
	// none, as over a Unix socket. Use another Key, or set RemoteAddr in an outer handler, to an
	// address that Key trusts as a proxy.
	CheckAddress Check = "address"

	// CheckKey: Key has failed with an error that does not wrap [ErrNoKey], or none of the first 100
	// requests has a key. These requests are refused. Perhaps Key or a field of its [ClientIP] is at
	// fault, or Key runs before the handler that it depends on. If the user is the key, put the
	// Middleware behind the handler that authenticates users.
	CheckKey Check = "key"

	// CheckLimiterPerRequest: of the Middlewares and Checkers that the process no longer uses, more
	// than nine in ten had only one request. If each has a Limiter of its own, that Limiter never
	// sees a second request. Make the Middlewares and Checkers once, when the program starts. For a
	// router that calls Wrap for each request, use [Middleware.Wrapper].
	CheckLimiterPerRequest Check = "limiter-per-request"

	// CheckChargedTwice: two nested Middlewares count a request in the same Limiter. Leave one of
	// them out, or give it a Limiter of its own. The check also warns if the parts of a batch are
	// served at the same time, and their requests share the Header of the batch. Make each of them
	// with [http.Request.Clone].
	CheckChargedTwice Check = "charged-twice"

	// CheckMaxWait: MaxWait is too long for the [http.Server]. Choose a shorter one. The cases are:
	//
	//   - MaxWait is not below the WriteTimeout. A request that is held back as long as the
	//     WriteTimeout gets no answer.
	//   - MaxWait is not below the ReadTimeout, and a request over HTTP/1 has a body. After the
	//     ReadTimeout, the handler cannot read the body. This is not checked for a [Checker],
	//     because its handler may have read the body before.
	CheckMaxWait Check = "max-wait"
)

var checks = []Check{
	CheckForwarded, CheckProxyKey, CheckHops, CheckOneKey, CheckPattern, CheckAddress, CheckKey,
	CheckLimiterPerRequest, CheckChargedTwice, CheckMaxWait,
}

// looksAt is the number of requests that the checks look at. For a later request, they only look at
// the number of requests so far.
const looksAt = 1000

// wiring looks at the first requests of a Middleware.
type wiring struct {
	warn   func(Check, string)
	seen   *atomic.Int32 // requests; not part of the Middleware, because it outlives it
	told   []atomic.Bool // by the index of the check; of those that are left out, too
	hidden sync.Map      // what Hashed has made of keys that all clients share
}

// prepare returns the faults of Unchecked.
func (w *wiring) prepare(l *limited) (errs []error) {
	w.warn, w.seen, w.told = l.m.Warn, new(atomic.Int32), make([]atomic.Bool, len(checks))
	if w.warn == nil {
		w.warn = func(c Check, message string) { slog.Warn("weir: httplimit: "+message, "check", string(c)) }
	}
	for _, c := range l.m.Unchecked {
		i := slices.Index(checks, c)
		if i < 0 {
			errs = append(errs, fmt.Errorf("weir: Middleware.Unchecked has %q, must be one of %q", c, checks))
			continue
		}
		w.told[i].Store(true)
	}
	w.countUses(l)
	return errs
}

// looks reports whether the checks look at the next request.
func (w *wiring) looks() bool { return w.seen.Load() < looksAt }

// tell warns, once.
func (w *wiring) tell(c Check, format string, args ...any) {
	if !w.told[slices.Index(checks, c)].Swap(true) {
		w.warn(c, fmt.Sprintf(format, args...))
	}
}

// look looks at a request that the limits have decided on.
func (w *wiring) look(r *http.Request, all []asked, maxWait time.Duration) {
	w.seen.Add(1)
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && maxWait > 0 {
		w.lookAtWait("WriteTimeout", s.WriteTimeout, maxWait)
		// The handler of a Checker may have read the body before.
		if r.ProtoMajor == 1 && r.ContentLength != 0 && all[0].Key != nil {
			w.lookAtWait("ReadTimeout", s.ReadTimeout, maxWait)
		}
	}
	for i := range all {
		switch err := all[i].d.Err; {
		case errors.Is(err, errNoPattern):
			w.tell(CheckPattern, "the key is Pattern, and a request has none: wrap the handlers of the routes, and not the mux or router")
		case errors.Is(err, errNoAddress):
			w.tell(CheckAddress, "Request.RemoteAddr is %q, %v: over a Unix socket, set it in an outer handler",
				r.RemoteAddr, errNoAddress)
		case all[i].d.Key != "":
			w.lookAtKey(r, &all[i])
		case r.Context().Err() == nil: // else Key may have failed because the client has gone
			w.lookAtNoKey(&all[i].keys, err)
		}
	}
}

func (w *wiring) lookAtWait(name string, timeout, maxWait time.Duration) {
	if timeout > 0 && maxWait >= timeout {
		w.tell(CheckMaxWait, "MaxWait is %v, must be below the %s of the http.Server, which is %v", maxWait, name, timeout)
	}
}
