package weir

import (
	"sync/atomic"
	"time"
)

// A state of a CalendarWindow says when its window starts, in seconds since the epoch, and what it counted. So states
// mean the same where the versions of the time zone database differ. Until the year 2262 the
// seconds take 34 bits, which leaves 30 for the count if the state is a single word.
const (
	calendarBits = 30
	calendarMask = 1<<calendarBits - 1
	nanosPerSec  = uint64(time.Second)
)

// calendarCount is the algorithm of a CalendarWindow. But for latest it is immutable.
type calendarCount struct {
	window   // its per is not used
	calendar calendar

	// latest is the window of the latest decision. All keys share it, so the calendar is asked when
	// it turns, and hardly else. A span is one word: reading it takes no lock, and a new one no
	// memory.
	latest atomic.Uint64
}

// A span is a window: the second at which it starts, and in the low calendarBits its length.
type span uint64

func (s span) start() uint64 { return uint64(s >> calendarBits) }
func (s span) end() uint64   { return s.start() + uint64(s&calendarMask) }

// has tells whether the window contains an instant, in nanoseconds. The zero span has none.
func (s span) has(at uint64) bool {
	return at-s.start()*nanosPerSec < uint64(s&calendarMask)*nanosPerSec
}

// around is the window that contains an instant, in nanoseconds.
func (d *calendarCount) around(at uint64) span {
	if s := span(d.latest.Load()); s.has(at) {
		return s
	}
	s := d.lookUp(at)
	d.latest.Store(uint64(s))
	return s
}

func (d *calendarCount) lookUp(at uint64) span {
	start, end := d.calendar.around(int64(at / nanosPerSec))
	return span(start<<calendarBits | (end - start))
}

// at is the window that counts at now, after one that started at start counted count: when it
// starts and ends, in seconds, and its count. An older instant counts as the start of the window known.
func (d *calendarCount) at(start, count uint64, now int64) (startNow, end, countNow uint64) {
	s := d.around(max(uint64(now), start*nanosPerSec))
	if s.start() > start {
		return s.start(), s.end(), 0
	}
	return start, s.end(), count
}

func (d *calendarCount) decideAt(start, count uint64, now int64, ask Ask) (uint64, uint64, Answer) {
	start, end, count := d.at(start, count, now)
	from := start * nanosPerSec
	next, a := d.decide(from, count, end*nanosPerSec-max(uint64(now), from), ask)
	return start, next, a
}

// expiry keeps latest as it is: a store that sweeps asks about windows of long ago.
func (d *calendarCount) expiry(start, count uint64) int64 {
	if count == 0 {
		return 0
	}
	s := span(d.latest.Load())
	if !s.has(start * nanosPerSec) {
		s = d.lookUp(start * nanosPerSec)
	}
	return int64(saturate(s.end() * nanosPerSec))
}

// calendarWord keeps the start and, in the low calendarBits, the count.
type calendarWord struct{ *calendarCount }

func (d calendarWord) Words() int { return 1 }

func (d calendarWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	start, count, a := d.decideAt(state>>calendarBits, state&calendarMask, now, ask)
	if ask.N == 0 || !a.Allowed {
		return state, a
	}
	return start<<calendarBits | count, a
}

func (d calendarWord) admitWord(state uint64, now int64) (uint64, bool) {
	start := state >> calendarBits
	if s := d.around(max(uint64(now), start*nanosPerSec)); s.start() > start {
		return s.start()<<calendarBits | 1, true
	}
	if state&calendarMask >= d.limit {
		return state, false
	}
	return state + 1, true
}

func (d calendarWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}

func (d calendarWord) limitAtOnce() int { return int(d.limit) }

func (d calendarWord) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	next, a := d.DecideWord(state[0], now, ask)
	state[0] = next
	return state, a
}

func (d calendarWord) Expiry(state []uint64) int64 {
	return d.expiry(state[0]>>calendarBits, state[0]&calendarMask)
}

// calendarPair keeps the start and the count.
type calendarPair struct{ *calendarCount }

func (d calendarPair) Words() int { return 2 }

func (d calendarPair) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	start, count, a := d.decideAt(state[0], state[1], now, ask)
	if ask.N != 0 && a.Allowed {
		state[0], state[1] = start, count
	}
	return state, a
}

func (d calendarPair) Expiry(state []uint64) int64 { return d.expiry(state[0], state[1]) }

// What follows lets calendar windows take over the counts of other windows, and those theirs.

func (d calendarWord) running(state []uint64, now int64) (start, count uint64) {
	return d.runningAt(state[0]>>calendarBits, unbounded(state[0]&calendarMask, d.most), now)
}

func (d calendarPair) running(state []uint64, now int64) (start, count uint64) {
	return d.runningAt(state[0], state[1], now)
}

func (d *calendarCount) runningAt(start, count uint64, now int64) (startNow, countNow uint64) {
	start, _, count = d.at(start, count, now)
	return start * nanosPerSec, count
}

func (d calendarWord) used(state []uint64, now int64) uint64 {
	return min(count(d.running(state, now)), d.most)
}

func (d calendarPair) used(state []uint64, now int64) uint64 { return count(d.running(state, now)) }

func (d calendarWord) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	start, count, exact, ok := d.carried(from, state, now)
	if count > 0 {
		fresh[0] = start<<calendarBits | min(count, d.most)
	}
	return fresh, exact, ok
}

func (d calendarPair) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	start, count, exact, ok := d.carried(from, state, now)
	if count > 0 {
		fresh[0], fresh[1] = start, count
	}
	return fresh, exact, ok
}

// carried is what is taken over: when the window at now started, in seconds, and its count. It is
// exact if the window that counted began no earlier.
func (d *calendarCount) carried(from Decider, state []uint64, now int64) (start, count uint64, exact, ok bool) {
	f, ok := from.(windowCount)
	if !ok {
		return 0, 0, false, false
	}
	began, count := f.running(state, now)
	start = d.around(max(uint64(now), began)).start()
	return start, count, count == 0 || began >= start*nanosPerSec, true
}
