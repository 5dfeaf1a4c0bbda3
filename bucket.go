package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
	"github.com/weir-go/weir/internal/line"
)

// A bucket is the arithmetic of [TokenBucket] and of [LeakyBucket]. They differ in what a key may
// save while it is idle: a full bucket of tokens, or nothing.
//
// The state is one instant, in units of the rate: when all granted events will have been paid for
// at the rate. For tokens this is the instant at which the bucket will be full. For a queue it is
// the instant at which the outlet will be free. The key owes the difference between it and now, or
// nothing if it lies in the past.
//
// Its arithmetic does not wrap around. Now, a full bucket and an ask are each below 2^126 units. A
// state is at most 3*2^126, where debts saturate (see pairMost). At most one full bucket or ask is
// ever added to the later of the state and now: the sum is below 2^128. Two asks are at the ends of
// this range. One gives back 2^63 events, which are only subtracted. The other charges what another
// policy has counted: up to 2^64 events, below 2^127, on top of now and of a full bucket.
type bucket struct {
	rate  exact.Rate
	limit int           // the most events that an ask can be granted
	full  exact.Uint128 // the time that limit events take

	// spaced makes it a queue: an ask is granted when nothing is owed. Tokens grant an ask after
	// which no more than full is owed.
	spaced bool

	atOnce bool          // it never grants an ask ahead
	queue  exact.Uint128 // how far ahead an ask may be granted, however long it would wait
	most   exact.Uint128 // the largest state: it stands for all larger debts, too, and nothing lowers it
}

func (b *bucket) decide(s words, now int64, ask Ask) (words, Answer) {
	at := b.rate.Units(now)
	owed := s.paidAt().Sub(at)
	granted := 0
	switch {
	case ask.N == 0:
		return s, b.answer(owed, ask.More)
	case ask.N < 0:
		return b.giveBack(s.paidAt(), now, ask)
	case ask.Mode == UpTo:
		granted = min(ask.N, b.remaining(owed))
		ask.N, ask.MaxWait = max(granted, 1), 0
	case ask.Mode != Regardless && ask.N > b.limit:
		return s, b.answer(owed, ask.More).never()
	}

	owes := owed.Add(b.rate.Cost(uint64(ask.N))) // after the grant
	early := owes.Sub(b.full)                    // how much too early the ask is
	if b.spaced {
		early = owed
	}
	if early.IsZero() || ask.Mode == Regardless {
		next := at.Add(owes).Min(b.most)
		owes = next.Sub(at)
		if ask.Charges != nil {
			*ask.Charges = append((*ask.Charges)[:0], b.charged(ask.N, owed, owes))
		}
		a := b.answer(owes, ask.More)
		a.Granted = granted
		return paid(next), a
	}

	ahead := b.queue.Min(b.rate.Units(int64(max(ask.MaxWait, 0))))
	tooEarly := early.Sub(ahead)
	if tooEarly.IsZero() {
		next := at.Add(owes)
		if !next.Less(b.most) {
			return s, b.answer(owed, ask.More).never()
		}
		if ask.Charges != nil {
			*ask.Charges = append((*ask.Charges)[:0], b.charged(ask.N, owed, owes))
		}
		s, owed = paid(next), owes
	}
	a := b.answer(owed, ask.More)
	a.Allowed, a.RetryAfter = tooEarly.IsZero(), b.rate.Ceil(tooEarly)
	if ask.MaxWait > 0 {
		a.Delay, a.QueueFull = b.rate.Ceil(early), b.queue.Less(early)
	}
	return s, a
}

// charged is what a grant of n events is charged. Callers first check that the ask wants it. To
// prepare a call that most asks do not need would cost a bucket a tenth of its time.
func (b *bucket) charged(n int, before, after exact.Uint128) Charge {
	c := Charge{N: n}
	c.Before, c.BeforeRest = b.rate.CeilRest(before)
	c.For, c.ForRest = b.rate.CeilRest(after)
	return c
}

// giveBack frees no more of a grant than still counts. The last grant is undone exactly, whether it
// lies ahead or not. Waiters that follow it directly, with no other grant in between, move up by
// Delay, and are paid for from now on at the earliest. No other grant is freed while a later grant
// lies ahead. The instant of that later grant is promised, and the next caller would get the same
// instant.
//
// The last grant is the one that ends where the state does. Another grant may end there by chance,
// if others before it were given back since. It has then already gone ahead. With the numbers of
// one policy, no grant behind it can lie ahead.
func (b *bucket) giveBack(paidAt exact.Uint128, now int64, ask Ask) (words, Answer) {
	at := b.rate.Units(now)
	back, last := b.freed(paidAt, at, now, &ask)
	owed := paidAt.Sub(at).Sub(back)
	a := b.answer(owed, ask.More)
	if last {
		a.Delay = b.rate.Floor(back)
		a.rest = back.Sub(b.rate.Units(int64(a.Delay))).Lo
	}
	return paid(paidAt.Sub(back)), a
}

// freed is by how much a give-back lowers what the key owes, and whether it undoes the last grant.
func (b *bucket) freed(paidAt, at exact.Uint128, now int64, ask *Ask) (back exact.Uint128, last bool) {
	owed := paidAt.Sub(at)
	back = b.rate.Cost(exact.Magnitude(ask.N)).Min(owed)
	end, known := ask.paid(b.rate)
	promised, stay := int64(0), exact.Uint128{}
	if others := ask.beside; others != nil {
		if stay = others.stay; len(others.promised) > 0 {
			promised = others.promised[0]
		}
	}
	ahead := !b.atOnce && (b.ahead().Less(owed) || now < promised)
	last = known && end == paidAt && paidAt.Less(b.most) && (promised == 0 || !ahead)
	if last || !ahead && paidAt.Less(b.most) {
		back = back.Min(end.Sub(at).Sub(stay))
	} else {
		back = exact.Uint128{}
	}
	return back, last
}

