package benchmarks

import (
	"math"
	"slices"
)

// Median is the middle of the values, or the mean of the two in the middle. It is NaN if there are
// none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
