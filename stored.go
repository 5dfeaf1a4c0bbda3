package weir

import "math"

// A core is the algorithm of a policy whose states are two words, or three, which often fit in one.
// It takes them by value, since what is passed to an interface by a slice is allocated.
type core interface {
	decide(s words, now int64, ask Ask) (words, Answer)
	expiry(s words) int64
	usage(s words, now int64) uint64 // used, of a counter
	valid(s words) bool              // sound, of a sounder
	counts() any
	allowance() uint64
}

// words are a state of a core.
type words struct{ first, second, third uint64 }

// pairOf is the state of a core that has the first two words.
func pairOf(state []uint64) words { return words{state[0], state[1], 0} }

func (s words) slice() []uint64 { return []uint64{s.first, s.second, s.third} }

// stored is the Decider of a core. It keeps the state as two words, or packed in one.
type stored struct {
	core
	packing
}

// A packing is how a state is kept in one word: the counts in the low bits, the first word before
// them. The largest count there is for bits stands for the largest uint64. The zero packing is
// none.
type packing struct {
	bits int // of a count; at most 64
	n    int // counts that there are: one or two
}

func (p packing) unpack(word uint64) words {
	if p.n == 1 {
		return words{word >> p.bits, p.count(word), 0}
	}
	return words{word >> (2 * p.bits), p.count(word >> p.bits), p.count(word)}
}

func (p packing) pack(s words) uint64 {
	word := s.first<<p.bits | min(s.second, p.most())
	if p.n > 1 {
		word = word<<p.bits | min(s.third, p.most())
	}
	return word
}

func (p packing) most() uint64 { return 1<<p.bits - 1 }

func (p packing) count(word uint64) uint64 {
	if count := word & p.most(); count < p.most() {
		return count
	}
	return math.MaxUint64
}

func (d stored) load(state []uint64) words {
	if d.bits == 0 {
		return pairOf(state)
	}
	return d.unpack(state[0])
}

// Words implements [Decider].
func (d stored) Words() int {
	if d.bits == 0 {
		return 2
	}
	return 1
}

// Decide implements [Decider] for a packed state. Those of two words have their own: to copy the
// answer once more takes 10 to 20 % of a Take.
func (d stored) Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer) {
	if !d.sound(state) {
		return state, broken()
	}
	s, a := d.decide(d.unpack(state[0]), now, ask)
	state[0] = d.pack(s)
	return state, a
}

// Expiry implements [Decider].
func (d stored) Expiry(state []uint64) int64 {
	if !d.sound(state) {
		return 0
	}
	return d.expiry(d.load(state))
}

func (d stored) sound(state []uint64) bool { return len(state) == d.Words() && d.valid(d.load(state)) }

// limitAtOnce implements wordAdmitter.
func (d stored) limitAtOnce() int { return int(d.allowance()) }

// used implements counter.
func (d stored) used(state []uint64, now int64) uint64 { return d.usage(d.load(state), now) }

// widen implements packer.
func (d stored) widen(state []uint64) []uint64 { return d.load(state).slice()[:1+d.n] }

// narrow implements packer.
func (d stored) narrow(wide []uint64) []uint64 {
	s := pairOf(wide)
	if d.n > 1 {
		s.third = wide[2]
	}
	return []uint64{d.pack(s)}
}
