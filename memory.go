package weir

import (
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// memory is the content of a MemStore after its first use.
//
// The entries of all limiters are in one hash table. The first bits of the hash divide it into
// segments with a lock each. It starts with one segment of a few slots. A full segment is divided
// in two, or copied without its expired entries. No call ever handles more than one segment, and
// memory comes and goes with the keys. (The scheme is extendible hashing, R. Fagin and others,
// 1979.)
//
// An entry is 24 bytes without a pointer. The garbage collector has nothing to follow, however many
// keys there are. It holds a state of a single word. Of other states it holds the place in the
// slab.
type memory struct {
	seedA, seedB maphash.Seed
	maxKeys      int64
	firstDepth   uint         // up to it segments divide early, so that processors seldom meet
	keys         atomic.Int64 // entries that count towards maxKeys
	overflows    atomic.Int64 // entries that stand for all keys without one

	dir     atomic.Pointer[directory]
	sweeper sweeper
	slab    slab
	scopes  scopes

	mu sync.Mutex // guards changes of dir and of scopes
}

const (
	tagBits     = 20
	tagMask     = 1<<tagBits - 1
	overflowBit = 1 << tagBits // in hash.b: stands for all keys that have no entry
	markMask    = overflowBit | tagMask
)

// A hash identifies a name and key. Both words are secret, because their seeds are. An attacker
// cannot make two keys that share them. By chance, two of a billion keys do with a probability of
// 10^-14.
type hash struct {
	a uint64 // never zero
	b uint64 // the low bits hold a tag and the overflowBit
}

func newMemory(maxKeys int) *memory {
	m := &memory{seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed()}
	m.maxKeys = math.MaxInt64
	m.firstDepth = uint(bits.Len(uint(4 * runtime.GOMAXPROCS(0))))
	if maxKeys > 0 {
		m.maxKeys = int64(maxKeys)
		m.firstDepth = min(m.firstDepth, uint(bits.Len(uint(maxKeys)/firstKeys)))
	}
	m.dir.Store(newDirectory(0))
	m.put(&newSegments(1, 0, 0, 0)[0])
	m.scopes.writers.Store(&[]*writer{ledgerTag: nil})
	m.scopes.byID = make(map[any]*writer)
	return m
}

func (sc *memScope) hash(key string) hash {
	m := sc.memory
	return hash{
		a: (maphash.String(m.seedA, key) ^ sc.nameA) | 1,
		b: (maphash.String(m.seedB, key)^sc.nameB)&^markMask | sc.tag,
	}
}

func (h hash) isOverflow() bool { return h.b&overflowBit != 0 }

// overflow identifies the entry that stands for all keys of the scope which have the first bits of
// h, and no entry.
func (sc *memScope) overflow(h hash) hash {
	o := sc.hash("")
	low := ^uint64(0) >> sc.memory.firstDepth
	return hash{a: h.a&^low | o.a&low | 1, b: o.b | overflowBit}
}
