package explain

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

// Most returns the most events that one client can get in any span of that length, if it knows the
// policy, chooses the moments, and asks for one event at a time, at once or by Wait. The span
// includes its start, not its end. These are the figures of docs/choosing.md:
//
//   - For a single policy, some client does get as many. If events are only a few nanoseconds apart,
//     it may get less, because there is no instant between two nanoseconds.
//   - For policies composed by [weir.All] it is the least of them, and for [weir.Tiers] it is their
//     sum. No client gets more. Perhaps none gets as many: that depends on where the windows of the
//     components start.
//
// The number is math.MaxInt if an int cannot hold it, and for a policy of another package.
func Most(p weir.Policy, span time.Duration) int {
	if span < 1 {
		return 0
	}
	switch p := p.(type) {
	case weir.TokenBucket:
		return sum(orLimit(p.Burst, p.Limit)-1, parts(span, p.Limit, p.Per))
	case weir.LeakyBucket:
		return parts(span, p.Limit, p.Per) // by Wait: one that comes itself is late by a part of a nanosecond
	case weir.FixedWindow:
		if p.FromFirst { // all but one event at the end of a window that one event has opened
			return max(product(p.Limit, parts(span, 1, p.Per)), sum(p.Limit-1, product(p.Limit, parts(span-1, 1, p.Per))))
		}
		return product(p.Limit, touched(span, p.Per))
	case weir.SlidingWindow:
		return sliding(p, span)
	case weir.SlidingLog:
		return product(p.Limit, parts(span, 1, p.Per))
	case weir.CalendarWindow:
		return product(p.Limit, calendarTouched(p, span))
	case weir.SingleRateMarker:
		full := sum(orLimit(p.Committed.Burst, p.Committed.Limit), p.Excess)
		return sum(full-1, parts(span, p.Committed.Limit, p.Committed.Per))
	case weir.TwoRateMarker:
		return Most(p.Peak, span)
	}
	components := weir.Components(p)
	if components == nil {
		return math.MaxInt
	}
	least, all := math.MaxInt, 0
	for _, c := range components {
		n := Most(c, span)
		least, all = min(least, n), sum(all, n)
	}
	if IsTiers(p) {
		return all
	}
	return least
}

// parts is span * limit / per, rounded up: how many instants fit in the span that are per/limit
// apart.
func parts(span time.Duration, limit int, per time.Duration) int {
	hi, lo := bits.Mul64(uint64(span), uint64(limit))
	lo, carry := bits.Add64(lo, uint64(per-1), 0)
	if hi += carry; hi >= uint64(per) {
		return math.MaxInt
	}
	n, _ := bits.Div64(hi, lo, uint64(per))
	return toInt(n)
}

// touched returns the largest number of windows of length per that a span has instants of.
func touched(span, per time.Duration) int {
	if span == 1 {
		return 1
	}
	return sum(toInt(uint64((span-2)/per)), 2)
}

// sliding: the worst client takes Limit right before the end of a sub-window. While that counts in
// full nothing is granted. In the sub-window Per later it counts less and less, which makes room
// for Limit more, spread evenly. In those the same happens again.
func sliding(p weir.SlidingWindow, span time.Duration) int {
	buckets := int64(max(p.Buckets, 1))
	whole, rest := span/p.Per, span%p.Per
	sub := p.Per / time.Duration(buckets)
	room := max(rest-2-(p.Per-sub), 0) // of the span, in that sub-window: at both ends an instant is lost
	return sum(product(p.Limit, sum(toInt(uint64(whole)), 1)), parts(room, p.Limit, sub))
}

// sum and product are never above math.MaxInt. They require that no number is negative.
func sum(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func product(a, b int) int {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi > 0 {
		return math.MaxInt
	}
	return toInt(lo)
}

func toInt(n uint64) int { return int(min(n, math.MaxInt)) }
