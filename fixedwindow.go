package weir

import (
	"math"
	"math/bits"
	"time"
)

// FixedWindow allows Limit events in each window of length Per.
//
// Windows are aligned to the Unix epoch, so that those of an hour start on the hour in UTC and all
// keys share them; or, with FromFirst, a key's window starts with the first event after its last
// window ended.
//
// It is the easiest to explain ("1000 a day"): the whole allowance is back at one instant. Its flaw
// is the boundary: Limit events just before and Limit just after make 2*Limit in any short span
// around it. Where that matters use [SlidingWindow] or [SlidingLog]. It costs one word of memory per
// key, or two with FromFirst and where the limit is too large for the window (beyond 500 million a
// second or 500,000 a millisecond).
//
// Both forms are those that the Redis documentation of INCR has as patterns for a rate limiter: a counter
// for each second, and one that expires a second after its first event.
type FixedWindow struct {
	Limit     int           // events allowed in a window; at least 1
	Per       time.Duration // length of a window; at least 1ns
	FromFirst bool          // windows start with a key's first event, not aligned to the epoch
}

// Decider implements [Policy].
func (p FixedWindow) Decider() (Decider, error) {
	f := faults{policy: p}
	f.rate(p.Limit, p.Per)
	if err := f.err(); err != nil {
		return nil, err
	}
	w := window{limit: uint64(p.Limit), per: uint64(p.Per), most: math.MaxUint64}
	countBits := 63 - bits.Len64(w.index(maxInstant))
	switch {
	case p.FromFirst:
		return windowFromFirst{w}, nil
	case w.limit < 1<<countBits-1:
		w.most = 1<<countBits - 1
		return windowWord{w, countBits}, nil
	default:
		return windowPair{w}, nil
	}
}

// window is the arithmetic of a fixed window: where it starts and how much it counted.
type window struct {
	limit, per uint64
	most       uint64 // a count, in debt, that stands for all from it on, and is never lowered
}

// index numbers the aligned window that an instant lies in.
func (w window) index(now int64) uint64 { return uint64(now) / w.per }

// decide answers ask when count events were granted in a window that started at start and ends
// after left ns, and returns the new count.
func (w window) decide(start, count, left uint64, ask Ask) (uint64, Answer) {
	n, granted := uint64(max(ask.N, 0)), 0
	room := w.limit - min(count, w.limit)
	switch {
	case ask.N < 0:
		if count < w.most && (ask.GrantedAt == 0 || ask.GrantedAt >= int64(start)) {
			count -= min(count, magnitude(ask.N))
		}
	case ask.How == UpTo:
		n = max(min(n, room), min(n, 1))
		granted = int(min(n, room))
	}
	fits := n <= room || ask.How == Regardless
	if fits {
		count += min(n, w.most-count)
	}
	a := Answer{Granted: granted, Result: Result{
		Allowed:   fits,
		Limit:     int(w.limit),
		Remaining: int(w.limit - min(count, w.limit)),
	}}
	if count > 0 {
		a.ResetAfter = time.Duration(left)
	}
	if !fits {
		a.RetryAfter = time.Duration(left)
		if n > w.limit {
			a.RetryAfter = Never
		}
	}
	return count, a
}

// aligned is decide for count events in the window index. It returns the window that now lies in;
// an older instant counts as the start of the window known.
func (w window) aligned(index, count uint64, now int64, ask Ask) (uint64, uint64, Answer) {
	at, passed := uint64(now)/w.per, uint64(now)%w.per
	switch {
	case at > index:
		count = 0
	case at < index:
		at, passed = index, 0
	}
	next, a := w.decide(at*w.per, count, w.per-passed, ask)
	return at, next, a
}

// end is the instant at which a window that starts at start ends, if it counted anything.
func (w window) end(start, count uint64) int64 {
	if count == 0 {
		return 0
	}
	return int64(saturate(start + w.per))
}

// windowWord keeps an aligned window's number and, in the low countBits, its count.
type windowWord struct {
	window
	countBits int
}

func (d windowWord) Words() int { return 1 }

func (d windowWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	index, count, a := d.aligned(state>>d.countBits, state&(1<<d.countBits-1), now, ask)
	if ask.N == 0 || !a.Allowed {
		return state, a
	}
	return index<<d.countBits | count, a
}

// admitWord divides only when a window has ended.
func (d windowWord) admitWord(state uint64, now int64) (uint64, bool) {
	index := state >> d.countBits
	if start := index * d.per; uint64(now) >= start && uint64(now)-start >= d.per {
		return d.index(now)<<d.countBits | 1, true
	}
	if state&(1<<d.countBits-1) >= d.limit {
		return state, false
	}
	return state + 1, true
}

