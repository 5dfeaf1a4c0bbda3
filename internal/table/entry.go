package table

import (
	"runtime"
	"sync/atomic"
)

// An Entry is a slot of a segment. Its fields are written under the segment's lock, the hash's a
// last, and read by anyone. Once set, the hash never changes, so that whoever found an entry may go
// on with it. When the entry is dropped or copied elsewhere, its state becomes [Moved]. The state
// stays [Moved] unless the same key comes again while the slot is there.
type Entry struct {
	a, b  word64 // a Hash; a is zero in an empty slot
	state word64 // a word, or where the words are in the slab
}

// A word64 is an [atomic.Uint64] that can be written as a plain word, too, before others know of
// it. All three words of an entry lie in slices of entries, and so are aligned on 32-bit machines.
type word64 uint64

func (w *word64) Load() uint64         { return atomic.LoadUint64((*uint64)(w)) }
func (w *word64) Store(v uint64)       { atomic.StoreUint64((*uint64)(w), v) }
func (w *word64) Swap(v uint64) uint64 { return atomic.SwapUint64((*uint64)(w), v) }
func (w *word64) CompareAndSwap(old, new uint64) bool {
	return atomic.CompareAndSwapUint64((*uint64)(w), old, new)
}

// Moved is the state of an entry that no longer counts. No Writer of single words may use it as a
// word.
const Moved = 1<<64 - 1

// Load returns the word of an entry whose Writer writes single words, or [Moved].
func (e *Entry) Load() uint64 { return e.state.Load() }

// CompareAndSwap exchanges the word of an entry whose Writer writes single words. It fails if the
// word is not old, and so if the entry is no longer valid.
func (e *Entry) CompareAndSwap(old, new uint64) bool { return e.state.CompareAndSwap(old, new) }

// Tag returns the tag of the entry's Writer.
func (e *Entry) Tag() uint64 { return e.b.Load() & tagMask }

// Hash returns the hash of the entry, with the tag of its Writer.
func (e *Entry) Hash() Hash { return Hash{e.a.Load(), e.b.Load()} }

// busy is the lock of an entry whose state is in the slab: a bit of the word with its place. Keys
// then do not wait for each other, and a known key does not need the lock of its segment. The
// holder of an entry may wait for the slab's lock, and for no other.
const busy = 1 << 63

// TryHold locks an entry whose state is in the slab, and returns the place of the state. It fails
// and returns [Moved] if the entry is no longer valid. It also fails if the entry has been busy for
// a while. A caller that holds an entry must call [Entry.Release].
func (e *Entry) TryHold() (at Ref, ok bool) {
	for pause := firstPause; pause <= longestPause; pause *= 2 {
		at = e.state.Load()
		if at == Moved {
			return Moved, false
		}
		if at&busy == 0 && e.state.CompareAndSwap(at, at|busy) {
			return at, true
		}
		for range pause { // let the holder, and those with it on its processor, go on
		}
	}
	return at, false
}

// Hold is TryHold, but goes on until the entry is locked or no longer valid. It requires that the
// segment is locked: at most one goroutine waits here, and the others park.
func (e *Entry) Hold() Ref {
	for {
		if at, ok := e.TryHold(); ok || at == Moved {
			return at
		}
		runtime.Gosched()
	}
}

// Release unlocks an entry, whose state is now at at.
func (e *Entry) Release(at Ref) { e.state.Store(at) }

// takeOut makes the state of an entry [Moved], and returns what it was. It requires that the
// segment is locked.
func (e *Entry) takeOut(w *Writer) uint64 {
	if w.Single {
		return e.state.Swap(Moved)
	}
	at := e.Hold()
	e.Release(Moved)
	return at
}
