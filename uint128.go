package weir

import "math/bits"

// uint128 is an unsigned 128-bit integer. The products of a policy's two parameters, and of an
// instant and a limit, do not fit in 64 bits; with 128 they all do, so that no policy needs a float
// or a rounded rate.
type uint128 struct{ hi, lo uint64 }

func mul64(a, b uint64) uint128 {
	hi, lo := bits.Mul64(a, b)
	return uint128{hi, lo}
}

// add returns a + b. Callers keep the sum below 2^128; rate.go tells how.
func (a uint128) add(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return uint128{hi, lo}
}

// sub returns a - b, or zero if b is larger.
func (a uint128) sub(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return uint128{}
	}
	return uint128{hi, lo}
}

func (a uint128) isZero() bool { return a.hi|a.lo == 0 }

func (a uint128) less(b uint128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

func min128(a, b uint128) uint128 {
	if b.less(a) {
		return b
	}
	return a
}

// div returns a/d and a%d, and false where the quotient needs more than 64 bits.
func (a uint128) div(d uint64) (quo, rem uint64, ok bool) {
	if a.hi == 0 {
		return a.lo / d, a.lo % d, true
	}
	if a.hi >= d {
		return 0, 0, false
	}
	quo, rem = bits.Div64(a.hi, a.lo, d)
	return quo, rem, true
}
