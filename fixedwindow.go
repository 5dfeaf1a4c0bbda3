package weir

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/text"
)

// FixedWindow allows Limit events in each window of length Per.
//
//   - Without FromFirst, windows are aligned to the Unix epoch. For example, windows of an hour
//     start at full hours in UTC, for all keys.
//   - With FromFirst, a key's window starts with the first event that is granted after its last
//     window ended. A window also ends if all its events are given back.
//
// FixedWindow is the policy that is easiest to explain ("1000 a day"): the whole allowance is back
// at one instant. Its flaw is the boundary between two windows. Limit events may happen just before
// the boundary, and Limit more just after. Together these are 2*Limit in a very short span. With
// FromFirst, such a span usually has at most 2*Limit - 1 events, because the event that opened the
// first of the two windows happened before the span. Where 2*Limit is too many, use [SlidingWindow]
// or [SlidingLog].
//
// The state of a key takes one word of 8 bytes. It takes two words with FromFirst, and also if the
// limit is too large for the window (above about 250 million a second or 250,000 a millisecond).
//
// The Redis documentation of INCR has both forms as patterns for a rate limiter: a counter for each
// second, and a counter that expires a second after its first event.
type FixedWindow struct {
	Limit     int           // events allowed in a window; at least 1
	Per       time.Duration // length of a window; at least 1ns
	FromFirst bool          // a window starts with an event of its key, and is not aligned to the epoch
}

// Decider implements [Policy].
func (p FixedWindow) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	if err := f.err(); err != nil {
		return nil, err
	}
	per := uint64(p.Per)
	if p.FromFirst {
		return window{uint64(p.Limit), 1, fromFirst{per}}.decider(0), nil
	}
	return window{uint64(p.Limit), per, aligned{per}}.decider(uint(63 - bits.Len64(maxInstant/per))), nil
}

// String returns the text form of p, such as "fixed-window 1000/1h from-first".
func (p FixedWindow) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p FixedWindow) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy.
func (p *FixedWindow) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p *FixedWindow) form() text.Form {
	return text.Rate(&p.Limit, text.Duration(&p.Per), text.Flag("from-first", &p.FromFirst))
}

// A window is the core of [FixedWindow] and [CalendarWindow]. Its state is the mark of the window
// that was counted in last, and the count. In debt, the largest count stands for all larger ones,
// too, and nothing lowers it.
type window struct {
	limit uint64
	unit  uint64 // of the marks: a window starts so many nanoseconds after the epoch, times its mark
	spans
}

// spans determine where windows start and end.
type spans interface {
	// around is the window that an event is counted in: its mark, and the instant at which it ends.
	// If s has counted anything, an instant before its window counts as the start of that window.
	around(s words, now uint64) (mark, end uint64)

	// counts is the counts method of a counter.
	counts() any
}

// decider keeps the state in one word if a count of the given number of bits has room for the limit
// and as large a debt. The count then has that many bits.
func (w window) decider(bits uint) Decider {
	if w.limit >= 1<<bits/2 { // the largest count stands for larger ones
		d := &windowPair{window: w}
		d.core = &d.window
		return d
	}
	d := &windowWord{window: w}
	d.oneWord = oneWord{&d.window, bits, 1}
	return d
}

// at is the window that counts at now, with its count, and the time until it ends. If the clock is
// behind, that is longer than the window.
func (w *window) at(s words, now int64) (in words, left time.Duration) {
	mark, end := w.around(s, uint64(now))
	if mark != s.first {
		s = words{first: mark}
	}
	return s, exact.Duration(end - uint64(now))
}

func (w *window) decide(s words, now int64, ask Ask) (words, Answer) {
	in, left := w.at(s, now)
	before := in.second
	if ask.N < 0 && in.second < math.MaxUint64 && uint64(ask.CountedAt()) >= in.first*w.unit {
		in.second -= min(in.second, exact.Magnitude(ask.N))
	}
	var a Answer
	n := a.count(ask, w.limit, w.room(in))
	if a.Allowed {
		in.second = exact.Sum(in.second, n)
		from := max(uint64(now), in.first*w.unit)
		ask.chargeLate(n, now, from, uint64(now)+uint64(left))
	} else if n <= w.limit {
		a.RetryAfter = left
	}
	a.Remaining = int(w.room(in))
	if in.second > 0 {
		a.ResetAfter = left
	}
	if ask.More { // all come back at once
		a.MoreAfter = a.ResetAfter
	}
	if in.second != before {
		s = in
	}
	return s, a
}

