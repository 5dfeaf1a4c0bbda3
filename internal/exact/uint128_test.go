package exact

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMul(t *testing.T) {
	for _, a := range edges {
		for _, b := range edges {
			checkMul(t, a, b)
		}
	}
}

func checkMul(t *testing.T, a, b uint64) {
	require.Equal(t, times(num(a), num(b)), Mul(a, b).big(), "%d * %d", a, b)
}

func TestUint128_ArithmeticOfTwo(t *testing.T) {
	for _, a := range edges128() {
		for _, b := range edges128() {
			checkPair(t, a, b)
		}
	}
}

// checkPair compares all that is made of two numbers. It calls require only for a fault: each call
// would take longer than everything else here.
func checkPair(t *testing.T, a, b Uint128) {
	x, y := a.big(), b.big()
	if sum := plus(x, y); sum.BitLen() <= 128 && a.Add(b).big().Cmp(sum) != 0 {
		require.Equal(t, sum, a.Add(b).big(), "%v + %v", a, b)
	}
	if want := atLeast(minus(x, y), zero); a.Sub(b).big().Cmp(want) != 0 {
		require.Equal(t, want, a.Sub(b).big(), "%v - %v", a, b)
	}
	if want := x.Cmp(y) < 0; a.Less(b) != want {
		require.Equal(t, want, a.Less(b), "%v < %v", a, b)
	}
	if want := atMost(x, y); a.Min(b).big().Cmp(want) != 0 {
		require.Equal(t, want, a.Min(b).big(), "the smaller of %v and %v", a, b)
	}
}

func TestUint128_Div(t *testing.T) {
	for _, a := range edges128() {
		for _, d := range edges {
			if d > 0 {
				checkDiv(t, a, d)
			}
		}
	}
}

func checkDiv(t *testing.T, a Uint128, d uint64) {
	want, wantRem := new(big.Int).QuoRem(a.big(), num(d), new(big.Int))
	quo, rem, ok := a.Div(d)
	require.Equal(t, want.Cmp(mostUint64) <= 0, ok, "whether %v / %d fits", a, d)
	if ok {
		require.Equal(t, want.Uint64(), quo, "%v / %d", a, d)
		require.Equal(t, wantRem.Uint64(), rem, "%v %% %d", a, d)
	}
}

func TestUint128_IsZero(t *testing.T) {
	for _, a := range edges128() {
		require.Equal(t, a.big().Sign() == 0, a.IsZero(), "%v", a)
	}
}

func TestUint128_LoadStore(t *testing.T) {
	state := []uint64{1, 2, 3, 4}
	assert.Equal(t, Uint128{1, 2}, Load(state))
	assert.Equal(t, Uint128{3, 4}, Load(state[2:]))
	Uint128{5, math.MaxUint64}.Store(state[1:])
	assert.Equal(t, []uint64{1, 5, math.MaxUint64, 4}, state, "the high word first, and no others")
}
