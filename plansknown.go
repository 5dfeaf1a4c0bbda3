package weir

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	knownAtOnce = 1 << 10 // policies of a generation that are remembered when they are asked for first
	maxKnown    = 1 << 17 // policies in a generation

	askedBits = 1 << 20
	maxAsked  = askedBits / 8 // bits that are set
)

// knownPlans keeps prepared policies that a function of [WithPolicyFor] returned.
//
// It has two generations. A policy that is asked for is put into the young one, whether it is new
// or comes from the old one. When the young one is full it becomes the old one, and the old one is
// dropped.
//
// The first thousand new policies of a generation are kept at once, the others from their second
// call. For this, a bit is set for the hash of each. A generation also ends when one in eight bits
// is set. A function that makes up ever new policies then leaves few of them: those that pass for
// known ones, one in sixteen of the 130,000 that a generation then sees.
type knownPlans struct {
	seed       maphash.Seed
	young, old atomic.Pointer[planTable]

	mu    sync.Mutex // guards what follows, and writes to the tables
	size  int        // policies in young
	asked []uint64   // the bits; nil until they are needed
	set   int        // how many of them are set
}

func newKnownPlans() *knownPlans {
	k := &knownPlans{seed: maphash.MakeSeed()}
	k.turn()
	k.turn()
	return k
}

func (k *knownPlans) hash(policy Policy) uint64 { return maphash.Comparable(k.seed, policy) }

// find looks a policy up in the young generation. It also reports whether the policy can be kept at
// all: one that cannot be compared is not there. To check that first would take longer than the
// look.
func (k *knownPlans) find(policy Policy) (s *Plan, ok bool) {
	defer func() { _ = recover() }()
	return k.young.Load().slot(k.hash(policy), policy).Load(), true
}

// keep stores s, if it is time to, and returns it. If an equal policy is there already it returns
// that.
func (k *knownPlans) keep(s *Plan) *Plan {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash, young := k.hash(s.Policy), *k.young.Load()
	if 2*k.size >= len(young) {
		young = k.widen()
	}
	slot := young.slot(hash, s.Policy)
	if known := slot.Load(); known != nil {
		return known
	}
	if known := k.old.Load().slot(hash, s.Policy).Load(); known != nil {
		s = known
	} else if k.size >= knownAtOnce && !k.mark(hash) {
		return s
	}
	slot.Store(s)
	if k.size++; k.size == maxKnown {
		k.turn()
	}
	return s
}

// mark sets the bit of a hash, and reports whether it was set before. It requires that k.mu is
// held.
func (k *knownPlans) mark(hash uint64) bool {
	if k.asked == nil {
		k.asked = make([]uint64, askedBits/64)
	}
	word, bit := &k.asked[hash>>32%(askedBits/64)], uint64(1)<<(hash>>58)
	known := *word&bit != 0
	*word |= bit
	if !known {
		if k.set++; k.set == maxAsked {
			k.turn()
		}
	}
	return known
}

// turn starts a new generation. It requires that k.mu is held.
func (k *knownPlans) turn() {
	k.old.Store(k.young.Swap(&planTable{{}, {}}))
	clear(k.asked)
	k.size, k.set = 0, 0
}

// widen makes young twice as wide. It requires that k.mu is held.
func (k *knownPlans) widen() planTable {
	narrow := *k.young.Load()
	young := make(planTable, 2*len(narrow))
	for i := range narrow {
		if s := narrow[i].Load(); s != nil {
			young.slot(k.hash(s.Policy), s.Policy).Store(s)
		}
	}
	k.young.Store(&young)
	return young
}

// A planTable is a hash table of plans by their policies, which is read without a lock. Nothing is
// ever taken out of it, and it is at most half full. The number of slots is a power of two.
type planTable []atomic.Pointer[Plan]

// slot is where a policy is, or an empty one where it may be put.
func (t planTable) slot(hash uint64, policy Policy) *atomic.Pointer[Plan] {
	for i := hash; ; i++ {
		slot := &t[i&uint64(len(t)-1)]
		if s := slot.Load(); s == nil || s.Policy == policy {
			return slot
		}
	}
}
