package weir

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A slidingView is a state as it is at an instant, which may be later than the last one at which it
// counted.
type slidingView struct {
	sliding
	state   []uint64
	now     uint64        // the sub-window that the instant lies in, the latest known or later
	passed  uint64        // how much of it has passed
	late    uint64        // the time until it begins
	whole   exact.Uint128 // the sum of the counts that the window covers whole
	leaving uint64        // the count of the sub-window that is leaving the window
}

func (s sliding) view(state []uint64, now int64) slidingView {
	v := slidingView{sliding: s, state: state, now: max(uint64(now)/s.width, state[0])}
	// An older instant counts as the start of the latest sub-window.
	start := v.now * s.width
	v.passed, v.late = max(uint64(now), start)-start, max(uint64(now), start)-uint64(now)
	v.sum()
	return v
}

// at is the place of the count of sub-window i.
func (v *slidingView) at(i uint64) *uint64 { return &v.state[1+i%(v.buckets+1)] }

// count is the count of sub-window i. The number of a sub-window before the epoch wraps around to
// one later than those known, which counts nothing.
func (v *slidingView) count(i uint64) uint64 {
	if known := v.state[0]; i > known || known-i > v.buckets {
		return 0
	}
	return *v.at(i)
}

// sum adds up the counts.
func (v *slidingView) sum() {
	v.leaving, v.whole = v.count(v.now-v.buckets), exact.Uint128{}
	known := v.state[0]
	if v.now-known >= v.buckets {
		return
	}
	slot := 1 + known%(v.buckets+1)
	for range v.buckets - (v.now - known) { // those that the window covers whole and that are known
		v.whole = v.whole.Add(exact.Uint128{Lo: v.state[slot]})
		if slot--; slot == 0 {
			slot = v.buckets + 1
		}
	}
}

// room is how many more events fit.
func (v *slidingView) room() uint64 { return v.limit - min(v.estimate(), v.limit) }

// estimate is the estimate of the events in the window, or the largest uint64 if it is larger.
func (v *slidingView) estimate() uint64 {
	share := v.leaving
	if share > 0 && share < math.MaxUint64 {
		share = exact.Portion(share, v.width-v.passed, v.width)
	}
	sum := v.whole.Add(exact.Uint128{Lo: share})
	if sum.Hi > 0 {
		return math.MaxUint64
	}
	return sum.Lo
}

// take counts n events.
func (v *slidingView) take(n uint64) {
	if n == 0 {
		return
	}
	for i := range min(v.now-v.state[0], v.buckets+1) { // the sub-windows since the latest known start empty
		*v.at(v.now - i) = 0
	}
	v.state[0] = v.now
	c := v.at(v.now)
	before := *c
	if *c = exact.Sum(before, n); *c >= v.most {
		*c = math.MaxUint64
	}
	v.whole = v.whole.Add(exact.Uint128{Lo: *c - before})
}

// giveBack takes n events out of the counts, the latest first. It takes none that were counted in a
// later sub-window than that of countedAt, because those count for longer.
func (v *slidingView) giveBack(n uint64, countedAt int64) {
	if v.leaving == 0 && v.whole.IsZero() {
		return
	}
	known := v.state[0]
	for i := known - min(known, uint64(countedAt)/v.width); i <= min(v.buckets, known); i++ {
		if c := v.at(known - i); *c < math.MaxUint64 {
			back := min(n, *c)
			*c -= back
			n -= back
		}
	}
	v.sum()
}

// until is the time until the estimate is at most target, if nothing is added.
//
// While a sub-window leaves, the estimate is whole + floor(leaving*(width-passed)/width). If whole
// fits target, room for leaving remains, and the instant follows from that formula. If not, the
// oldest of whole must leave, too, and the search goes on in the next sub-window.
func (v *slidingView) until(target uint64) time.Duration {
	whole, leaving, step := v.whole, v.leaving, uint64(0)
	for leaving == math.MaxUint64 || whole.Hi > 0 || whole.Lo > target {
		step++
		leaving = v.count(v.now + step - v.buckets)
		whole = whole.Sub(exact.Uint128{Lo: leaving})
	}
	passed := uint64(0)
	if room := target - whole.Lo; room < leaving {
		// The least passed with leaving*(width-passed) < (room+1)*width.
		hi, lo := bits.Mul64(room+1, v.width)
		left, rem := bits.Div64(hi, lo, leaving)
		if rem > 0 {
			left++
		}
		passed = v.width - left + 1
	}
	after := step*v.width + passed // at most (k+1)*width, and so at most 2*Per
	if after <= v.passed {
		return 0
	}
	return exact.Duration(exact.Sum(after-v.passed, v.late))
}
