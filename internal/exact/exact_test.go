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
