package exact

import (
	"math"
	"testing"
	"time"
)

// FuzzExact compares every function with math/big, on any numbers that its comment allows.
func FuzzExact(f *testing.F) {
	for i := range edges {
		at := func(n int) uint64 { return edges[(i+n)%len(edges)] }
		f.Add(at(0), at(1), at(2), at(3), at(5), at(8))
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, limit, per uint64) {
		checkMul(t, a, b)
		checkSum(t, a, b)
		checkPair(t, Uint128{a, b}, Uint128{c, d})
		if d > 0 {
			checkDiv(t, Uint128{a, b}, d)
			checkPortion(t, a, b, d)
			checkPortions(t, a, b, d)
		}
		now, later := int64(a&math.MaxInt64), time.Duration(b&math.MaxInt64)
		checkAfter(t, now, later)
		checkAfter(t, now, -min(later, time.Duration(now)))

		l, p := int(limit&math.MaxInt), time.Duration(per&math.MaxInt64)
		if l == 0 || p == 0 {
			return
		}
		checkNewRate(t, l, p)
		r := NewRate(l, p)
		checkUnitsAndCost(t, r, c)
		checkUnits(t, r, Uint128{a, b})
	})
}
