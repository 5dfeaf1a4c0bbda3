package weir

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// maxBuckets bounds the memory of a key to 800 kB. A new state of a composed policy may have no
// more words than that of a SlidingWindow with maxBuckets.
const (
	maxBuckets = 100_000
	maxWords   = maxBuckets + 2
)

// SlidingWindow allows Limit events in any window of length Per, by a weighted estimate.
//
// Per is divided into Buckets sub-windows, each with a count. They are aligned to the Unix epoch.
// The estimate for the window that ends now is the sum of
//
//   - the counts of the current sub-window and the Buckets-1 before it, and
//   - a share of the count of the sub-window before those: the share that the window still covers,
//     as if the events of that sub-window had been spread evenly. It is rounded down.
//
// With one bucket it is the well-known form
//
//	estimate = previous * (Per - elapsed) / Per + current
//
// Choose it to smooth the boundary of [FixedWindow] at a constant cost in memory. For a limit of a
// few events, [SlidingLog] is better. While no events are given back and the policy stays the same,
// these are the worst cases, in spans that include their start, not their end:
//
//   - Any span of length s <= Per has at most Limit + Limit*s/Per events, rounded up.
//   - Some window of length Per may have 2*Limit events, but spread so that the bound above holds.
//   - With k buckets, any span of up to Per*(k-1)/k has at most Limit events. A span of a whole Per
//     may still have 2*Limit events.
//
// The state of a key takes Buckets + 2 words of 8 bytes. With one bucket and a small limit for the
// window (up to 8,000 a second, 65,000 a minute or 500,000 an hour) it takes one word. One word may
// have no room for a debt larger than Limit. Events that are given back do not reduce such a debt,
// and the debt counts in full until the estimate no longer includes its window.
//
// Cloudflare described the weighted form in "How we built rate limiting capable of scaling to
// millions of domains", 2017.
type SlidingWindow struct {
	Limit   int           // events allowed in a window; at least 1
	Per     time.Duration // length of the window; at least 1ns
	Buckets int           // sub-windows, at most 100,000, which divide Per evenly; 0 means 1
}

// Decider implements [Policy].
func (p SlidingWindow) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	switch {
	case p.Buckets < 0 || p.Buckets > maxBuckets:
		f.add("Buckets", p.Buckets, "from 0 to 100000")
	case p.Buckets > 1 && p.Per > 0 && p.Per%time.Duration(p.Buckets) != 0:
		f.add("Buckets", p.Buckets, "a divisor of Per, "+p.Per.String())
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	k := uint64(max(p.Buckets, 1))
	s := sliding{limit: uint64(p.Limit), width: uint64(p.Per) / k, buckets: k, most: math.MaxUint64}
	word := oneWord{bits: uint(63-bits.Len64(maxInstant/s.width)) / 2, n: 2}
	if k > 1 || s.limit > word.largest()/2 { // a debt of as much again has room
		return s, nil
	}
	s.most = word.largest()
	d := &slidingWord{oneWord: word, windows: s}
	d.core = &d.windows
	return d, nil
}

// String returns the text form of p, such as "sliding-window 100/1m buckets=6".
func (p SlidingWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SlidingWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *SlidingWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *SlidingWindow) form() text.Form {
	return text.Rate(&p.Limit, text.Duration(&p.Per), text.Count("buckets", &p.Buckets))
}

// sliding keeps the number of the latest sub-window that it counted in, and buckets+1 counts. The
// count of sub-window i is at i modulo buckets+1. In debt, the largest count stands for itself and
// all above it. It leaves as a whole, and nothing lowers it.
type sliding struct {
	limit, width, buckets uint64
	most                  uint64 // from this count on, a count becomes the largest uint64, because the state does not hold it
}

func (s sliding) Words() int { return int(s.buckets) + 2 }

func (s sliding) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !s.sound(state) {
		return state, broken()
	}
	v := s.view(state, now)
	if ask.N < 0 {
		v.giveBack(exact.Magnitude(ask.N), ask.CountedAt())
	}
	var a Answer
	n := a.count(ask, s.limit, v.room())
	if a.Allowed {
		v.take(n)
		if ask.Charges != nil && n > 0 {
			*ask.Charges = append((*ask.Charges)[:0], countedCharge(int(n), now, v.now*s.width+v.passed, uint64(s.gone(state))))
		}
	} else if n <= s.limit {
		a.RetryAfter = v.until(s.limit - n)
	}
	a.Remaining, a.ResetAfter = int(v.room()), v.until(0)
	if ask.More && a.Remaining < a.Limit {
		a.MoreAfter = v.until(s.limit - uint64(a.Remaining) - 1)
	}
	return state, a
}

func (s sliding) admit(state []uint64, now int64) ([]uint64, bool) {
	v := s.view(state, now)
	if v.room() == 0 {
		return state, false
	}
	v.take(1)
	return state, true
}

func (s sliding) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	state, a := s.Decide(state, now, Ask{N: n})
	return state, a.short(), a.DecidedBy
}

