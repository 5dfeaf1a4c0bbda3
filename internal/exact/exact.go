// Package exact is the arithmetic that policies share: 128-bit integers, rates as fractions, and
// sums that stop at the largest number instead of wrapping around. Nothing in it rounds unless its
// name or its comment says so, and nothing is a float.
//
// It knows no policy, no state and no clock. Instants are nanoseconds since the Unix epoch, from 0
// to math.MaxInt64. Its tests compare every function with math/big.
package exact

import (
	"math"
	"math/bits"
	"time"
)

// Sum returns a + b, or the largest uint64 if that is less.
func Sum(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// Portion returns n * part / whole, rounded down, or the largest uint64 if that is less. whole is
// not 0.
func Portion(n, part, whole uint64) uint64 {
	quo, _, ok := Mul(n, part).Div(whole)
	if !ok {
		return math.MaxUint64
	}
	return quo
}

// Portions is a sum of portions. The sum is rounded down, and not each portion: those are rounded
// up to a multiple of 2^-64. The zero Portions is 0.
type Portions struct {
	Whole uint64 // the sum, rounded down, or the largest uint64 if that is less
	part  uint64 // in parts of 2^64; each portion's is rounded up
}

// Add adds n * part / whole. whole is not 0.
func (p *Portions) Add(n, part, whole uint64) {
	quo, rem, ok := Mul(n, part).Div(whole)
	if !ok {
		p.Whole = math.MaxUint64
		return
	}
	more, rest := bits.Div64(rem, 0, whole)
	if rest > 0 {
		more++ // which is below 2^64, because rem is at most whole - 1
	}
	sum, carry := bits.Add64(p.part, more, 0)
	p.Whole, p.part = Sum(Sum(p.Whole, quo), carry), sum
}

// Magnitude returns -n for a negative n, the smallest int included.
func Magnitude(n int) uint64 { return -uint64(n) }

// Duration returns ns nanoseconds, or the longest time.Duration if that is less: 292 years.
func Duration(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}

// After returns the instant that comes d after now, or the latest instant if that is earlier. now
// is not negative, and now + d is not either.
func After(now int64, d time.Duration) int64 {
	return int64(Duration(uint64(now) + uint64(d)))
}