// Hold implements [Holder]. Events may be held until the window ends. No more events are then used
// in the window than it has counted.
func (w *window) Hold(at int64, charges []Charge) Hold {
	if len(charges) != 1 {
		return Hold{}
	}
	mark, end := w.around(words{}, uint64(at))
	left := exact.Duration(end - uint64(at))
	return Hold{For: min(left, charges[0].For), Span: exact.Duration(end - mark*w.unit)}
}

// room is how many more events fit.
func (w *window) room(s words) uint64 { return w.limit - min(s.second, w.limit) }

func (w *window) expiry(s words) int64 {
	if s.second == 0 { // after a give-back; an older instant still counts as the start of the window
		return int64(s.first * w.unit)
	}
	_, end := w.around(s, s.first*w.unit)
	return int64(exact.Duration(end))
}

func (w *window) usage(s words, now int64) uint64 {
	in, _ := w.at(s, now)
	return in.second
}

func (w *window) valid(s words) bool { return s.first <= maxInstant/w.unit }

func (w *window) counts() any { return w.spans.counts() }

// definition is all that distinguishes a window from others of its type.
func (w *window) definition() any { return [2]any{w.limit, w.counts()} }

func (w *window) allowance() uint64 { return w.limit }

// windowPair keeps the mark and the count.
type windowPair struct {
	twoWords
	window
}

func (d *windowPair) admit(state []uint64, now int64) ([]uint64, bool) {
	in, _ := d.at(pairOf(state), now)
	if in.second >= d.limit {
		return state, false
	}
	state[0], state[1] = in.first, in.second+1
	return state, true
}

func (d *windowPair) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	s, a := d.decide(pairOf(state), now, Ask{N: n})
	s.store(state)
	return state, a.short(), 0
}

// windowWord keeps both in a word.
type windowWord struct {
	oneWord
	window
}

func (d *windowWord) wide() Decider { return d.decider(0) }

func (d *windowWord) admitWord(state uint64, now int64) (uint64, bool) {
	s := words{first: state >> d.bits, second: state & d.largest()}
	mark, _ := d.around(s, uint64(now))
	switch {
	case mark > s.first:
		return mark<<d.bits | 1, true
	case s.second >= d.limit:
		return state, false
	}
	return state + 1, true
}

// takeWord is the same for any number of events. A count that has saturated leaves no room, as it
// is above the limit.
func (d *windowWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	in, left := d.at(words{first: state >> d.bits, second: state & d.largest()}, now)
	var r shortResult
	switch room := d.room(in); {
	case uint64(n) > d.limit:
		r.retryAfter = Never
	case uint64(n) > room:
		r.retryAfter = left
	case n > 0:
		in.second += uint64(n)
		state = in.first<<d.bits | in.second
	}
	r.remaining = int(d.room(in))
	if in.second > 0 {
		r.resetAfter = left
	}
	return state, r
}

func (d *windowWord) more(_ uint64, _ int64, r shortResult) time.Duration { return r.resetAfter }

func (d *windowWord) charge(c *Charge, next uint64, now int64, n int, r shortResult) {
	from := max(uint64(now), d.unpack(next).first*d.unit)
	*c = countedCharge(n, now, from, uint64(now)+uint64(r.resetAfter))
}

// aligned are windows of one length, aligned to the epoch. The mark of a window is its number.
type aligned struct{ per uint64 }

// around divides only when a window has ended.
func (a aligned) around(s words, now uint64) (mark, end uint64) {
	mark, end = s.first, (s.first+1)*a.per
	if now >= end {
		mark = now / a.per
		end = (mark + 1) * a.per
	}
	return mark, end
}

func (a aligned) counts() any { return a }

// fromFirst are windows of one length that start with their first event. The mark of a window is
// the instant of that event.
type fromFirst struct{ per uint64 }

func (f fromFirst) around(s words, now uint64) (mark, end uint64) {
	mark = s.first
	if s.second == 0 || now >= mark+f.per {
		mark = max(now, mark)
	}
	return mark, mark + f.per
}

func (f fromFirst) counts() any { return f }
