package httplimit

import (
	"errors"
	"net/http"
)

// A Checker asks a limit inside a handler. It is for keys and costs that are in the body, in a
// session, or known only after some work. [Middleware.Checker] makes it. It is safe for concurrent
// use.
type Checker struct{ l *limited }

// Checker returns a Checker with the Limiter, the Headers, the answers and the other options of m.
// Key and Cost are not used, because the handler gives both. InContext has no effect, either.
// Changes to m afterwards do not change the Checker.
//
// Checker panics in the same cases as [Middleware.Wrap], except that m needs no Key. It also panics
// if m has Limits or Settle. For a cost that is known only afterwards, the handler can call
// [weir.KeyedLimiter.ReserveNow] itself.
func (m Middleware) Checker() *Checker {
	l := &limited{m: m, inHandler: true}
	errs := l.prepare()
	if len(m.Limits) > 0 || m.Settle != nil {
		errs = append(errs, errors.New("weir: Middleware.Checker with Limits or Settle, must be for one limit without Settle"))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
	return &Checker{l}
}

// Check reports whether n events of key are within the limit. If they are, Check counts them, and
// returns true. If they are not, or if there is no decision, it returns false. It has then answered
// the request as the [Middleware] would, and the handler must return:
//
//	if !limit.Check(w, r, user, 1) {
//		return
//	}
//
// Check sets the fields of Headers for allowed and for denied requests. It must be called before
// the handler writes. With n = 0 it returns true, and does nothing else. An n below 0 is an error,
// and so is an empty key: there is then no decision.
func (c *Checker) Check(w http.ResponseWriter, r *http.Request, key string, n int) bool {
	if n == 0 {
		return true
	}
	lm := &c.l.limits[0]
	a := asked{limit: lm, d: Decision{Name: lm.Name, Key: key, Cost: n}, about: lm.unknown}
	if key == "" {
		a.d.Err = errEmptyKey
	} else {
		a.about = lm.of(r.Context(), key)
	}
	all := [1]asked{a}
	return c.l.admit(w, r, all[:], &c.l.answers)
}