// Hold implements [Holder] for tokens. A grant pays for a stretch of time that ends when all is
// paid at the rate. As that end comes nearer, tokens that are still held are earned again. If
// tokens were given back, the ends of later grants would move, and the holders of these would not
// know. Tokens that are given back therefore stay charged, until they are earned again. A queue's
// slots cannot be held: they would keep others waiting.
func (b *bucket) Hold(_ int64, charges []Charge) Hold {
	if b.spaced || len(charges) != 1 {
		return Hold{}
	}
	left := charges[0].For
	charges[0].N = 0
	return Hold{For: left, Most: b.rate.Events(b.rate.Units(int64(left))), Over: left, Span: b.rate.Ceil(b.full)}
}

// goesAhead is the instant at which a grant that is paid for at paidAt goes ahead. For a debt that
// is paid at paidAt, it is the instant at which the debt ends.
func (b *bucket) goesAhead(paidAt exact.Uint128) int64 {
	return int64(b.rate.Ceil(paidAt.Sub(b.ahead())))
}

// ahead is how much a key may owe without a debt or a booking for a later instant.
func (b *bucket) ahead() exact.Uint128 {
	if b.spaced {
		return b.rate.Cost(1)
	}
	return b.full
}

// answer is the answer of a granted ask after which the key owes owed. more asks for MoreAfter.
func (b *bucket) answer(owed exact.Uint128, more bool) Answer {
	a := Answer{Result: Result{
		Allowed:    true,
		Limit:      b.limit,
		Remaining:  b.remaining(owed),
		ResetAfter: b.rate.Ceil(owed),
	}}
	switch {
	case !more || a.Remaining == a.Limit:
	case b.spaced:
		a.MoreAfter = a.ResetAfter
	default:
		a.MoreAfter = b.rate.Ceil(owed.Add(b.rate.Cost(uint64(a.Remaining) + 1)).Sub(b.full))
	}
	return a
}

// remaining is how many events are granted at once when the key owes owed.
func (b *bucket) remaining(owed exact.Uint128) int {
	switch {
	case !b.spaced:
		return b.rate.Events(b.full.Sub(owed))
	case owed.IsZero():
		return b.limit
	}
	return 0
}

// newBucket returns a bucket of tokens for a valid rate. Its size is in events; zero stands for
// limit.
func newBucket(limit int, per time.Duration, size int) bucket {
	if size == 0 {
		size = limit
	}
	r := exact.NewRate(limit, per)
	b := bucket{
		rate:  r,
		limit: size,
		full:  r.Cost(uint64(size)),
		queue: exact.Uint128{Hi: math.MaxUint64, Lo: math.MaxUint64}, // bounded by MaxWait alone
		most:  pairMost,
	}
	if b.fitsWord() {
		b.most = wordMost
	}
	return b
}

// pairMost is above the sum of an instant, full and a MaxWait. If one more ask is added, the sum
// does not wrap around.
var pairMost = exact.Uint128{Hi: 3 << 62}

var wordMost = exact.Uint128{Lo: math.MaxUint64 - 1} // in the year 2554

func (b *bucket) fitsWord() bool { return b.rate.Den == 1 && b.full.Hi == 0 && b.full.Lo < 1<<62 }

// paidAt is the instant that is a bucket's state. The first word is the high one.
func (s words) paidAt() exact.Uint128 { return exact.Uint128{Hi: s.first, Lo: s.second} }

// paid is the state of a bucket that will have been paid at the instant at.
func paid(at exact.Uint128) words { return words{first: at.Hi, second: at.Lo} }

// The methods below implement core.

func (b *bucket) expiry(s words) int64 { return int64(b.rate.Ceil(s.paidAt())) }

func (b *bucket) valid(s words) bool { return !b.most.Less(s.paidAt()) }

type bucketCounts struct {
	rate   exact.Rate
	spaced bool
}

// pace is how n events that are booked are paid for.
func (b *bucket) pace(n int) line.Pace {
	if !b.spaced {
		n = b.limit
	}
	return line.Pace{Rate: b.rate, Ahead: n}
}

// isQueue reports whether d is the Decider of a LeakyBucket.
func isQueue(d Decider) bool {
	c, ok := countsOf(d).(bucketCounts)
	return ok && c.spaced
}

func (b *bucket) counts() any       { return bucketCounts{b.rate, b.spaced} }
func (b *bucket) allowance() uint64 { return uint64(b.limit) }

// usage is how many events are owed, rounded up. A debt that has saturated is the largest there is.
// A queue whose outlet is not free has used all.
func (b *bucket) usage(s words, now int64) uint64 {
	owed := s.paidAt().Sub(b.rate.Units(now))
	if owed.IsZero() {
		return 0
	}
	events, part, ok := owed.Div(b.rate.Num)
	switch {
	case !ok || !s.paidAt().Less(b.most):
		return math.MaxUint64
	case part > 0:
		events = exact.Sum(events, 1)
	}
	if b.spaced {
		return max(events, uint64(b.limit))
	}
	return events
}

// admitTo is decide for one event. The high word of the state is first.
func (b *bucket) admitTo(state []uint64, now int64) bool {
	at := b.rate.Units(now)
	owed := exact.Load(state).Sub(at)
	owes := owed.Add(exact.Uint128{Lo: b.rate.Num})
	early := owes.Sub(b.full)
	if b.spaced {
		early = owed
	}
	if !early.IsZero() {
		return false
	}
	paidAt := at.Add(owes)
	paidAt.Store(state)
	return true
}
