package sliding

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// Counts are the counts of the events in sub-windows, by which their number in a window is
// estimated. The sub-windows are aligned to the Unix epoch. A window covers the present one, the
// Buckets-1 before it, and a share of the one before those.
//
// The state is the number of the latest sub-window in which events were counted, and Buckets+1
// counts. The count of sub-window i is at i modulo Buckets+1. In debt, the largest count stands for
// itself and all above it. It leaves as a whole, and nothing lowers it.
type Counts struct {
	Limit, Buckets uint64
	Width          uint64 // of a sub-window, in nanoseconds
	Most           uint64 // from this count on, a count becomes the largest uint64, because the state does not hold it
}

// A CountsView is a state as it is at an instant, which may be later than the last one at which it
// counted. Only Take and GiveBack write to the state.
type CountsView struct {
	Counts
	state   []uint64
	now     uint64        // the sub-window that the instant lies in, the latest known or later
	passed  uint64        // how much of it has passed
	late    uint64        // the time until it begins
	whole   exact.Uint128 // the sum of the counts that the window covers whole
	leaving uint64        // the count of the sub-window that is leaving the window
}

// View makes a view of the state at now. The state must be sound.
func (s Counts) View(state []uint64, now int64) CountsView {
	v := CountsView{Counts: s, state: state, now: max(uint64(now)/s.Width, state[0])}
	// An older instant counts as the start of the latest sub-window.
	start := v.now * s.Width
	v.passed, v.late = max(uint64(now), start)-start, max(uint64(now), start)-uint64(now)
	v.sum()
	return v
}

// Words is how many words a state has.
func (s Counts) Words() int { return int(s.Buckets) + 2 }

// at is the place of the count of sub-window i.
func (v *CountsView) at(i uint64) *uint64 { return &v.state[1+i%(v.Buckets+1)] }

// count is the count of sub-window i. The number of a sub-window before the epoch wraps around to
// one later than those known, which counts nothing.
func (v *CountsView) count(i uint64) uint64 {
	if known := v.state[0]; i > known || known-i > v.Buckets {
		return 0
	}
	return *v.at(i)
}

// sum adds up the counts.
func (v *CountsView) sum() {
	v.leaving, v.whole = v.count(v.now-v.Buckets), exact.Uint128{}
	known := v.state[0]
	if v.now-known >= v.Buckets {
		return
	}
	slot := 1 + known%(v.Buckets+1)
	for range v.Buckets - (v.now - known) { // those that the window covers whole and that are known
		v.whole = v.whole.Add(exact.Uint128{Lo: v.state[slot]})
		if slot--; slot == 0 {
			slot = v.Buckets + 1
		}
	}
}

// CountedAt is the instant as of which Take counts: that of the view, or the start of the latest
// sub-window if that is later.
func (v *CountsView) CountedAt() uint64 { return v.now*v.Width + v.passed }

// Room is how many more events fit.
func (v *CountsView) Room() uint64 { return v.Limit - min(v.Estimate(), v.Limit) }

// Estimate is the estimate of the events in the window, or the largest uint64 if it is larger.
func (v *CountsView) Estimate() uint64 {
	share := v.leaving
	if share > 0 && share < math.MaxUint64 {
		share = exact.Portion(share, v.Width-v.passed, v.Width)
	}
	sum := v.whole.Add(exact.Uint128{Lo: share})
	if sum.Hi > 0 {
		return math.MaxUint64
	}
	return sum.Lo
}

// Take counts n events.
func (v *CountsView) Take(n uint64) {
	if n == 0 {
		return
	}
	for i := range min(v.now-v.state[0], v.Buckets+1) { // the sub-windows since the latest known start empty
		*v.at(v.now - i) = 0
	}
	v.state[0] = v.now
	c := v.at(v.now)
	before := *c
	if *c = exact.Sum(before, n); *c >= v.Most {
		*c = math.MaxUint64
	}
	v.whole = v.whole.Add(exact.Uint128{Lo: *c - before})
}

// GiveBack takes n events out of the counts, the latest first. It takes none that were counted in a
// later sub-window than that of countedAt, because those count for longer.
func (v *CountsView) GiveBack(n uint64, countedAt int64) {
	if v.leaving == 0 && v.whole.IsZero() {
		return
	}
	known := v.state[0]
	for i := known - min(known, uint64(countedAt)/v.Width); i <= min(v.Buckets, known); i++ {
		if c := v.at(known - i); *c < math.MaxUint64 {
			back := min(n, *c)
			*c -= back
			n -= back
		}
	}
	v.sum()
}

// Until is the time until the estimate is at most target, if nothing is added.
//
// While a sub-window leaves, the estimate is whole + floor(leaving*(width-passed)/width). If whole
// fits target, room for leaving remains, and the instant follows from that formula. If not, the
// oldest of whole must leave, too, and the search goes on in the next sub-window.
func (v *CountsView) Until(target uint64) time.Duration {
	whole, leaving, step := v.whole, v.leaving, uint64(0)
	for leaving == math.MaxUint64 || whole.Hi > 0 || whole.Lo > target {
		step++
		leaving = v.count(v.now + step - v.Buckets)
		whole = whole.Sub(exact.Uint128{Lo: leaving})
	}
	passed := uint64(0)
	if room := target - whole.Lo; room < leaving {
		// The least passed with leaving*(width-passed) < (room+1)*width.
		hi, lo := bits.Mul64(room+1, v.Width)
		left, rem := bits.Div64(hi, lo, leaving)
		if rem > 0 {
			left++
		}
		passed = v.Width - left + 1
	}
	after := step*v.Width + passed // at most (k+1)*width, and so at most 2*Per
	if after <= v.passed {
		return 0
	}
	return exact.Duration(exact.Sum(after-v.passed, v.late))
}

// Expiry is the instant at which the estimate reaches zero if nothing is added. It is not before the
// start of the latest sub-window, even if all events were given back: until then, an instant before
// that start counts as the start.
func (s Counts) Expiry(state []uint64) int64 {
	if !s.Sound(state) {
		return 0
	}
	start := state[0] * s.Width
	v := s.View(state, int64(start))
	return int64(exact.Duration(start + uint64(v.Until(0))))
}

// Gone is the instant at which no event counts, whatever else was counted. The estimate may be zero
// before that, because the share of the sub-window that is leaving is rounded down. With more
// events in that sub-window, less is lost.
func (s Counts) Gone(state []uint64) int64 {
	return exact.After(int64(state[0]*s.Width), exact.Duration((s.Buckets+1)*s.Width))
}

// Sound reports whether the state can be one of s.
func (s Counts) Sound(state []uint64) bool {
	if len(state) != s.Words() || state[0] > math.MaxInt64/s.Width {
		return false
	}
	for i := state[0] + 1; i <= s.Buckets; i++ { // sub-windows that are still to come, soon after the epoch
		if state[1+i] != 0 {
			return false
		}
	}
	return true
}
