package weir

import (
	"math"
	"time"
)

// A bucket is the arithmetic of [TokenBucket] and of [LeakyBucket]. They differ in one thing, what
// a key may save up while it is idle: a full bucket of tokens, or nothing.
//
// The state is one instant, in units of the rate: when all that was granted will have been paid for
// at the rate. For the tokens it is when the bucket will be full, for the queue when its outlet
// will be free. So the key owes the difference between it and now, and nothing when it lies in the
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

	room uint64 // what may be owed for one more event to be granted, if the state is a word
}

func (b *bucket) decide(paidAt uint128, now int64, ask Ask) (uint128, Answer) {
	at := b.units(now)
	owed := paidAt.sub(at)
	switch {
	case ask.N == 0:
		return paidAt, b.answer(owed)
	case ask.N < 0 && !paidAt.less(b.most):
		return paidAt, b.answer(owed)
	case ask.N < 0:
		back := b.cost(magnitude(ask.N))
		owed = owed.sub(back)
		a := b.answer(owed)
		a.Delay = b.floor(back)
		return at.add(owed), a
	case ask.How == Regardless:
		paidAt = min128(at.add(owed).add(b.cost(uint64(ask.N))), b.most)
		return paidAt, b.answer(paidAt.sub(at))
	case ask.How == UpTo:
		n := min(ask.N, b.remaining(owed))
		if n == 0 {
			return b.decide(paidAt, now, Ask{N: 1})
		}
		owed = owed.add(b.cost(uint64(n)))
		a := b.answer(owed)
		a.Granted = n
		return at.add(owed), a
	case ask.N > b.limit:
		return paidAt, b.answer(owed).never()
	}

	owes := owed.add(b.cost(uint64(ask.N))) // after the grant
	early := owes.sub(b.full)               // how much too early the ask is
	if b.spaced {
		early = owed
	}
	if early.isZero() {
		return at.add(owes), b.answer(owes)
	}

	ahead := b.queue
	if ask.MaxWait <= 0 {
		ahead = uint128{}
	} else {
		ahead = min128(ahead, b.units(int64(ask.MaxWait)))
	}
	tooEarly := early.sub(ahead)
	granted := tooEarly.isZero()
	if granted {
		next := at.add(owes)
		if !next.less(b.most) {
			return paidAt, b.answer(owed).never()
		}
		paidAt, owed = next, owes
	}
	a := b.answer(owed)
	a.Allowed, a.RetryAfter = granted, b.ceil(tooEarly)
	if ask.MaxWait > 0 {
		a.Delay, a.QueueFull = b.ceil(early), b.queue.less(early)
	}
	return paidAt, a
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

// decider keeps the state in one word if it is a whole number of nanoseconds, else in two.
func (b *bucket) decider() Decider {
	if b.den == 1 && b.full.hi == 0 && b.full.lo < 1<<62 {
		if !b.spaced {
			b.room = b.full.lo - b.num
		}
		b.most = uint128{0, math.MaxUint64 - 1} // in the year 2554
		return bucketWord{b}
	}
	b.most = uint128{3 << 62, 0} // above the sum of an instant, full and a MaxWait; an ask more does not wrap around
	return bucketPair{b}
}

type bucketWord struct{ *bucket }

func (d bucketWord) Words() int { return 1 }

func (d bucketWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	next, a := d.decide(uint128{0, state}, now, ask)
	return next.lo, a
}

// admitWord does in 64 bits what decide does in 128: with whole nanoseconds, and full below 2^62,
// they suffice.
func (d bucketWord) admitWord(state uint64, now int64) (uint64, bool) {
	at := uint64(now)
	owed := max(state, at) - at
	if owed > d.room {
		return state, false
	}
	return at + owed + d.num, true
}

// takeWord is the same for any number of events.
func (d bucketWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	at := uint64(now)
	owed := max(state, at) - at
	if n > d.limit || owed > 1<<62 { // else n events cost no more than full, and nothing wraps around
		next, a := d.DecideWord(state, now, Ask{N: n})
		return next, a.short()
	}
	early, owes := owed, owed+uint64(n)*d.num
	if !d.spaced {
		early = max(owes, d.full.lo) - d.full.lo
	}
	switch {
	case n == 0:
		early = 0
	case early > 0:
		owes = owed
	default:
		state = at + owes
	}
	r := shortResult{retryAfter: time.Duration(early), resetAfter: time.Duration(owes)}
	switch {
	case !d.spaced:
		r.remaining = int((max(d.full.lo, owes) - owes) / d.num)
	case owes == 0:
		r.remaining = d.limit
	}
	return state, r
}

func (d bucketWord) limitAtOnce() int { return d.limit }

func (d bucketWord) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	next, a := d.DecideWord(state[0], now, ask)
	state[0] = next
	return state, a
}

func (d bucketWord) Expiry(state []uint64) int64 { return int64(d.ceil(uint128{0, state[0]})) }

// bucketPair keeps the high word first.
type bucketPair struct{ *bucket }

func (d bucketPair) Words() int { return 2 }

func (d bucketPair) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	next, a := d.decide(uint128{state[0], state[1]}, now, ask)
	state[0], state[1] = next.hi, next.lo
	return state, a
}

func (d bucketPair) admit(state []uint64, now int64) ([]uint64, bool) {
	at := d.units(now)
	owed := uint128{state[0], state[1]}.sub(at)
	owes := owed.add(uint128{0, d.num})
	early := owes.sub(d.full)
	if d.spaced {
		early = owed
	}
	if !early.isZero() {
		return state, false
	}
	paidAt := at.add(owes)
	state[0], state[1] = paidAt.hi, paidAt.lo
	return state, true
}

func (d bucketPair) Expiry(state []uint64) int64 { return int64(d.ceil(uint128{state[0], state[1]})) }
