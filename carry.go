package weir

import "math"

// Carry returns the state that a key has under the decider to, after the decider from left it in
// state. So a changed limit is no fresh allowance, and changing to and fro gains nothing. The rule:
//
//   - From bucket to bucket, the level is kept in proportion: a bucket that was half full is half full. What
//     is owed beyond a full allowance, bookings and debts, is kept in events.
//   - From window to window, and from log to log, what was counted is kept, as far as it counts still;
//     in a window that began after the one that counted, as if counted now.
//   - Policies that are composed are carried part by part: equal parts keep what they have, and the others
//     take over from those in their place. Another kind takes a SingleRateMarker for one bucket of both sizes.
//   - Else the key keeps the share of its allowance that it has used up, rounded up to whole events,
//     and what goes beyond it in events.
//
// The last two may delay what was used up; exact tells that they were not needed. A store keeps an
// exact state at once, so that the key recovers by its new policy from then on. It keeps another
// only when events are granted on it: if denials did it, too, two limiters of one name that are
// asked in turn could delay a key again and again, and keep it shut.
//
// It is for stores, which find a state that another policy has left after a policy was changed, and where
// limiters of one name have different policies.
func Carry(from, to Decider, state []uint64, now int64) (carried []uint64, exact bool) {
	if carried, exact, ok := carryParts(from, to, state, now); ok {
		return carried, exact
	}
	fresh := make([]uint64, to.Words())
	if expiry := from.Expiry(state); expiry <= now && expiry != math.MaxInt64 {
		return fresh, true // as if it was forgotten, which it may be or not
	}
	if to, ok := to.(successor); ok {
		if carried, exact, ok := to.succeed(from, state, fresh, now); ok {
			return carried, exact
		}
	}
	_, old := from.Decide(state, now, Ask{})
	_, neu := to.Decide(fresh, now, Ask{})
	limit, used := uint64(old.Limit), uint64(max(old.Limit-old.Remaining, 0))
	if from, ok := from.(debtor); ok {
		used = min(from.used(state, now), math.MaxInt64)
	}
	if used == 0 {
		return fresh, true
	}
	share := mulShare(uint128{0, uint64(neu.Limit)}, uint128{0, min(used, limit)}, uint128{0, limit})
	events := share.lo + used - min(used, limit)
	fresh, _ = to.Decide(fresh, now, Ask{N: int(min(events, math.MaxInt)), How: Regardless})
	return fresh, false
}

// A debtor is a [Decider] that tells how many events a key has used up, with its debts and bookings.
// They may be more than the limit.
type debtor interface {
	used(state []uint64, now int64) uint64
}

// A successor is a [Decider] that can take over the states of others like it.
type successor interface {
	// succeed makes fresh, a new state, what the state of from is to be, and returns it, and whether
	// it is exact. It reports that it is not ok if from is not like it.
	succeed(from Decider, state, fresh []uint64, now int64) (carried []uint64, exact, ok bool)
}

// A bucketDecider is bucketWord or bucketPair.
type bucketDecider interface {
	arithmetic() *bucket
	get(state []uint64) uint128
}

func (b *bucket) arithmetic() *bucket { return b }

func (d bucketWord) used(state []uint64, now int64) uint64 { return d.usedBy(d.get(state), now) }
func (d bucketPair) used(state []uint64, now int64) uint64 { return d.usedBy(d.get(state), now) }

func (b *bucket) usedBy(paidAt uint128, now int64) uint64 {
	owed := paidAt.sub(b.units(now))
	events, part, ok := owed.div(b.num)
	if !ok || events >= math.MaxInt64 {
		return math.MaxInt64
	}
	if part > 0 {
		events++
	}
	if b.spaced && events > 0 {
		return uint64(b.limit) + events - 1 // while the outlet is not free, nothing is granted
	}
	return events
}

func (d bucketWord) get(state []uint64) uint128 { return uint128{0, state[0]} }
func (d bucketPair) get(state []uint64) uint128 { return uint128{state[0], state[1]} }

func (d bucketWord) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	paidAt, ok := d.carried(from, state, now)
	fresh[0] = paidAt.lo
	return fresh, ok, ok
}

func (d bucketPair) succeed(from Decider, state, fresh []uint64, now int64) (_ []uint64, exact, ok bool) {
	paidAt, ok := d.carried(from, state, now)
	fresh[0], fresh[1] = paidAt.hi, paidAt.lo
	return fresh, ok, ok
}

// carried is the state of b that a state of another bucket of its kind becomes.
func (b *bucket) carried(from Decider, state []uint64, now int64) (uint128, bool) {
	f, ok := from.(bucketDecider)
	if !ok || f.arithmetic().spaced != b.spaced {
		return uint128{}, false
	}
	a, paidAt := f.arithmetic(), f.get(state)
	owed := paidAt.sub(a.units(now))
	switch {
	case owed.isZero():
		return uint128{}, true
	case !paidAt.less(a.most):
		return b.most, true
	}
	level := min128(owed, a.full)
	if a.spaced {
		level = uint128{} // a queue saves up nothing: all that it owes are events
	}
	events, part, ok := owed.sub(level).div(a.num)
	if !ok {
		return b.most, true
	}
	owes := mulShare(b.full, level, a.full).add(b.cost(events))
	owes = owes.add(mulShare(uint128{0, b.num}, uint128{0, part}, uint128{0, a.num}))
	return min128(b.units(now).add(owes), b.most), true
}
