package weir

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/sliding"
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
	s := eventCounts{Limit: uint64(p.Limit), Buckets: k, Width: uint64(p.Per) / k, Most: math.MaxUint64}
	word := oneWord{bits: uint(63-bits.Len64(maxInstant/s.Width)) / 2, n: 2}
	if k > 1 || s.Limit > word.largest()/2 { // a debt of as much again has room
		return &s, nil
	}
	s.Most = word.largest()
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

// eventCounts decides by the counts of sub-windows.
type eventCounts sliding.Counts

func (s *eventCounts) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !s.sound(state) {
		return state, broken()
	}
	v := (*sliding.Counts)(s).View(state, now)
	if ask.N < 0 {
		v.GiveBack(exact.Magnitude(ask.N), ask.CountedAt())
	}
	var a Answer
	n := a.count(ask, s.Limit, v.Room())
	if a.Allowed {
		v.Take(n)
		if ask.Charges != nil && n > 0 {
			*ask.Charges = append((*ask.Charges)[:0], countedCharge(int(n), now, v.CountedAt(), uint64(s.gone(state))))
		}
	} else if n <= s.Limit {
		a.RetryAfter = v.Until(s.Limit - n)
	}
	a.Remaining, a.ResetAfter = int(v.Room()), v.Until(0)
	if ask.More && a.Remaining < a.Limit {
		a.MoreAfter = v.Until(s.Limit - uint64(a.Remaining) - 1)
	}
	return state, a
}

func (s *eventCounts) admit(state []uint64, now int64) ([]uint64, bool) {
	v := (*sliding.Counts)(s).View(state, now)
	if v.Room() == 0 {
		return state, false
	}
	v.Take(1)
	return state, true
}

func (s *eventCounts) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	state, a := s.Decide(state, now, Ask{N: n})
	return state, a.short(), a.DecidedBy
}

// Hold implements [Holder]: events may be held until the sub-window ends. Within it, the estimate
// of the events that it has counted only falls.
func (s *eventCounts) Hold(at int64, charges []Charge) Hold {
	if len(charges) != 1 {
		return Hold{}
	}
	left := exact.Duration(s.Width - uint64(at)%s.Width)
	return Hold{For: min(left, charges[0].For), Span: exact.Duration(s.Width * s.Buckets)}
}

func (s *eventCounts) Words() int                  { return (*sliding.Counts)(s).Words() }
func (s *eventCounts) Expiry(state []uint64) int64 { return (*sliding.Counts)(s).Expiry(state) }
func (s *eventCounts) gone(state []uint64) int64   { return (*sliding.Counts)(s).Gone(state) }
func (s *eventCounts) sound(state []uint64) bool   { return (*sliding.Counts)(s).Sound(state) }

// The methods below are for changes of policy, see counter.

func (s *eventCounts) counts() any {
	return eventCounts{Width: s.Width, Buckets: s.Buckets}
}

func (s *eventCounts) used(state []uint64, now int64) uint64 {
	v := (*sliding.Counts)(s).View(state, now)
	return v.Estimate()
}

func (s *eventCounts) allowance() uint64 { return s.Limit }

// The methods below implement core, for one bucket: the words are the sub-window and both counts.

func (s *eventCounts) decide(w words, now int64, ask Ask) (words, Answer) {
	state := w.slice()
	_, a := s.Decide(state, now, ask)
	return words{state[0], state[1], state[2]}, a
}

func (s *eventCounts) expiry(w words) int64            { return s.Expiry(w.slice()) }
func (s *eventCounts) usage(w words, now int64) uint64 { return s.used(w.slice(), now) }
func (s *eventCounts) valid(w words) bool              { return s.sound(w.slice()) }

// slidingWord keeps the latest sub-window and the two counts in one word.
type slidingWord struct {
	oneWord
	windows eventCounts
}

func (d *slidingWord) Hold(at int64, charges []Charge) Hold { return d.windows.Hold(at, charges) }

func (d *slidingWord) wide() Decider {
	s := d.windows
	s.Most = math.MaxUint64
	return &s
}

// admitWord needs no division while the sub-window lasts: current + floor(x/width) < limit is x <
// (limit-current)*width. A previous count that has saturated leaves as a whole, and is above any
// limit until then.
func (d *slidingWord) admitWord(state uint64, now int64) (uint64, bool) {
	s := &d.windows
	index := state >> (2 * d.bits)
	passed := uint64(0) // of the sub-window index, with an older instant counting as its start
	if start := index * s.Width; uint64(now) > start {
		if passed = uint64(now) - start; passed >= s.Width {
			next, a := d.DecideWord(state, now, Ask{N: 1})
			return next, a.Allowed
		}
	}
	currentAt := d.bits * uint(1-index&1) // its place in the word
	current, previous := d.count(state>>currentAt), d.count(state>>(d.bits-currentAt))
	if current >= s.Limit || previous == math.MaxUint64 || !exact.Mul(previous, s.Width-passed).Less(exact.Mul(s.Limit-current, s.Width)) {
		return state, false
	}
	return state + 1<<currentAt, true
}

// takeWord is the same for any number of events. If the sub-window lasts and the events fit, as for
// most asks, it decides itself. Otherwise it calls DecideWord.
func (d *slidingWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	s := &d.windows
	index := state >> (2 * d.bits)
	start := index * s.Width
	passed, late := max(uint64(now), start)-start, max(uint64(now), start)-uint64(now)
	currentAt := d.bits * uint(1-index&1)
	current, previous := d.count(state>>currentAt), d.count(state>>(d.bits-currentAt))
	if passed < s.Width && max(current, previous) < math.MaxUint64 {
		room := s.Limit - min(current+exact.Portion(previous, s.Width-passed, s.Width), s.Limit)
		if asked := uint64(n); asked <= room {
			left, count := 2*s.Width, current+asked // of the sub-windows, and what leaves in the last
			if count == 0 {
				left, count = s.Width, previous
			}
			r := shortResult{remaining: int(room - asked)}
			if count > 0 {
				left -= (s.Width - 1) / count // the last event is gone before its share is
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
	*c = countedCharge(n, now, max(uint64(now), first*d.windows.Width), uint64(d.windows.gone([]uint64{first})))
}
