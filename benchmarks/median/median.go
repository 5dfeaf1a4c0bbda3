// Package median computes medians of measurements. It is apart from what is measured, so that a
// program that only shows figures is not linked with all contenders.
package median

import (
	"math"
	"slices"
)

// Of is the middle of the values, or the mean of the two in the middle. It is NaN if there are
// none.
func Of(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
