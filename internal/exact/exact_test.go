package exact

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSum(t *testing.T) {
	for _, a := range edges {
		for _, b := range edges {
			checkSum(t, a, b)
		}
	}
}

func checkSum(t *testing.T, a, b uint64) {
	want := atMost(plus(num(a), num(b)), mostUint64)
	require.Equal(t, want.Uint64(), Sum(a, b), "%d + %d", a, b)
}

func TestPortion(t *testing.T) {
	for _, n := range edges {
		for _, part := range edges {
			for _, whole := range edges {
				if whole > 0 {
					checkPortion(t, n, part, whole)
				}
			}
		}
	}
}

func checkPortion(t *testing.T, n, part, whole uint64) {
	want := atMost(over(times(num(n), num(part)), num(whole)), mostUint64)
	require.Equal(t, want.Uint64(), Portion(n, part, whole), "%d * %d / %d", n, part, whole)
}

func TestPortions(t *testing.T) {
	var p Portions
	for range 3 {
		p.Add(1, 1, 3)
	}
	assert.EqualValues(t, 1, p.Whole, "three thirds")
	for _, n := range edges {
		for _, part := range edges {
			for _, whole := range edges {
				if whole > 0 {
					checkPortions(t, n, part, whole)
				}
			}
		}
	}
}

// checkPortions adds two portions of each kind. The sum may be too large by one part of 2^64 each.
func checkPortions(t *testing.T, n, part, whole uint64) {
	var p Portions
	sum := new(big.Rat)
	for _, of := range [][3]uint64{{n, part, whole}, {part, n, whole}, {whole - 1, 1, whole}, {1, 1, whole}} {
		p.Add(of[0], of[1], of[2])
		sum.Add(sum, new(big.Rat).SetFrac(times(num(of[0]), num(of[1])), num(of[2])))
	}
	floor := func(r *big.Rat) uint64 { return atMost(over(r.Num(), r.Denom()), mostUint64).Uint64() }
	least := floor(sum)
	most := floor(sum.Add(sum, new(big.Rat).SetFrac(num(4), new(big.Int).Lsh(num(1), 64))))
	require.True(t, least <= p.Whole && p.Whole <= most, "%d * %d / %d: %d, not from %d to %d", n, part, whole, p.Whole, least, most)
}

func TestMagnitude(t *testing.T) {
	for _, n := range []int{-1, -2, -1_000_000_007, math.MinInt32, math.MinInt + 1, math.MinInt} {
		want := new(big.Int).Neg(big.NewInt(int64(n)))
		assert.Equal(t, want.Uint64(), Magnitude(n), "-(%d)", n)
	}
}

func TestDuration(t *testing.T) {
	for _, ns := range edges {
		want := atMost(num(ns), mostInt64)
		assert.Equal(t, time.Duration(want.Int64()), Duration(ns), "%d", ns)
	}
}

func TestAfter(t *testing.T) {
	for _, now := range edges {
		for _, d := range edges {
			if now <= math.MaxInt64 && d <= math.MaxInt64 {
				checkAfter(t, int64(now), time.Duration(d))
				checkAfter(t, int64(now), -time.Duration(min(now, d))) // back, to the epoch at most
			}
		}
	}
}

func checkAfter(t *testing.T, now int64, d time.Duration) {
	want := atMost(plus(big.NewInt(now), big.NewInt(int64(d))), mostInt64)
	require.Equal(t, want.Int64(), After(now, d), "%d after %d", int64(d), now)
}
