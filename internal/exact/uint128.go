package exact

import "math/bits"

// Uint128 is an unsigned 128-bit integer, Hi*2^64 + Lo. The products of a policy's two parameters,
// and of an instant and a limit, need not fit in 64 bits. In 128 bits they all do, and no policy
// needs a float or a rounded rate.
type Uint128 struct{ Hi, Lo uint64 }

// Mul returns a * b.
func Mul(a, b uint64) Uint128 {
	hi, lo := bits.Mul64(a, b)
	return Uint128{hi, lo}
}

// Load returns the number that is in the first two words of a state, the high word first.
func Load(state []uint64) Uint128 { return Uint128{state[0], state[1]} }

// Store puts the number where Load finds it.
func (a Uint128) Store(state []uint64) { state[0], state[1] = a.Hi, a.Lo }

// Add returns a + b, which callers keep below 2^128.
func (a Uint128) Add(b Uint128) Uint128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(a.Hi, b.Hi, carry)
	return Uint128{hi, lo}
}

// Sub returns a - b, or 0 if b is larger.
func (a Uint128) Sub(b Uint128) Uint128 {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, borrow := bits.Sub64(a.Hi, b.Hi, borrow)
	if borrow != 0 {
		return Uint128{}
	}
	return Uint128{hi, lo}
}

// IsZero reports whether a is 0.
func (a Uint128) IsZero() bool { return a.Hi|a.Lo == 0 }

// Less reports whether a < b.
func (a Uint128) Less(b Uint128) bool {
	return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo
}

// Min returns the smaller of a and b.
func (a Uint128) Min(b Uint128) Uint128 {
	if b.Less(a) {
		return b
	}
	return a
}

// Div returns a / d, rounded down, and the remainder. ok is false if the quotient needs more than
// 64 bits. d is not 0.
func (a Uint128) Div(d uint64) (quo, rem uint64, ok bool) {
	if a.Hi == 0 {
		return a.Lo / d, a.Lo % d, true
	}
	if a.Hi >= d {
		return 0, 0, false
	}
	quo, rem = bits.Div64(a.Hi, a.Lo, d)
	return quo, rem, true
}
