package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A window is the core of [FixedWindow] and [CalendarWindow]. Its state is the mark of the window
// that was counted in last, and the count. In debt, the largest count stands for all from it on,
// and nothing lowers it.
type window struct {
	limit uint64
	unit  uint64 // of the marks: a window starts so many nanoseconds after the epoch, times its mark
	spans
}

// spans tell where windows start and end.
type spans interface {
	// around is the window that an event is counted in: its mark, and the instant at which it ends.
	// An older instant counts as the start of the window known, which is that of s if it counted
	// anything.
	around(s words, now uint64) (mark, end uint64)

	// counts is that of a counter.
	counts() any
}

// decider keeps the state in one word, with so many bits for the count, if the limit is below what
// they hold.
func (w window) decider(bits int) Decider {
	if w.limit >= 1<<bits-1 {
		d := &windowPair{window: w}
		d.core = &d.window
		return d
	}
	d := &windowWord{window: w}
	d.stored = stored{&d.window, packing{bits: bits, n: 1}}
	return d
}

// at is the window that counts at now, with its count, and how long it lasts.
func (w *window) at(s words, now int64) (in words, left uint64) {
	mark, end := w.around(s, uint64(now))
	if mark != s.first {
		s = words{first: mark}
	}
	return s, end - max(uint64(now), mark*w.unit)
}

func (w *window) decide(s words, now int64, ask Ask) (words, Answer) {
	in, left := w.at(s, now)
	if ask.N < 0 && in.second < math.MaxUint64 && (ask.GrantedAt == 0 || uint64(ask.GrantedAt) >= in.first*w.unit) {
		in.second -= min(in.second, exact.Magnitude(ask.N))
	}
	var a Answer
	n := a.count(ask, w.limit, w.room(in))
	if a.Allowed {
		in.second = exact.Sum(in.second, n)
	} else if n <= w.limit {
		a.RetryAfter = time.Duration(left)
	}
	a.Remaining = int(w.room(in))
	if in.second > 0 {
		a.ResetAfter = time.Duration(left)
	}
	if ask.N != 0 && a.Allowed {
		s = in
	}
	return s, a
}

// room is how many more events fit.
func (w *window) room(s words) uint64 { return w.limit - min(s.second, w.limit) }

// count is the answer to an ask of a policy that counts, if room events fit, but for Remaining and
// the times until there are more. It returns how many events are asked for: of up to N those that
// fit, or one.
func (a *Answer) count(ask Ask, limit, room uint64) (n uint64) {
	n = uint64(max(ask.N, 0))
	a.Limit = int(limit)
	if ask.Mode == UpTo {
		a.Granted = int(min(n, room))
		n = max(uint64(a.Granted), min(n, 1))
	}
	if a.Allowed = n <= room || ask.Mode == Regardless; !a.Allowed {
		a.RetryAfter = Never
	}
	return n
}

func (w *window) expiry(s words) int64 {
	if s.second == 0 {
		return 0
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

func (w *window) allowance() uint64 { return w.limit }

// windowPair keeps the mark and the count.
type windowPair struct {
	stored
	window
}

// Decide implements [Decider].
func (d *windowPair) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if len(state) != 2 || !d.valid(pairOf(state)) {
		return state, broken()
	}
	s, a := d.decide(pairOf(state), now, ask)
	state[0], state[1] = s.first, s.second
	return state, a
}

func (d *windowPair) admit(state []uint64, now int64) ([]uint64, bool) {
	in, _ := d.at(pairOf(state), now)
	if in.second >= d.limit {
		return state, false
	}
	state[0], state[1] = in.first, in.second+1
	return state, true
}

// windowWord keeps both in a word.
type windowWord struct {
	stored
	window
}

func (d *windowWord) wide() Decider { return d.decider(0) }

func (d *windowWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	s, a := d.window.decide(d.unpack(state), now, ask)
	return d.pack(s), a
}

func (d *windowWord) admitWord(state uint64, now int64) (uint64, bool) {
	s := words{first: state >> d.bits, second: state & d.most()}
	mark, _ := d.around(s, uint64(now))
	switch {
	case mark > s.first:
		return mark<<d.bits | 1, true
	case s.second >= d.limit:
		return state, false
	}
	return state + 1, true
}

func (d *windowWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}
