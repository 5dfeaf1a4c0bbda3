package benchmarks

import "math/bits"

// A histogram counts durations in buckets whose width is a 32nd of their lower end or less, so that
// it costs a few nanoseconds to add one, the same whatever it is.
type histogram struct {
	counts [60 << subBits]uint64
	max    uint64
}

const subBits = 5

func (h *histogram) add(ns uint64) {
	h.counts[bucket(ns)]++
	h.max = max(h.max, ns)
}

// bucket numbers the buckets: the first 32 are 1 ns wide, each power of two above has 32.
func bucket(ns uint64) int {
	shift := max(bits.Len64(ns)-subBits-1, 0)
	return shift<<subBits + int(ns>>shift)
}

// middle is the inverse of bucket, but for the rounding.
func middle(i int) float64 {
	shift := max(i>>subBits-1, 0)
	low := uint64(i-shift<<subBits) << shift
	return float64(low) + float64(uint64(1)<<shift-1)/2
}

func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.max = max(h.max, o.max)
}

// quantile is the least duration that is not below the share q of all.
func (h *histogram) quantile(q float64) float64 {
	var all, seen uint64
	for _, n := range h.counts {
		all += n
	}
	rank := uint64(q * float64(all))
	for i, n := range h.counts {
		if seen += n; seen > rank {
			return middle(i)
		}
	}
	return float64(h.max)
}
