package weir

import (
	"math"
	"time"
)

// A bucket is the arithmetic of [TokenBucket] and of [LeakyBucket]. They differ in what a key may
// save while it is idle: a full bucket of tokens, or nothing.
//
// The state is one instant, in units of the rate: when all granted events will have been paid for
// at the rate. For the tokens it is when the bucket will be full. For the queue it is when its
// outlet will be free. The key owes the difference between it and now, or nothing if it lies in the
// past.
type bucket struct {
	rate
	limit int     // the most events that an ask can be granted
	full  uint128 // the time that limit events take

	// spaced makes it a queue: an ask goes when nothing is owed, and not, as with tokens, when no
	// more than full will be owed after it.
	spaced bool
	queue  uint128 // how far ahead an ask may be granted, however long it would wait
	most   uint128 // a state, in debt, that stands for all from it on, and that nothing lowers
}

func (b *bucket) decideAt(paidAt uint128, now int64, ask Ask) (uint128, Answer) {
	at := b.units(now)
	owed := paidAt.sub(at)
	granted := 0
	switch {
	case ask.N == 0:
		return paidAt, b.answer(owed)
	case ask.N < 0:
		return b.giveBack(paidAt, now, ask)
	case ask.Mode == UpTo:
		granted = min(ask.N, b.remaining(owed))
		ask.N, ask.MaxWait = max(granted, 1), 0
	case ask.Mode != Regardless && ask.N > b.limit:
		return paidAt, b.answer(owed).never()
	}

	owes := owed.add(b.cost(uint64(ask.N))) // after the grant
	early := owes.sub(b.full)               // how much too early the ask is
	if b.spaced {
		early = owed
	}
	if early.isZero() || ask.Mode == Regardless {
		next := min128(at.add(owes), b.most)
		owes = next.sub(at)
		b.charged(ask, owed, owes)
		a := b.answer(owes)
		a.Granted = granted
		return next, a
	}

	ahead := min128(b.queue, b.units(int64(max(ask.MaxWait, 0))))
	tooEarly := early.sub(ahead)
	if tooEarly.isZero() {
		next := at.add(owes)
		if !next.less(b.most) {
			return paidAt, b.answer(owed).never()
		}
		b.charged(ask, owed, owes)
		paidAt, owed = next, owes
	}
	a := b.answer(owed)
	a.Allowed, a.RetryAfter = tooEarly.isZero(), b.ceil(tooEarly)
	if ask.MaxWait > 0 {
		a.Delay, a.QueueFull = b.ceil(early), b.queue.less(early)
	}
	return paidAt, a
}

// charged sets what a grant is charged, if the ask wants it.
func (b *bucket) charged(ask Ask, before, after uint128) {
	if ask.Charges != nil {
		*ask.Charges = append((*ask.Charges)[:0], Charge{ask.N, b.ceil(before), b.ceil(after)})
	}
}

// giveBack frees no more of a grant than it still counts. The last grant is undone exactly, whether
// it lies ahead or not. Waiters behind it with no other grant between them move up by Delay.
// Nothing else is freed while a later grant lies ahead. Its instant is promised, and the next
// caller would get the same one.
func (b *bucket) giveBack(paidAt uint128, now int64, ask Ask) (uint128, Answer) {
	at := b.units(now)
	owed := paidAt.sub(at)
	back, up := min128(b.cost(magnitude(ask.N)), owed), time.Duration(0)
	ahead := b.full
	if b.spaced {
		ahead = b.cost(1)
	}
	until := ask.until()
	switch {
	case !paidAt.less(b.most):
		back = uint128{}
	case until < math.MaxInt64 && until == int64(b.ceil(paidAt)):
		up = b.floor(back)
	case ahead.less(owed):
		back = uint128{}
	default:
		back = min128(back, b.units(max(until-now, 0)))
	}
	owed = owed.sub(back)
	a := b.answer(owed)
	a.Delay = up
	return at.add(owed), a
}

// answer is the answer of a granted ask after which the key owes owed.
func (b *bucket) answer(owed uint128) Answer {
	return Answer{Result: Result{
		Allowed:    true,
		Limit:      b.limit,
		Remaining:  b.remaining(owed),
		ResetAfter: b.ceil(owed),
	}}
}