// Hold implements [Holder]: events may be held until the sub-window ends. Within it, the estimate
// of the events that it has counted only falls.
func (s sliding) Hold(at int64, charges []Charge) Hold {
	if len(charges) != 1 {
		return Hold{}
	}
	left := exact.Duration(s.width - uint64(at)%s.width)
	return Hold{For: min(left, charges[0].For), Span: exact.Duration(s.width * s.buckets)}
}

// Expiry is the instant at which the estimate reaches zero if nothing is added. It is not before the
// start of the latest sub-window, even if all events were given back: until then, an instant before
// that start counts as the start.
func (s sliding) Expiry(state []uint64) int64 {
	if !s.sound(state) {
		return 0
	}
	start := state[0] * s.width
	v := s.view(state, int64(start))
	return int64(exact.Duration(start + uint64(v.until(0))))
}

// gone is the instant at which no event counts, whatever else was counted. The estimate may be zero
// before that, because the share of the sub-window that is leaving is rounded down. With more
// events in that sub-window, less is lost.
func (s sliding) gone(state []uint64) int64 {
	return exact.After(int64(state[0]*s.width), exact.Duration((s.buckets+1)*s.width))
}

func (s sliding) sound(state []uint64) bool {
	if len(state) != s.Words() || state[0] > maxInstant/s.width {
		return false
	}
	for i := state[0] + 1; i <= s.buckets; i++ { // sub-windows that are still to come, soon after the epoch
		if state[1+i] != 0 {
			return false
		}
	}
	return true
}

// The methods below are for changes of policy, see counter.

func (s sliding) counts() any { return sliding{width: s.width, buckets: s.buckets} }

func (s sliding) used(state []uint64, now int64) uint64 {
	v := s.view(state, now)
	return v.estimate()
}

func (s sliding) allowance() uint64 { return s.limit }

// The methods below implement core, for one bucket: the words are the sub-window and both counts.

func (s *sliding) decide(w words, now int64, ask Ask) (words, Answer) {
	state := w.slice()
	_, a := s.Decide(state, now, ask)
	return words{state[0], state[1], state[2]}, a
}

func (s *sliding) expiry(w words) int64            { return s.Expiry(w.slice()) }
func (s *sliding) usage(w words, now int64) uint64 { return s.used(w.slice(), now) }
func (s *sliding) valid(w words) bool              { return s.sound(w.slice()) }

// slidingWord keeps the latest sub-window and the two counts in one word.
type slidingWord struct {
	oneWord
	windows sliding
}

func (d *slidingWord) Hold(at int64, charges []Charge) Hold { return d.windows.Hold(at, charges) }

func (d *slidingWord) wide() Decider {
	s := d.windows
	s.most = math.MaxUint64
	return s
}

// admitWord needs no division while the sub-window lasts: current + floor(x/width) < limit is x <
// (limit-current)*width. A previous count that has saturated leaves as a whole, and is above any
// limit until then.
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
	currentAt := d.bits * uint(1-index&1) // its place in the word
	current, previous := d.count(state>>currentAt), d.count(state>>(d.bits-currentAt))
	if current >= s.limit || previous == math.MaxUint64 || !exact.Mul(previous, s.width-passed).Less(exact.Mul(s.limit-current, s.width)) {
		return state, false
	}
	return state + 1<<currentAt, true
}

// takeWord is the same for any number of events. If the sub-window lasts and the events fit, as for
// most asks, it decides itself. Otherwise it calls DecideWord.
func (d *slidingWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	s := &d.windows
	index := state >> (2 * d.bits)
	start := index * s.width
	passed, late := max(uint64(now), start)-start, max(uint64(now), start)-uint64(now)
	currentAt := d.bits * uint(1-index&1)
	current, previous := d.count(state>>currentAt), d.count(state>>(d.bits-currentAt))
	if passed < s.width && max(current, previous) < math.MaxUint64 {
		room := s.limit - min(current+exact.Portion(previous, s.width-passed, s.width), s.limit)
		if asked := uint64(n); asked <= room {
			left, count := 2*s.width, current+asked // of the sub-windows, and what leaves in the last
			if count == 0 {
				left, count = s.width, previous
			}
			r := shortResult{remaining: int(room - asked)}
			if count > 0 {
				left -= (s.width - 1) / count // the last event is gone before its share is
				if left > passed {
					r.resetAfter = exact.Duration(exact.Sum(left-passed, late))
				}
			}
			return state + asked<<currentAt, r
		}
	}
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}

func (d *slidingWord) more(next uint64, now int64, _ shortResult) time.Duration {
	_, look := d.DecideWord(next, now, Ask{More: true})
	return look.MoreAfter
}

func (d *slidingWord) charge(c *Charge, next uint64, now int64, n int, _ shortResult) {
	first := d.unpack(next).first
	*c = countedCharge(n, now, max(uint64(now), first*d.windows.width), uint64(d.windows.gone([]uint64{first})))
}
