package script

import (
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

// A bucket is the codec of TokenBucket and LeakyBucket. The field each is the cost of an event in
// units. In a microsecond, den units are paid.
//
// The deciders count in other units: 1/nsDen ns, for a rate of one event every num/nsDen ns in
// lowest terms. A unit of the script is scale units of the Decider.
type bucket struct {
	den, each    uint64
	nsDen, scale uint64
	limit, full  uint64 // how many events fit, and their cost
	spaced       bool
	decider      weir.Decider
}

func newBucket(limit int, per time.Duration, burst int, spaced bool, d weir.Decider) (bucket, bool) {
	num, den := uint64(per), uint64(limit)
	g := gcd(num, den)
	num, den = num/g, den/g
	scale := gcd(num, micro)
	b := bucket{
		each:  num / scale,
		nsDen: den, scale: scale,
		limit: uint64(burst), spaced: spaced, decider: d,
	}
	if den > maxHalf/micro {
		return b, false
	}
	b.den = den * micro / scale
	hi, full := bits.Mul64(b.each, b.limit)
	b.full = full
	return b, hi == 0 && full < maxHalf // a queue may owe one event more
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (b bucket) ask(ask weir.Ask) (string, bool) {
	cost, room, each := uint64(0), int64(-1), uint64(0)
	switch n := uint64(ask.N); {
	case lookOnly(ask, b.limit):
	case ask.N < 0:
		return b.giveBack(ask)
	case ask.Mode == weir.Regardless:
		if cost = b.cost(n); cost > maxHalf {
			return "", false
		}
		room = maxExact - int64(cost)
	case ask.Mode == weir.UpTo && !b.spaced:
		cost, room, each = b.cost(min(n, b.limit)), int64(b.full), b.each
	case ask.Mode == weir.UpTo:
		cost, room = b.cost(min(n, b.limit)), 0
	default:
		cost = b.cost(n)
		ahead := b.ahead(ask.MaxWait)
		if b.spaced {
			room = int64(min(ahead, b.full))
		} else {
			room = int64(min(b.full-cost+ahead, maxExact-cost))
		}
	}
	return numbers(int64(b.den), int64(cost), room, int64(each)), true
}

// giveBack returns the script's arguments for an ask that gives events back. The script frees the
// same as the decider would, because the numbers of the grant are whole in the script's units, too.
func (b bucket) giveBack(ask weir.Ask) (string, bool) {
	room := b.full // if more is owed, a grant lies ahead
	if b.spaced {
		room = b.each
	}
	at, ends, free, ok := b.grant(ask)
	back := b.cost(-uint64(ask.N))
	return numbers(int64(b.den), -int64(back), int64(room), 0, at, int64(ends), int64(free)), ok
}

// grant returns the instant of the grant whose events are given back. At that instant, ends units
// were owed, those of the grant included. free is ends without the units of the waiters that stay
// behind the events. All are zero if the grant is not known. ok is false if a number is not whole,
// or too large.
func (b bucket) grant(ask weir.Ask) (at int64, ends, free uint64, ok bool) {
	if ask.GrantedAt == 0 || ask.Charges == nil || len(*ask.Charges) != 1 || (*ask.Charges)[0].Late > 0 {
		return 0, 0, 0, true
	}
	c := (*ask.Charges)[0]
	hi, lo := bits.Mul64(uint64(c.For), b.nsDen)
	lo, borrow := bits.Sub64(lo, c.ForRest, 0)
	at, ends = ask.GrantedAt/micro, lo/b.scale
	whole := at*micro == ask.GrantedAt && ends*b.scale == lo && hi == borrow
	if !whole || max(uint64(at), ends) > maxExact || c.For >= math.MaxInt64-time.Duration(ask.GrantedAt) {
		return 0, 0, 0, false
	}
	// Only the decider can read from the ask how much stays. It is asked to undo as much as
	// possible right after the grant: what it leaves is what stays.
	ask.N = math.MinInt
	state, _ := b.decider.Decide(b.state(nil, at, ends), ask.GrantedAt, ask)
	stay, rest, _ := b.owed(state, at)
	free = ends - stay // or less than that, if an int of 32 bits holds too few events
	return at, ends, free, rest == 0 && 0 < free && free <= b.cost(math.MaxInt)
}

// cost returns the cost of n events, or a number above maxHalf.
func (b bucket) cost(n uint64) uint64 {
	hi, lo := bits.Mul64(n, b.each)
	if hi != 0 {
		return maxExact
	}
	return min(lo, maxExact)
}

// ahead returns how many units are paid in a time, rounded down.
func (b bucket) ahead(d time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(max(d, 0)), b.den)
	if hi >= micro {
		return maxExact
	}
	units, _ := bits.Div64(hi, lo, micro)
	return min(units, maxExact)
}

func (b bucket) decode(buf []uint64, value reader) ([]uint64, int64, bool) {
	at, owed := value.micros(), value.uint(7)
	return b.state(buf, at, owed), at, value.ok && owed <= maxExact
}

// state converts a key's debt at an instant into the instant at which it will be paid, in the
// decider's units.
func (b bucket) state(buf []uint64, at int64, owed uint64) []uint64 {
	hi, lo := bits.Mul64(uint64(at)*micro, b.nsDen)
	owedHi, owedLo := bits.Mul64(owed, b.scale)
	lo, carry := bits.Add64(lo, owedLo, 0)
	hi, _ = bits.Add64(hi, owedHi, carry)
	switch {
	case b.decider.Words() == 2:
		buf = append(buf, hi)
	case hi != 0:
		lo = math.MaxUint64 - 1
	}
	return append(buf, lo)
}

func (b bucket) encode(state []uint64, now int64) ([]byte, bool) {
	owed, rest, ok := b.owed(state, now)
	if rest > 0 {
		owed++ // after a change of the rate, or a give-back of what counts in part
	}
	return appendUint(appendUint(nil, uint64(now), 7), owed, 7), ok && owed <= maxExact
}

// owed is the reverse of state: it returns the debt at the instant now. The rest is in the
// decider's units.
func (b bucket) owed(state []uint64, now int64) (owed, rest uint64, ok bool) {
	hi, lo := uint64(0), state[0]
	if b.decider.Words() == 2 {
		hi, lo = state[0], state[1]
	}
	nowHi, nowLo := bits.Mul64(uint64(now)*micro, b.nsDen)
	lo, borrow := bits.Sub64(lo, nowLo, 0)
	hi, borrow = bits.Sub64(hi, nowHi, borrow)
	if borrow != 0 {
		hi, lo = 0, 0
	}
	if hi >= b.scale {
		return 0, 0, false
	}
	owed, rest = bits.Div64(hi, lo, b.scale)
	return owed, rest, true
}
