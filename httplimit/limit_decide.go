package httplimit

import (
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// find returns the limits that apply to the request, with their keys and costs, in all, which has
// room for each. If the Key or Cost of a limit fails, find returns that limit alone, with the error.
// No limit is asked before all keys and costs are known.
func (l *limited) find(r *http.Request, all []asked) []asked {
	n := 0
	for i := range l.limits {
		a, lm, applies := &all[n], &l.limits[i], false
		if l.wiring.looks() {
			applies = l.wiring.find(a, r, lm)
		} else {
			applies = a.find(r, lm)
		}
		if !applies {
			continue
		}
		if n++; a.d.Err != nil {
			all[0] = *a
			return all[:1]
		}
	}
	return all[:n]
}

// find sets a to the limit with its key and cost, or with the error. It reports false if the limit
// does not apply to the request.
func (a *asked) find(r *http.Request, lm *limit) bool {
	a.d.Cost = 1
	if lm.Cost != nil {
		if a.d.Cost = lm.Cost(r); a.d.Cost == 0 {
			return false
		}
	}
	key, err := lm.Key(r)
	switch {
	case err != nil && errors.Is(err, ErrSkip):
		return false
	case err != nil:
		key = "" // of a Key that returns both: it is none
	case key == "":
		err = errEmptyKey
	case a.d.Cost < 0:
		err = fmt.Errorf("weir: Middleware.Cost returned %d, must be at least 0", a.d.Cost)
	}
	about := lm.unknown
	if err != nil {
		a.d.Err = err
	} else if lm.planner != nil {
		about = lm.of(r.Context(), key)
	}
	a.limit, a.about, a.d.Name, a.d.Key = lm, about, lm.Name, key
	return true
}

// decide asks the limits, one after the other, and returns the index of the one that decides for
// all. If one failed, it is that one. If some denied, it is the one of them with the longest
// RetryAfter. Otherwise it is the tightest. If the request is not granted, decide has given back
// what limits have granted.
func (l *limited) decide(r *http.Request, all []asked) (decisive int) {
	ctx := r.Context()
	for i := range all {
		a := &all[i]
		switch {
		case a.d.Err != nil: // no key
		case l.m.MaxWait > 0:
			a.wait(ctx, l.m.MaxWait, l.m.Observe != nil || l.m.InContext || l.fields.any())
		default:
			a.ask(ctx, a.d.Cost, a.books)
		}
		switch {
		case a.d.Err != nil:
			l.giveBack(r, all[:i])
			return i
		case !a.d.Result.Allowed:
			if len(all) == 1 {
				return 0
			}
			l.giveBack(r, all[:i])
			return l.denial(r, all, i)
		}
		a.granted = a.books
		if i > 0 && tighter(&a.d.Result, &all[decisive].d.Result) {
			decisive = i
		}
	}
	return decisive
}

// tighter reports whether a leaves a client less than b: fewer events, or as few for longer. A limit
// of which nothing is known is not tighter: it may be a [weir.Shadow] whose store failed.
func tighter(a, b *weir.Result) bool {
	switch {
	case a.Limit == 0:
		return false
	case a.Remaining == b.Remaining:
		return effectiveWindow(a) > effectiveWindow(b)
	}
	return a.Remaining < b.Remaining
}

// giveBack gives back what the limits have granted.
func (l *limited) giveBack(r *http.Request, all []asked) {
	for i := range all {
		if a := &all[i]; a.granted {
			a.granted = false
			l.settled(r, a, a.booked.Cancel(r.Context()))
		}
	}
}

// settled reports an error of settling. The answer to the request does not depend on it.
func (l *limited) settled(r *http.Request, a *asked, err error) {
	if err != nil && l.m.Observe != nil {
		l.m.Observe(r, Decision{Name: a.Name, Key: a.d.Key, Cost: a.d.Cost, Err: err})
	}
}

// denial finds out which of the limits after the first that denied would deny the request, too. It
// returns the index of the one with the longest RetryAfter. After that time, all would grant the
// request, if no other requests come.
func (l *limited) denial(r *http.Request, all []asked, first int) (longest int) {
	longest = first
	for i := first; i < len(all); i++ {
		a, n := &all[i], demand(all[:i+1])
		if i == first {
			// If a limit before it has the same key, it was asked while that one had booked. It is
			// asked again, because the retry needs the events of both.
			if n != a.d.Cost {
				denied := a.d.Result
				if l.foretell(r, a, n); a.d.Err != nil || a.d.Result.Allowed {
					a.d.Result, a.d.Err = denied, nil
				}
			}
			continue
		}
		l.foretell(r, a, n)
		if a.d.Err != nil { // the request is denied in any case
			a.d.Result, a.d.Err = weir.Result{Allowed: true}, nil
		}
		if res := &a.d.Result; !res.Allowed && res.RetryAfter > all[longest].d.Result.RetryAfter {
			longest = i
		}
	}
	return longest
}

// demand returns how many events the request needs of the key of the last limit: its cost, and that
// of the limits before it that have the same Limiter and the same key.
func demand(all []asked) (n int) {
	last := &all[len(all)-1]
	for i := range all {
		if a := &all[i]; a.with == last.with && a.d.Key == last.d.Key {
			n += min(a.d.Cost, math.MaxInt-n)
		}
	}
	return n
}

// foretell asks whether the limit would grant n events. It counts nothing. First it looks whether
// there are enough events. If there are not, it asks for n. The ask is denied, and reports the
// RetryAfter. If events came back just before, the ask is granted, and foretell gives them back. A
// limit of which nothing is known denies only if the look itself is denied.
func (l *limited) foretell(r *http.Request, a *asked, n int) {
	ctx := r.Context()
	a.ask(ctx, 0, false)
	res := &a.d.Result
	switch {
	case a.d.Err != nil || res.Limit == 0 || res.Remaining >= n || edge.RefusesNothing(a.Limiter, a.d.Key):
	case a.booker != nil:
		a.ask(ctx, n, true)
		if a.d.Err == nil && res.Allowed {
			l.settled(r, a, a.booked.Cancel(ctx))
		}
	case n > res.Limit:
		res.Allowed, res.RetryAfter = false, weir.Never
	default: // what it granted could not be given back
		res.Allowed, res.RetryAfter = false, min(max(res.ResetAfter, 1), weir.Never-1)
	}
}
