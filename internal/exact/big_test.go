package exact

import (
	"math"
	"math/big"
)

// edges are the numbers at which words, their halves, and signed integers end, and some between.
var edges = []uint64{
	0, 1, 2, 3, 7, 10, 1_000_000_007,
	math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, 1<<32 + 1,
	1<<62 - 1, 1 << 62, 1<<62 + 1,
	math.MaxInt64 - 1, math.MaxInt64, 1 << 63, 1<<63 + 1,
	0xaaaaaaaaaaaaaaaa, math.MaxUint64 - 1, math.MaxUint64,
}

// edges128 are the numbers with an edge in each word.
func edges128() (all []Uint128) {
	for _, hi := range edges {
		for _, lo := range edges {
			all = append(all, Uint128{hi, lo})
		}
	}
	return all
}

var (
	zero       = new(big.Int)
	one        = big.NewInt(1)
	mostUint64 = num(math.MaxUint64)
	mostInt64  = num(math.MaxInt64)
	mostInt    = num(math.MaxInt)
)

// num is x as a big.Int.
func num(x uint64) *big.Int { return new(big.Int).SetUint64(x) }

// big is a as a big.Int.
func (a Uint128) big() *big.Int {
	n := new(big.Int).Lsh(num(a.Hi), 64)
	return n.Or(n, num(a.Lo))
}

func plus(a, b *big.Int) *big.Int    { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int   { return new(big.Int).Sub(a, b) }
func times(a, b *big.Int) *big.Int   { return new(big.Int).Mul(a, b) }
func over(a, b *big.Int) *big.Int    { return new(big.Int).Quo(a, b) } // rounded down, of numbers from 0 on
func atMost(a, b *big.Int) *big.Int  { return pick(a, b, a.Cmp(b) <= 0) }
func atLeast(a, b *big.Int) *big.Int { return pick(a, b, a.Cmp(b) >= 0) }

func pick(a, b *big.Int, first bool) *big.Int {
	if first {
		return a
	}
	return b
}
