// Package table keeps short runs of 64-bit words by hash. It is the engine of weir's MemStore.
//
// It knows locks, places and forgetting. It must never know a policy, a limiter or a key: a hash
// stands for a key, and a [Writer] tells when words have expired. Callers decide on a known entry
// without a lock of the table, with [Table.Find]. Everything else is done in a locked [Segment].
//
// Its tests drive it without a limiter, in part at random beside a plain map.
package table

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Table is a hash table of entries. The first bits of the hash divide it into segments with a
// lock each. It starts with one segment of a few slots. A full segment is divided in two, or copied
// without its expired entries. Only single segments are ever copied, and memory comes and goes with
// the keys. (The scheme is extendible hashing, R. Fagin and others, 1979.)
//
// An entry is 24 bytes without a pointer. The garbage collector has nothing to follow, however many
// keys there are. It holds a state of a single word. Of other states it holds the place in the
// slab.
//
// A Table is safe for concurrent use after [Table.Init]. It must not be copied.
type Table struct {
	maxKeys       int64
	firstDepth    uint         // up to it segments divide early, so that processors seldom meet
	overflowDepth uint         // how many first bits are equal in the hashes of keys that share an entry
	overflows     atomic.Int64 // entries that stand for all keys without one
	dir           atomic.Pointer[directory]

	_ [64]byte // what follows is written often where keys come and go, what precedes is read by all

	keys    atomic.Int64 // entries that count towards maxKeys
	sweeper sweeper
	slab    slab
	writers writers

	mu sync.Mutex // guards changes of dir and of writers
}

// Init makes an empty table for maxKeys keys; 0 means no bound. It must be called once, before
// anything else.
func (t *Table) Init(maxKeys int) {
	t.maxKeys = math.MaxInt64
	t.firstDepth = uint(bits.Len(uint(4 * runtime.GOMAXPROCS(0))))
	if maxKeys > 0 {
		t.maxKeys = int64(maxKeys)
		t.firstDepth = min(t.firstDepth, uint(bits.Len(uint(maxKeys)/firstKeys)))
	}
	t.overflowDepth = t.firstDepth
	t.dir.Store(newDirectory(0))
	t.put(&newSegments(1, 0, 0, 0)[0])
	t.writers.byTag.Store(&[]*Writer{nil}) // the tag 0 is nobody's
}

// Len returns the number of keys. It counts expired keys until they are dropped.
func (t *Table) Len() int { return int(t.keys.Load()) }

// Full reports whether there is no room for a new key.
func (t *Table) Full() bool { return t.keys.Load() >= t.maxKeys }

// Overflows reports whether there are entries that stand for all keys without one.
func (t *Table) Overflows() bool { return t.overflows.Load() > 0 }

// reserve counts a new entry, if there still is room for it.
func (t *Table) reserve(h Hash) bool {
	if h.IsOverflow() {
		t.overflows.Add(1)
		return true
	}
	if t.keys.Add(1) > t.maxKeys {
		t.keys.Add(-1)
		return false
	}
	return true
}
