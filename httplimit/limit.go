package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
)

// A Limit is one of several limits on a request: see [Middleware.Limits]. Its fields mean the same
// as those of the same name in [Middleware]. If Key returns [ErrSkip], or Cost returns 0, only this
// limit does not apply to the request.
type Limit struct {
	// Name identifies the limit in the fields of [RateLimit], in the default body of a denial if it
	// is JSON, and in [Decision]. It is required, must be printable ASCII, and must not be the name
	// of another of the Limits.
	Name string

	// Unit is what the limit counts. The rules for it are those of [RateLimit].Unit.
	Unit string

	// Limiter must be a *[weir.KeyedLimiter], or have its ReserveNow method, because what it grants
	// is given back if another limit denies the request. Only the last of the Limits, if it has no
	// Settle, may have a Limiter of any other type. If a client hangs up while such a Limiter calls
	// a store over a network, the Limiter may count the request, although the other limits do not.
	//
	// If two of the Limits have the same Limiter and find the same key, a request needs the events
	// of both. Use one Limit with a Cost instead. With two, a [weir.LeakyBucket] usually denies the
	// events of the second Limit, and with [weir.Tiers] the Retry-After may be too long.
	Limiter weir.Limiter

	Key    KeyFunc
	Cost   func(*http.Request) int
	Settle func(r *http.Request, status int, bytes int64) int
}

// limit is a prepared Limit.
type limit struct {
	Limit
	booker   booker        // the Limiter if it is one, else nil
	books    bool          // whether what it grants may have to be given back
	detailed detailedTaker // the Limiter if it is one and there are fields, else nil
	with     int           // the index of the first of the Limits with the same Limiter
	descriptions
	keys seenKeys
}

// A booker is a [weir.Limiter] whose grants can be given back exactly. *weir.KeyedLimiter is one.
type booker interface {
	ReserveNow(ctx context.Context, key string, n int, r *weir.Reservation, results *[]weir.Result) error
}

// A detailedTaker is a [weir.Limiter] that also reports MoreAfter, and the result of each component
// of a composed policy. *weir.KeyedLimiter is one.
type detailedTaker interface {
	TakeByComponent(ctx context.Context, key string, n int, results *[]weir.Result) (weir.Result, error)
}

// prepareLimits sets l.limits. It returns the faults of the limits.
func (l *limited) prepareLimits() (errs []error) {
	m := &l.m
	given, where := m.Limits, func(i int) string { return "Limits[" + strconv.Itoa(i) + "]." }
	if len(m.Limits) == 0 {
		given = []Limit{{Limiter: m.Limiter, Key: m.Key, Cost: m.Cost, Settle: m.Settle}}
		if c := l.fields.current; c != nil {
			given[0].Name, given[0].Unit = c.Name, c.Unit
		}
		if l.inHandler {
			given[0].Key, given[0].Cost = nil, nil // the handler gives both
		}
		where = func(int) string { return "" }
	} else if m.Limiter != nil || m.Key != nil || m.Cost != nil || m.Settle != nil {
		errs = append(errs, errors.New("weir: Middleware has Limits, its Limiter, Key, Cost and Settle must be nil"))
	}
	if c := l.fields.current; c != nil && len(m.Limits) > 0 && (c.Name != "" || c.Unit != "" || c.Policy != nil) {
		errs = append(errs, errors.New("weir: Middleware has Limits, RateLimit must be the zero value: each Limit has a Name and a Unit"))
	}
	names := make(map[string]bool)
	l.limits = make([]limit, len(given))
	for i := range given {
		lm := &l.limits[i]
		lm.Limit = given[i]
		lm.booker, _ = lm.Limiter.(booker)
		lm.books = i < len(given)-1 || lm.Settle != nil
		if l.fields.any() {
			lm.detailed, _ = lm.Limiter.(detailedTaker)
		}
		if lm.with = slices.IndexFunc(given, func(g Limit) bool { return same(g.Limiter, lm.Limiter) }); lm.with < 0 {
			lm.with = i // not comparable, so not known to be another's
		}
		fault := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("weir: Middleware."+where(i)+format, args...))
		}
		if edge.NoLimiter(lm.Limiter) {
			fault("Limiter is nil, must be a Limiter")
		} else if lm.booker == nil && lm.books {
			fault("Limiter is a %T, must be a *weir.KeyedLimiter: what it grants may be given back", lm.Limiter)
		} else if len(given) > 1 && lm.booker != nil {
			// No other limit denies the request after the last. But a client that hangs up must not
			// end the ask: the last limit could then count a request that the others do not.
			lm.books = true
		}
		if lm.Key == nil && !l.inHandler {
			fault("Key is nil, must be a KeyFunc")
		}
		if len(m.Limits) > 0 && (lm.Name == "" || names[lm.Name]) {
			fault("Name is %q, must be a name that no other Limit has", lm.Name)
		}
		names[lm.Name] = true
		l.settles, l.books = l.settles || lm.Settle != nil, l.books || lm.books
		if err := l.describe(lm); err != nil && len(m.Limits) > 0 {
			fault("%w", err)
		} else if err != nil {
			errs = append(errs, fmt.Errorf("weir: RateLimit.%w", err))
		}
	}
	return errs
}

// same reports whether two Limiters are known to be the same.
func same(a, b weir.Limiter) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// An asked is a limit that applies to a request, and what it answers.
type asked struct {
	*limit
	d       Decision
	about   *description
	parts   []weir.Result     // of the components, if the fields list them
	booked  *weir.Reservation // nil if there is one limit without Settle
	granted bool              // whether booked has events to give back
}

// bookings is memory for what limits may have to give back. It is used again, because Reservations
// are large. It is not cleared: clearing it would take as long as a decision.
type bookings [4]weir.Reservation

var bookingsPool = sync.Pool{New: func() any { return new(bookings) }}

// lend gives each limit the memory for a Reservation.
func (b *bookings) lend(all []asked) {
	for i := range all {
		if i < len(b) {
			all[i].booked = &b[i]
		} else {
			all[i].booked = new(weir.Reservation)
		}
	}
}

// ask asks the limit for n events. With n = 0 it only looks. The events can be given back if book
// is set. a.d.Err must be nil.
func (a *asked) ask(ctx context.Context, n int, book bool) {
	if a.detailed == nil && !book {
		a.d.Result, a.d.Err = a.Limiter.Take(ctx, a.d.Key, n)
		return
	}
	var results *[]weir.Result
	if len(a.about.parts) > 0 {
		both := new(struct { // one allocation for both
			list []weir.Result
			room [4]weir.Result
		})
		both.list = both.room[:0]
		results = &both.list
	}
	var err error
	if book {
		err = a.booker.ReserveNow(ctx, a.d.Key, n, a.booked, results)
		a.d.Result = a.booked.Result
	} else {
		a.d.Result, err = a.detailed.TakeByComponent(ctx, a.d.Key, n, results)
	}
	if err != nil { // nil is left, as it takes longer to write a pointer
		a.d.Err = err
	}
	if results != nil {
		a.parts = *results
	}
}
