package main

import (
	"slices"
	"time"
)

const tenth = time.Second / 10

// A histogram is how many lines went in each tenth of a second since the start.
type histogram []int

// add counts a line that went at that time since the start.
func (h *histogram) add(at time.Duration) {
	i := int(at / tenth)
	if i >= len(*h) {
		*h = append(*h, make([]int, i+1-len(*h))...)
	}
	(*h)[i]++
}

// at is how many lines went in the tenth that at lies in.
func (h histogram) at(at time.Duration) int {
	if i := int(at / tenth); i < len(h) {
		return h[i]
	}
	return 0
}

// largest is the most that went in any tenth.
func (h histogram) largest() int {
	if len(h) == 0 {
		return 0
	}
	return slices.Max(h)
}

// above is in how many tenths more than n lines went.
func (h histogram) above(n float64) int {
	count := 0
	for _, lines := range h {
		if float64(lines) > n {
			count++
		}
	}
	return count
}

// merged has one column for each k tenths, with the largest of them.
func (h histogram) merged(k int) []int {
	var columns []int
	for tenths := range slices.Chunk(h, k) {
		columns = append(columns, slices.Max(tenths))
	}
	return columns
}

// perColumn is how many tenths share a column so that n of them take at most most columns: the
// least of 1, 2, 5, 10, 20, 50 and so on.
func perColumn(n, most int) int {
	for unit := 1; ; unit *= 10 {
		for _, k := range []int{unit, 2 * unit, 5 * unit} {
			if n <= k*most {
				return k
			}
		}
	}
}
