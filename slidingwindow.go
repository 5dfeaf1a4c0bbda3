package weir

import (
	"math"
	"math/bits"
	"time"
)

// maxBuckets bounds the memory of a key to 800 kB.
const maxBuckets = 100_000

// SlidingWindow allows Limit events in any window of length Per, by a weighted estimate.
//
// Per is divided into Buckets sub-windows, aligned to the Unix epoch, each with a count. The
// estimate for the window that ends now takes whole the current sub-window and the Buckets-1 before
// it, and of the one before those the share that the window still covers, as though its events had
// been spread evenly. With one bucket it is the well-known form
//
//	estimate = previous * (Per - elapsed) / Per + current
//
// Choose it to smooth the boundary of [FixedWindow] at a constant cost in memory. It is an estimate:
// in the worst case 2*Limit events fall in some window of length Per, though never fast: at most
// Limit + Limit*s/Per, rounded up, in any span of length s <= Per. With k buckets no span up to
// Per*(k-1)/k sees more than Limit; the worst case over a whole Per remains. A limit of a handful is
// better served by [SlidingLog].
//
// It costs Buckets + 2 words of memory per key; with one bucket, and a limit that is small for the
// window (16,000 a second, 130,000 a minute, a million an hour), a single word.
//
// The weighted form was described by Cloudflare, "How we built rate limiting capable of scaling to
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
	countBits := (63 - bits.Len64(maxInstant/s.width)) / 2
	if k == 1 && s.limit < 1<<countBits-1 {
		s.most = 1<<countBits - 1
		return slidingWord{s, countBits}, nil
	}
	return s, nil
}

// sliding keeps the number of the latest sub-window that it counted in, and buckets+1 counts, that
// of sub-window i at i modulo buckets+1.
type sliding struct {
	limit, width, buckets uint64
	most                  uint64 // a count, in debt, that stands for all from it on: it leaves as a whole, and nothing lowers it
}

func (s sliding) Words() int { return int(s.buckets) + 2 }

func (s sliding) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	v := s.view(state, now)
	if ask.N < 0 {
		v.giveBack(magnitude(ask.N), ask.GrantedAt)
	}
	n, granted := uint64(max(ask.N, 0)), 0
	if ask.How == UpTo {
		room := v.room()
		n = max(min(n, room), min(n, 1))
		granted = int(min(n, room))
	}
	fits := v.take(state, n, ask.How)
	a := Answer{Granted: granted, Result: Result{
		Allowed:    fits,
		Limit:      int(s.limit),
		Remaining:  int(v.room()),
		ResetAfter: v.until(0),
	}}
	switch {
	case fits:
	case n > s.limit:
		a = a.never()
	default:
		a.RetryAfter = v.until(s.limit - n)
	}
	return state, a
}

func (s sliding) admit(state []uint64, now int64) ([]uint64, bool) {
	v := s.view(state, now)
	return state, v.take(state, 1, AllOrNone)
}

// Expiry is when the estimate reaches zero if nothing is added.
func (s sliding) Expiry(state []uint64) int64 {
	start := state[0] * s.width
	v := s.view(state, int64(start))
	if v.leaving == 0 && v.whole.isZero() {
		return 0
	}
	return int64(saturate(start + uint64(v.until(0))))
}

// A slidingView is a state as it is at an instant, which may be later than the latest it counted
// at.
type slidingView struct {
	sliding
	counts  []uint64
	known   uint64  // the latest sub-window that counts holds
	now     uint64  // the sub-window that the instant lies in, known or later
	passed  uint64  // how much of it has passed
	whole   uint128 // the sum of the counts that the window covers whole
	leaving uint64  // the count of the sub-window that is leaving the window
}

func (s sliding) view(state []uint64, now int64) slidingView {
	v := slidingView{sliding: s, counts: state[1:], known: state[0], now: uint64(now) / s.width}
	if v.now < v.known { // an older instant counts as the start of the latest sub-window
		v.now = v.known
	} else {
		v.passed = uint64(now) - v.now*s.width
	}
	v.sum()
	return v
}

// sum adds up the counts.
func (v *slidingView) sum() {
	v.leaving = v.count(v.now - v.buckets)
	v.whole = uint128{}
	if v.now-v.known >= v.buckets {
		return
	}
	slot := v.known % (v.buckets + 1)
	for range v.buckets - (v.now - v.known) { // those that the window covers whole and that are known
		v.whole = v.whole.add(uint128{0, v.counts[slot]})
		if slot == 0 {
			slot = v.buckets + 1
		}
		slot--
	}
}

// room is how many more events fit.
func (v *slidingView) room() uint64 { return v.limit - min(v.estimate(), v.limit) }

// estimate is that of the events in the window, or the largest number if it is larger.
func (v *slidingView) estimate() uint64 {
	sum := v.whole
	switch {
	case v.leaving == v.most:
		sum = sum.add(uint128{0, v.most})
	case v.leaving > 0:
		hi, lo := bits.Mul64(v.leaving, v.width-v.passed)
		share, _ := bits.Div64(hi, lo, v.width) // at most leaving, so it fits
		sum = sum.add(uint128{0, share})
	}
	if sum.hi > 0 {
		return math.MaxUint64
	}
	return sum.lo
}

// take counts n events if they fit, or regardless.
func (v *slidingView) take(state []uint64, n uint64, how How) bool {
	if n == 0 {
		return true
	}
	if n > v.room() && how != Regardless {
		return false
	}
	for i := range min(v.now-v.known, v.buckets+1) { // the sub-windows since known start empty
		v.counts[(v.now-i)%(v.buckets+1)] = 0
	}
	v.known, state[0] = v.now, v.now
	c := &v.counts[v.now%(v.buckets+1)]
	n = min(n, v.most-*c) // a debt saturates
	*c += n
	v.whole = v.whole.add(uint128{0, n})
	return true
}

