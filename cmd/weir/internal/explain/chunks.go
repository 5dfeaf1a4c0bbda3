package explain

import (
	"slices"

	"github.com/weir-go/weir"
)

// Chunks returns numbers of events that a new key gets at one instant, if it asks for them one
// after the other, and that together are all it gets. Each does to the key what as many single
// events do. Of a policy of another package, Chunks returns only the first event.
//
// Larger numbers would not: what the first of the [weir.Tiers] has no room for counts in the next
// one as a whole, the markers mark it likewise, and a [weir.LeakyBucket] grants several together.
func Chunks(p weir.Policy) (sizes []int) {
	before := 0
	for _, end := range ends(p) {
		if end > before {
			sizes = append(sizes, end-before)
			before = end
		}
	}
	return sizes
}

// ends returns after how many single events a part of p is used up, in order. The last is all of p.
// Of a policy of another package, it returns the first event.
func ends(p weir.Policy) (all []int) {
	switch p := p.(type) {
	case weir.TokenBucket:
		return []int{orLimit(p.Burst, p.Limit)}
	case weir.LeakyBucket:
		return []int{1}
	case weir.FixedWindow:
		return []int{p.Limit}
	case weir.SlidingWindow:
		return []int{p.Limit}
	case weir.SlidingLog:
		return []int{p.Limit}
	case weir.CalendarWindow:
		return []int{p.Limit}
	case weir.SingleRateMarker:
		green := orLimit(p.Committed.Burst, p.Committed.Limit)
		return []int{green, sum(green, p.Excess)}
	case weir.TwoRateMarker:
		return least(append(ends(p.Committed), ends(p.Peak)...), ends(p.Peak))
	}
	parts := weir.Components(p)
	switch {
	case parts == nil:
		return []int{1}
	case IsTiers(p):
		before := 0
		for _, part := range parts {
			for _, end := range ends(part) {
				all = append(all, sum(before, end))
			}
			before = all[len(all)-1]
		}
		return all
	}
	for _, part := range parts {
		all = append(all, ends(part)...)
	}
	for _, part := range parts {
		all = least(all, ends(part))
	}
	return all
}

// least returns in order those of all that are not above the last of part.
func least(all, part []int) []int {
	most := part[len(part)-1]
	slices.Sort(all)
	return slices.DeleteFunc(all, func(end int) bool { return end > most })
}
