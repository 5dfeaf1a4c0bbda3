package weir

import (
	"math"
	"time"
)

// A rate of Limit events per Per, kept as the time that one event takes: num/den nanoseconds in
// lowest terms. So nothing is rounded: 7 a second is 1000000000/7 ns an event.
//
// Times are counted in units of 1/den ns, in which the time of an event (num) and the instant now
// (now*den) are both whole. num, den and now are below 2^63, and so is the number of events that an ask takes:
// their products are below 2^126. A state is at most 3*2^126, where debts saturate (see pairMost), and no
// more than one such product is ever added to the later of it and now: the sum is below 2^128, and the arithmetic
// of a bucket cannot wrap around. Two asks go to the ends of that. One gives back 2^63 events, which are
// only subtracted. A policy that is charged what others have used may owe up to 2^64 events, below 2^127, on top of
// now and of a full bucket, below 2^126 each.
type rate struct{ num, den uint64 }

func newRate(limit int, per time.Duration) rate {
	num, den := uint64(per), uint64(limit)
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	return rate{num / a, den / a}
}

// units is a time in nanoseconds, in units of 1/den ns.
func (r rate) units(ns int64) uint128 { return mul64(uint64(ns), r.den) }

// cost is the time that n events take, in units.
func (r rate) cost(n uint64) uint128 { return mul64(n, r.num) }

// events is how many whole events fit in u units.
func (r rate) events(u uint128) int {
	n, _, ok := u.div(r.num)
	if !ok || n > math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// ceil is u units as a duration: rounded up, and at most 292 years.
func (r rate) ceil(u uint128) time.Duration {
	if r.den == 1 && u.hi == 0 { // whole nanoseconds, as most rates are
		return saturate(u.lo)
	}
	ns, rem, ok := u.div(r.den)
	if !ok || ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	if rem != 0 {
		ns++
	}
	return time.Duration(ns)
}

// floor is u units as a duration: rounded down, and at most 292 years.
func (r rate) floor(u uint128) time.Duration {
	ns, _, ok := u.div(r.den)
	if !ok {
		return math.MaxInt64
	}
	return saturate(ns)
}

// saturate is ns as a duration, or the longest there is.
func saturate(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}

// magnitude is -n for a negative n, the smallest int included.
func magnitude(n int) uint64 { return -uint64(n) }
