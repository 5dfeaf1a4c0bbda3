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
// counts. The count of sub-window i is at i modulo Buckets+1. In debt, a count of math.MaxUint64
// stands for itself and all above it. It leaves as a whole, and nothing lowers it.
type Counts struct {
	Limit, Buckets uint64
	Width          uint64 // of a sub-window, in nanoseconds

	// Most is from where on a count becomes math.MaxUint64. It is lower if the caller packs counts,
	// and has no room for larger ones.
	Most uint64
}

// A CountsView is a state as it is at an instant, which may be later than the last one at which it
// counted. Only Take and GiveBack write to the state.
type CountsView struct {
	Counts
	state   []uint64
	index   uint64        // the sub-window that the instant lies in, the latest known or later
	passed  uint64        // how much of it has passed
	late    uint64        // the time until it begins, if the instant is before the latest known
	whole   exact.Uint128 // the sum of the counts that the window covers whole
	leaving uint64        // the count of the sub-window that is leaving the window
}

// View makes a view of the state at now. The state must be sound.
func (c Counts) View(state []uint64, now int64) CountsView {
	v := CountsView{Counts: c, state: state, index: max(uint64(now)/c.Width, state[0])}
	// An older instant counts as the start of the latest sub-window.
	start := v.index * c.Width
	v.passed, v.late = max(uint64(now), start)-start, max(uint64(now), start)-uint64(now)
	v.sum()
	return v
}

// Words is how many words a state has.
func (c Counts) Words() int { return int(c.Buckets) + 2 }

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
	v.leaving, v.whole = v.count(v.index-v.Buckets), exact.Uint128{}
	known := v.state[0]
	if v.index-known >= v.Buckets {
		return
	}
	slot := 1 + known%(v.Buckets+1)
	for range v.Buckets - (v.index - known) { // those that the window covers whole and that are known
		v.whole = v.whole.Add(exact.Uint128{Lo: v.state[slot]})
		if slot--; slot == 0 {
			slot = v.Buckets + 1
		}
	}
}

// CountedAt is the instant as of which Take counts: that of the view, or the start of the latest
// sub-window if that is later.
func (v *CountsView) CountedAt() uint64 { return v.index*v.Width + v.passed }

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
	for i := range min(v.index-v.state[0], v.Buckets+1) { // the sub-windows since the latest known start empty
		*v.at(v.index - i) = 0
	}
	v.state[0] = v.index
	count := v.at(v.index)
	before := *count
	if *count = exact.Sum(before, n); *count >= v.Most {
		*count = math.MaxUint64
	}
	v.whole = v.whole.Add(exact.Uint128{Lo: *count - before})
}

// GiveBack takes n events out of the counts, the latest first. It takes none that were counted in a
// later sub-window than that of countedAt, because those count for longer.
func (v *CountsView) GiveBack(n uint64, countedAt int64) {
	if v.leaving == 0 && v.whole.IsZero() {
		return
	}
	known := v.state[0]
	for i := known - min(known, uint64(countedAt)/v.Width); i <= min(v.Buckets, known); i++ {
		if count := v.at(known - i); *count < math.MaxUint64 {
			back := min(n, *count)
			*count -= back
			n -= back
		}
	}
	v.sum()
}

// Until is the time until the estimate is at most target, if nothing is added.
//
// While a sub-window leaves, the estimate is whole + floor(leaving*(width-passed)/width). If whole
// fits target, room for leaving remains, and the instant follows from that formula. If not, the
// oldest of whole must leave, too, and the search goes on in the next sub-window. So it does if
// leaving is a debt that leaves as a whole.
func (v *CountsView) Until(target uint64) time.Duration {
	whole, leaving, step := v.whole, v.leaving, uint64(0)
	for leaving == math.MaxUint64 || whole.Hi > 0 || whole.Lo > target {
		step++
		leaving = v.count(v.index + step - v.Buckets)
		whole = whole.Sub(exact.Uint128{Lo: leaving})
	}
	needed := uint64(0) // the least passed
	if room := target - whole.Lo; room < leaving {
		// leaving*(width-needed) < (room+1)*width
		hi, lo := bits.Mul64(room+1, v.Width)
		left, rem := bits.Div64(hi, lo, leaving)
		if rem > 0 {
			left++
		}
		needed = v.Width - left + 1
	}
	after := step*v.Width + needed // at most (Buckets+1)*Width, and so at most twice the window
	if after <= v.passed {
		return 0
	}
	return exact.Duration(exact.Sum(after-v.passed, v.late))
}

// Expiry is the instant at which the estimate reaches zero if nothing is added. It is not before
// the start of the latest sub-window, even if all events were given back: until then, an instant
// before that start counts as the start. It is 0 if the state is not sound.
func (c Counts) Expiry(state []uint64) int64 {
	if !c.Sound(state) {
		return 0
	}
	start := state[0] * c.Width
	v := c.View(state, int64(start))
	return int64(exact.Duration(start + uint64(v.Until(0))))
}

// Gone is the instant from which on no event of the latest sub-window counts, however many others
// it has. The estimate may be zero before that: the share that still counts is rounded down, and
// with few events it is less than one. The state must be sound.
func (c Counts) Gone(state []uint64) int64 {
	return exact.After(int64(state[0]*c.Width), exact.Duration((c.Buckets+1)*c.Width))
}

// Sound reports whether the state can be one of c.
func (c Counts) Sound(state []uint64) bool {
	if len(state) != c.Words() || state[0] > math.MaxInt64/c.Width {
		return false
	}
	for i := state[0] + 1; i <= c.Buckets; i++ { // sub-windows that are still to come, soon after the epoch
		if state[1+i] != 0 {
			return false
		}
	}
	return true
}
