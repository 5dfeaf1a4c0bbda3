package weir

import (
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// decider keeps the state in one word if it is a whole number of nanoseconds, else in two.
func (b bucket) decider() Decider {
	if !b.fitsWord() {
		return b.pair()
	}
	d := &bucketWord{bucket: b}
	d.oneWord = oneWord{&d.bucket, 64, 1}
	if !b.spaced {
		d.room = b.full.Lo - b.rate.Num
	}
	return d
}

// bucketWord keeps the low word. The high one is zero. The fields that admitWord reads are in one
// cache line.
type bucketWord struct {
	room uint64 // the most that may be owed if one more event is to be granted
	bucket
	oneWord
}

func (d *bucketWord) DecideWord(state uint64, now int64, ask Ask) (uint64, Answer) {
	next, a := d.decide(words{second: state}, now, ask)
	return next.second, a
}

// admitWord does in 64 bits what decide does in 128: with whole nanoseconds, and full below 2^62,
// they suffice.
func (d *bucketWord) admitWord(state uint64, now int64) (uint64, bool) {
	at := uint64(now)
	owed := max(state, at) - at
	if owed > d.room {
		return state, false
	}
	return at + owed + d.rate.Num, true
}

// takeWord is the same for any number of events.
func (d *bucketWord) takeWord(state uint64, now int64, n int) (uint64, shortResult) {
	at := uint64(now)
	owed := max(state, at) - at
	if n > d.limit || owed > 1<<62 { // else n events cost no more than full, and nothing wraps around
		next, a := d.DecideWord(state, now, Ask{N: n})
		return next, a.short()
	}
	early, owes := owed, owed+uint64(n)*d.rate.Num
	if !d.spaced {
		early = max(owes, d.full.Lo) - d.full.Lo
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
		r.remaining = int((max(d.full.Lo, owes) - owes) / d.rate.Num)
	case owes == 0:
		r.remaining = d.limit
	}
	return state, r
}

func (d *bucketWord) more(next uint64, now int64, r shortResult) time.Duration {
	switch {
	case r.remaining == d.limit:
		return 0
	case d.spaced:
		return r.resetAfter
	case r.resetAfter > 1<<62: // it may have saturated
		_, look := d.DecideWord(next, now, Ask{More: true})
		return look.MoreAfter
	}
	return r.resetAfter + time.Duration(uint64(r.remaining+1)*d.rate.Num) - time.Duration(d.full.Lo)
}

func (d *bucketWord) charge(c *Charge, _ uint64, _ int64, n int, r shortResult) {
	*c = Charge{N: n, Before: r.resetAfter - time.Duration(uint64(n)*d.rate.Num), For: r.resetAfter}
}

func (d *bucketWord) wide() Decider {
	b := d.bucket
	b.most = pairMost
	return b.pair()
}

func (d *bucketWord) widen(state []uint64) []uint64 {
	if state[0] == d.most.Lo {
		return []uint64{pairMost.Hi, pairMost.Lo}
	}
	return []uint64{0, state[0]}
}

func (d *bucketWord) narrow(wide []uint64) []uint64 {
	return []uint64{exact.Load(wide).Min(d.most).Lo}
}

// bucketPair keeps both words.
type bucketPair struct {
	twoWords
	bucket
}

func (b bucket) pair() *bucketPair {
	d := &bucketPair{bucket: b}
	d.core = &d.bucket
	return d
}

func (d *bucketPair) admit(state []uint64, now int64) ([]uint64, bool) {
	return state, d.admitTo(state, now)
}

func (d *bucketPair) take(state []uint64, now int64, n int) ([]uint64, shortResult, int) {
	at := d.rate.Units(now)
	owed := exact.Load(state).Sub(at)
	if owes := owed.Add(d.rate.Cost(uint64(n))); n > 0 && !d.spaced && n <= d.limit && !d.full.Less(owes) {
		paidAt := at.Add(owes)
		paidAt.Store(state)
		return state, shortResult{remaining: d.remaining(owes), resetAfter: d.rate.Ceil(owes)}, 0
	}
	s, a := d.decide(pairOf(state), now, Ask{N: n})
	s.store(state)
	return state, a.short(), 0
}