// giveBack takes n events out of the counts: out of the sub-window that grantedAt lies in, or, if
// it is not known, the latest first.
func (v *slidingView) giveBack(n uint64, grantedAt int64) {
	first, last := uint64(0), v.buckets
	if grantedAt != 0 {
		first = v.known - uint64(grantedAt)/v.width
		last = min(last, first) // below first if it lies too far back, or ahead
	}
	for i := first; i <= last; i++ {
		if c := &v.counts[(v.known-i)%(v.buckets+1)]; *c < v.most {
			back := min(n, *c)
			*c -= back
			n -= back
		}
	}
	v.sum()
}

// count is that of sub-window i. One before the epoch wraps around to a number that is later than
// known, and so counts nothing.
func (v *slidingView) count(i uint64) uint64 {
	if i > v.known || v.known-i > v.buckets {
		return 0
	}
	return v.counts[i%(v.buckets+1)]
}

// until is the time until the estimate is at most target, if nothing is added.
//
// While a sub-window leaves, the estimate is whole + floor(leaving*(width-passed)/width). If whole
// fits target, room for leaving remains, and the instant follows from that formula; if not, the
// oldest of whole must leave too, and the search goes on in the next sub-window.
func (v *slidingView) until(target uint64) time.Duration {
	whole, leaving, step := v.whole, v.leaving, uint64(0)
	for leaving == v.most || whole.hi > 0 || whole.lo > target {
		step++
		leaving = v.count(v.now + step - v.buckets)
		whole = whole.sub(uint128{0, leaving})
	}
	passed := uint64(0)
	if room := target - whole.lo; room < leaving {
		// The least passed with leaving*(width-passed) < (room+1)*width.
		hi, lo := bits.Mul64(room+1, v.width)
		left, rem := bits.Div64(hi, lo, leaving)
		if rem > 0 {
			left++
		}
		passed = v.width - left + 1
	}
	after := step*v.width + passed // at most (k+1)*width, and so at most 2*Per
	return saturate(after - min(after, v.passed))
}

// sameSpan tells whether a decider counts in the same sub-windows, and unpacks its state.
func (s sliding) sameSpan(from Decider, state []uint64) ([]uint64, bool) {
	switch f := from.(type) {
	case sliding:
		return state, f.width == s.width && f.buckets == s.buckets
	case slidingWord:
		words := f.unpack(state[0])
		words[1], words[2] = unbounded(words[1], f.most), unbounded(words[2], f.most)
		return words[:], f.width == s.width && f.buckets == s.buckets
	}
	return nil, false
}

func (s sliding) succeed(from Decider, state, fresh []uint64, _ int64) (_ []uint64, exact, ok bool) {
	words, ok := s.sameSpan(from, state)
	if ok {
		copy(fresh, words)
	}
	return fresh, ok, ok
}

func (s sliding) used(state []uint64, now int64) uint64 {
	v := s.view(state, now)
	return v.estimate()
}

func (d slidingWord) used(state []uint64, now int64) uint64 {
	words := d.unpack(state[0])
	return d.sliding.used(words[:], now)
}

// slidingWord keeps the latest sub-window and two counts of countBits each in one word.
type slidingWord struct {
	sliding
	countBits int
}

func (d slidingWord) Words() int { return 1 }

func (d slidingWord) unpack(state uint64) [3]uint64 {
	mask := uint64(1)<<d.countBits - 1
	return [3]uint64{state >> (2 * d.countBits), state >> d.countBits & mask, state & mask}
}

func (d slidingWord) pack(index, even, odd uint64) uint64 {
	return index<<(2*d.countBits) | even<<d.countBits | odd
}

func (d slidingWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	s := d.unpack(state)
	_, a := d.sliding.Decide(s[:], now, ask)
	return d.pack(s[0], s[1], s[2]), a
}

func (d slidingWord) succeed(from Decider, state, fresh []uint64, _ int64) (_ []uint64, exact, ok bool) {
	words, ok := d.sameSpan(from, state)
	if ok {
		fresh[0] = d.pack(words[0], min(words[1], d.most), min(words[2], d.most))
	}
	return fresh, ok, ok
}

// admitWord needs no division while the sub-window lasts: current + floor(x/width) < limit is x <
// (limit-current)*width. A previous count that has saturated leaves as a whole, and is above any limit until then.
func (d slidingWord) admitWord(state uint64, now int64) (uint64, bool) {
	index := state >> (2 * d.countBits)
	passed := uint64(0) // of the sub-window index, with an older instant counting as its start
	if start := index * d.width; uint64(now) > start {
		if passed = uint64(now) - start; passed >= d.width {
			next, a := d.DecideWord(state, now, Ask{N: 1})
			return next, a.Allowed
		}
	}
	mask := uint64(1)<<d.countBits - 1
	currentAt := d.countBits * int(1-index&1) // its place in the word
	current, previous := state>>currentAt&mask, state>>(d.countBits-currentAt)&mask
	if current >= d.limit || previous == d.most || !mul64(previous, d.width-passed).less(mul64(d.limit-current, d.width)) {
		return state, false
	}
	return state + 1<<currentAt, true
}

func (d slidingWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	next, a := d.DecideWord(state, now, Ask{N: n})
	return next, a.short()
}

func (d slidingWord) limitAtOnce() int { return int(d.limit) }

func (d slidingWord) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	next, a := d.DecideWord(state[0], now, ask)
	state[0] = next
	return state, a
}

func (d slidingWord) Expiry(state []uint64) int64 {
	s := d.unpack(state[0])
	return d.sliding.Expiry(s[:])
}