// remaining is how many events are granted at once when the key owes owed.
func (b *bucket) remaining(owed uint128) int {
	switch {
	case !b.spaced:
		return b.events(b.full.sub(owed))
	case owed.isZero():
		return b.limit
	}
	return 0
}

// newBucket is a bucket of tokens for a rate that is allowed. Its size is in events, and that of
// limit if it is zero.
func newBucket(limit int, per time.Duration, size int) bucket {
	if size == 0 {
		size = limit
	}
	r := newRate(limit, per)
	b := bucket{
		rate:  r,
		limit: size,
		full:  r.cost(uint64(size)),
		queue: uint128{math.MaxUint64, math.MaxUint64}, // bounded by MaxWait alone
		most:  pairMost,
	}
	if b.fitsWord() {
		b.most = wordMost
	}
	return b
}

// pairMost is above the sum of an instant, full and a MaxWait; an ask more does not wrap around.
var pairMost = uint128{3 << 62, 0}

var wordMost = uint128{0, math.MaxUint64 - 1} // in the year 2554

func (b *bucket) fitsWord() bool { return b.den == 1 && b.full.hi == 0 && b.full.lo < 1<<62 }

// decider keeps the state in one word if it is a whole number of nanoseconds, else in two.
func (b bucket) decider() Decider {
	if !b.fitsWord() {
		return b.pair()
	}
	d := &bucketWord{bucket: b}
	d.stored = stored{&d.bucket, packing{bits: 64, n: 1}}
	if !b.spaced {
		d.room = b.full.lo - b.num
	}
	return d
}

// What follows implements core. The words of a state are the high and the low one.

func (b *bucket) decide(s words, now int64, ask Ask) (words, Answer) {
	next, a := b.decideAt(uint128{s.first, s.second}, now, ask)
	return words{first: next.hi, second: next.lo}, a
}

func (b *bucket) expiry(s words) int64 { return int64(b.ceil(uint128{s.first, s.second})) }

func (b *bucket) valid(s words) bool { return !b.most.less(uint128{s.first, s.second}) }

type bucketCounts struct {
	rate
	spaced bool
}

// isQueue reports whether d is the Decider of a LeakyBucket.
func isQueue(d Decider) bool {
	c, ok := countsOf(d).(bucketCounts)
	return ok && c.spaced
}

func (b *bucket) counts() any       { return bucketCounts{b.rate, b.spaced} }
func (b *bucket) allowance() uint64 { return uint64(b.limit) }

// usage is how many events are owed, rounded up. A queue whose outlet is not free has used all.
func (b *bucket) usage(s words, now int64) uint64 {
	owed := (uint128{s.first, s.second}).sub(b.units(now))
	if owed.isZero() {
		return 0
	}
	events, part, ok := owed.div(b.num)
	switch {
	case !ok || events >= math.MaxInt64:
		return math.MaxInt64
	case part > 0:
		events++
	}
	if b.spaced {
		return max(events, uint64(b.limit))
	}
	return events
}

// admitTo is decideAt for one event. The high word of the state is first.
func (b *bucket) admitTo(state []uint64, now int64) bool {
	at := b.units(now)
	owed := uint128{state[0], state[1]}.sub(at)
	owes := owed.add(uint128{0, b.num})
	early := owes.sub(b.full)
	if b.spaced {
		early = owed
	}
	if !early.isZero() {
		return false
	}
	paidAt := at.add(owes)
	state[0], state[1] = paidAt.hi, paidAt.lo
	return true
}

type bucketPair struct {
	stored
	bucket
}

func (b bucket) pair() *bucketPair {
	d := &bucketPair{bucket: b}
	d.core = &d.bucket
	return d
}

// Decide implements [Decider].
func (d *bucketPair) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if len(state) != 2 || !d.valid(pairOf(state)) {
		return state, broken()
	}
	next, a := d.decideAt(uint128{state[0], state[1]}, now, ask)
	state[0], state[1] = next.hi, next.lo
	return state, a
}

func (d *bucketPair) admit(state []uint64, now int64) ([]uint64, bool) {
	return state, d.admitTo(state, now)
}
