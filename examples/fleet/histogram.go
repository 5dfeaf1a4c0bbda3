package main

import (
	"maps"
	"math"
	"slices"
	"time"
)

// A histogram is how many decisions took how long. A key is eight times the binary logarithm of the
// nanoseconds, rounded down.
type histogram map[int]int

func (h histogram) add(d time.Duration) {
	h[int(8*math.Log2(float64(max(d, 1))))]++
}

// merge adds the decisions of other.
func (h histogram) merge(other histogram) {
	for k, n := range other {
		h[k] += n
	}
}

// quantile returns the time within which the fraction q of the decisions was made, to a sixteenth
// or so. It is 0 if there are no decisions.
func (h histogram) quantile(q float64) time.Duration {
	all := 0
	for _, n := range h {
		all += n
	}
	rest := q * float64(all)
	for _, k := range slices.Sorted(maps.Keys(h)) {
		if rest -= float64(h[k]); rest <= 0 {
			return time.Duration(math.Exp2((float64(k) + .5) / 8))
		}
	}
	return 0
}