func (d windowWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}

func (d windowWord) limitAtOnce() int { return int(d.limit) }

func (d windowWord) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	next, a := d.DecideWord(state[0], now, ask)
	state[0] = next
	return state, a
}

func (d windowWord) Expiry(state []uint64) int64 {
	return d.end(state[0]>>d.countBits*d.per, state[0]&(1<<d.countBits-1))
}

// windowPair keeps an aligned window's number and its count.
type windowPair struct{ window }

func (d windowPair) Words() int { return 2 }

func (d windowPair) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	index, count, a := d.aligned(state[0], state[1], now, ask)
	if ask.N != 0 && a.Allowed {
		state[0], state[1] = index, count
	}
	return state, a
}

func (d windowPair) Expiry(state []uint64) int64 { return d.end(state[0]*d.per, state[1]) }

// windowFromFirst keeps the instant at which the window started and its count.
type windowFromFirst struct{ window }

func (d windowFromFirst) Words() int { return 2 }

func (d windowFromFirst) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	start, count, left := d.at(state, now)
	next, a := d.decide(start, count, left, ask)
	if ask.N != 0 && a.Allowed {
		state[0], state[1] = start, next
	}
	return state, a
}

func (d windowFromFirst) admit(state []uint64, now int64) ([]uint64, bool) {
	start, count, _ := d.at(state, now)
	if count >= d.limit {
		return state, false
	}
	state[0], state[1] = start, count+1
	return state, true
}

// at is the window that an event at now would be counted in, and how much of it is left.
func (d windowFromFirst) at(state []uint64, now int64) (start, count, left uint64) {
	start, count = state[0], state[1]
	at := max(uint64(now), start) // an older instant counts as the start
	if count == 0 || at-start >= d.per {
		start, count = uint64(now), 0
		at = start
	}
	return start, count, start + d.per - at
}

func (d windowFromFirst) Expiry(state []uint64) int64 { return d.end(state[0], state[1]) }

// unbounded is a count for a policy that counts further: one that stands for all from most on does so there.
func unbounded(count, most uint64) uint64 {
	if count == most {
		return math.MaxUint64
	}
	return count
}

// A windowCount is what any fixed window can take over from another.
type windowCount interface {
	// running is when the window that counts at now started, and its count.
	running(state []uint64, now int64) (start, count uint64)
}

func (d windowWord) running(state []uint64, now int64) (start, count uint64) {
	return d.at(state[0]>>d.countBits, unbounded(state[0]&d.most, d.most), now)
}

func (d windowPair) running(state []uint64, now int64) (start, count uint64) {
	return d.at(state[0], state[1], now)
}

func (w window) at(index, count uint64, now int64) (start, atNow uint64) {
	if at := w.index(now); at > index {
		return at * w.per, 0
	}
	return index * w.per, count
}

func (d windowFromFirst) running(state []uint64, now int64) (start, count uint64) {
	start, count, _ = d.at(state, now)
	return start, count
}

func (d windowWord) used(state []uint64, now int64) uint64 {
	return min(count(d.running(state, now)), d.most)
}

func (d windowPair) used(state []uint64, now int64) uint64 { return count(d.running(state, now)) }

func (d windowFromFirst) used(state []uint64, now int64) uint64 { return count(d.running(state, now)) }

func count(_, count uint64) uint64 { return count }

// carried is what the aligned windows take over: the window at now and its count. It is exact if the
// window that counted began no earlier.
func (w window) carried(from Decider, state []uint64, now int64) (index, count uint64, exact, ok bool) {
	f, ok := from.(windowCount)
	if !ok {
		return 0, 0, false, false
	}
	start, count := f.running(state, now)
	index = max(w.index(now), start/w.per)
	return index, count, count == 0 || start >= index*w.per, true
}

func (d windowWord) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	index, count, exact, ok := d.carried(from, state, now)
	if count > 0 {
		fresh[0] = index<<d.countBits | min(count, d.most)
	}
	return fresh, exact, ok
}

func (d windowPair) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	index, count, exact, ok := d.carried(from, state, now)
	if count > 0 {
		fresh[0], fresh[1] = index, count
	}
	return fresh, exact, ok
}

func (d windowFromFirst) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	f, ok := from.(windowCount)
	if !ok {
		return fresh, false, false
	}
	start, count := f.running(state, now)
	if count == 0 {
		return fresh, true, true
	}
	exact = max(uint64(now), start)-start < d.per
	if !exact {
		start = uint64(now)
	}
	fresh[0], fresh[1] = start, count
	return fresh, exact, true
}
