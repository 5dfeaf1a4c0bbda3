package weir

// marker is what the Deciders of both markers have in common: two buckets, with two words each for their
// states. An event is green if the first has a token for it. The second grants what is yellow.
type marker struct{ green, yellow bucket }

// Words implements [Decider].
func (d *marker) Words() int { return 4 }

// Expiry implements [Decider].
func (d *marker) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return max(d.green.expiry(pairOf(state)), d.yellow.expiry(pairOf(state[2:])))
}

func (d *marker) sound(state []uint64) bool {
	return len(state) == d.Words() && d.green.valid(pairOf(state)) && d.yellow.valid(pairOf(state[2:]))
}

// used implements counter. The second bucket lacks what either has granted.
func (d *marker) used(state []uint64, now int64) uint64 {
	return d.yellow.usage(pairOf(state[2:]), now)
}
