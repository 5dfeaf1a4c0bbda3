package weir

// Carry returns the state that a key has under the decider to, after the decider from left it in
// state. The key keeps the share of its allowance that it has used up, rounded up to whole events;
// from one [LeakyBucket] to another, the instant at which the outlet is free. So a changed limit is
// no fresh allowance, and changing to and fro gains nothing.
//
// Until the state is kept under the new policy, which a grant does, what is told of the future counts
// with the new policy, while the state still recovers by the old one.
//
// It is for stores, which find a state that another policy has left where limiters of one name have
// different policies.
func Carry(from, to Decider, state []uint64, now int64) []uint64 {
	fresh := make([]uint64, to.Words())
	if f, ok := from.(bucketDecider); ok && f.spacedOut() {
		if t, ok := to.(bucketDecider); ok && t.spacedOut() {
			t.setFreeAt(fresh, f.Expiry(state))
			return fresh
		}
	}
	_, old := from.Decide(state, now, Ask{})
	_, neu := to.Decide(fresh, now, Ask{})
	used := old.Limit - old.Remaining
	if used <= 0 {
		return fresh
	}
	share, rem, ok := mul64(uint64(used), uint64(neu.Limit)).div(uint64(old.Limit))
	if rem > 0 {
		share++
	}
	if !ok || share > uint64(neu.Limit) {
		share = uint64(neu.Limit)
	}
	fresh, _ = to.Decide(fresh, now, Ask{N: int(share)})
	return fresh
}

// A bucketDecider is bucketWord or bucketPair.
type bucketDecider interface {
	Decider
	spacedOut() bool
	setFreeAt(state []uint64, at int64)
}

func (b *bucket) spacedOut() bool { return b.spaced }

func (d bucketWord) setFreeAt(state []uint64, at int64) { state[0] = uint64(at) }

func (d bucketPair) setFreeAt(state []uint64, at int64) {
	freeAt := d.units(at)
	state[0], state[1] = freeAt.hi, freeAt.lo
}
