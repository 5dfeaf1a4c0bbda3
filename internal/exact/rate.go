package exact

import (
	"math"
	"time"
)

// A Rate is a number of events per time, kept as the time that one event takes: Num/Den
// nanoseconds, in lowest terms. Nothing is rounded: 7 a second is 1000000000/7 ns an event. Rates
// that are equal compare equal.
//
// Times are counted in units of 1/Den ns. The time of an event, Num, and an instant now, now*Den,
// are both whole in that unit. Num and Den are from 1 to below 2^63.
type Rate struct{ Num, Den uint64 }

// NewRate returns the rate of limit events in the time per. Both are at least 1.
func NewRate(limit int, per time.Duration) Rate {
	num, den := uint64(per), uint64(limit)
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	return Rate{num / a, den / a}
}

// Units returns a time in nanoseconds, at least 0, in units of 1/Den ns: below 2^126.
func (r Rate) Units(ns int64) Uint128 { return Mul(uint64(ns), r.Den) }

// Cost returns the time that n events take, in units of 1/Den ns: below 2^127, and below 2^126 if n
// is an int.
func (r Rate) Cost(n uint64) Uint128 { return Mul(n, r.Num) }

// Events returns how many whole events fit in u units of 1/Den ns, or the largest int if that is
// less.
func (r Rate) Events(u Uint128) int {
	n, _, ok := u.Div(r.Num)
	if !ok || n > math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// Ceil returns u units of 1/Den ns as a duration, rounded up: at most 292 years.
func (r Rate) Ceil(u Uint128) time.Duration {
	if r.Den == 1 && u.Hi == 0 { // whole nanoseconds, as most rates are
		return Duration(u.Lo)
	}
	ns, rem, ok := u.Div(r.Den)
	if !ok || ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	if rem != 0 {
		ns++
	}
	return time.Duration(ns)
}

// CeilRest is Ceil, and how many units it has added. For u above 292 years, the rest is 0.
func (r Rate) CeilRest(u Uint128) (d time.Duration, rest uint64) {
	if d = r.Ceil(u); r.Den > 1 {
		rest = r.Units(int64(d)).Sub(u).Lo
	}
	return d, rest
}

// Floor returns u units of 1/Den ns as a duration, rounded down: at most 292 years.
func (r Rate) Floor(u Uint128) time.Duration {
	ns, _, ok := u.Div(r.Den)
	if !ok {
		return math.MaxInt64
	}
	return Duration(ns)
}

// An Instant is NS nanoseconds since the Unix epoch, less Rest units of a rate, which are less than
// a nanosecond. Events may follow each other faster than one a nanosecond. Two of them are at the
// same instant only if their Instants are equal.
type Instant struct {
	NS   int64
	Rest uint64
}

// At returns an instant in units of 1/Den ns.
func (r Rate) At(i Instant) Uint128 { return r.Units(i.NS).Sub(Uint128{Lo: i.Rest}) }

// Instant returns the instant of u units of 1/Den ns.
func (r Rate) Instant(u Uint128) Instant {
	d, rest := r.CeilRest(u)
	return Instant{int64(d), rest}
}
