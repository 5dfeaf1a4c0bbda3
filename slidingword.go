package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// slidingCore is a sliding of one bucket as a core: the words are the sub-window and both counts.
type slidingCore struct{ sliding }

func (c slidingCore) decide(s words, now int64, ask Ask) (words, Answer) {
	state := s.slice()
	_, a := c.Decide(state, now, ask)
	return words{state[0], state[1], state[2]}, a
}

func (c slidingCore) expiry(s words) int64            { return c.Expiry(s.slice()) }
func (c slidingCore) usage(s words, now int64) uint64 { return c.used(s.slice(), now) }
func (c slidingCore) valid(s words) bool              { return c.sound(s.slice()) }

// slidingWord keeps the latest sub-window and the two counts in one word.
type slidingWord struct {
	stored
	windows slidingCore
}

func (d *slidingWord) lasts() time.Duration { return d.windows.lasts() }

func (d *slidingWord) wide() Decider {
	s := d.windows.sliding
	s.most = math.MaxUint64
	return s
}

func (d *slidingWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	s, a := d.windows.decide(d.unpack(state), now, ask)
	return d.pack(s), a
}

// admitWord needs no division while the sub-window lasts: current + floor(x/width) < limit is x <
// (limit-current)*width. A previous count that has saturated leaves as a whole, and is above any limit until then.
func (d *slidingWord) admitWord(state uint64, now int64) (uint64, bool) {
	s := &d.windows
	index := state >> (2 * d.bits)
	passed := uint64(0) // of the sub-window index, with an older instant counting as its start
	if start := index * s.width; uint64(now) > start {
		if passed = uint64(now) - start; passed >= s.width {
			next, a := d.DecideWord(state, now, Ask{N: 1})
			return next, a.Allowed
		}
	}
	currentAt := d.bits * int(1-index&1) // its place in the word
	current, previous := d.count(state>>currentAt), d.count(state>>(d.bits-currentAt))
	if current >= s.limit || previous == math.MaxUint64 || !exact.Mul(previous, s.width-passed).Less(exact.Mul(s.limit-current, s.width)) {
		return state, false
	}
	return state + 1<<currentAt, true
}

func (d *slidingWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}
