package weir

import (
	"runtime"
	"sync"
)

// longestPause is the number of rounds of an empty loop, 1.5 µs, in the last pause between two
// tries of a lock. The first pause takes 32 rounds, and each twice as many as the one before. A
// caller that then still has no lock parks, because the holder does not run.
//
// The locks here are held for 50 to 200 ns, mostly. A goroutine that parks waits until the
// scheduler comes round to it, and the others queue behind it. With [sync.Mutex.Lock], 64
// goroutines that ask a SlidingLog for 100,000 keys had a 99th percentile over 30 times as long.
// Tries without a pause pull the data away from the holder's processor: a hot key took 1.2 times as
// long.
const longestPause = 1 << 12

// lock is mu.Lock for a lock that is held for a short time.
func lock(mu *sync.Mutex) {
	if !mu.TryLock() {
		lockBusy(mu)
	}
}

func lockBusy(mu *sync.Mutex) {
	for pause := 32; pause <= longestPause; pause *= 2 {
		if mu.TryLock() {
			return
		}
		for range pause {
		}
	}
	mu.Lock()
}

// busy is the lock of an entry whose state is in the slab: a bit of the word with its place. Keys
// then do not wait for each other, and a known key does not need the lock of its segment. The
// holder of an entry may wait for the slab's lock, and for no other.
const busy = 1 << 63

// tryHold locks an entry whose state is in the slab, and returns the place of the state. It fails
// and returns moved if the entry is no longer valid. It also fails if the entry has been busy for a
// while.
func (e *entry) tryHold() (at ref, ok bool) {
	for pause := 32; pause <= longestPause; pause *= 2 {
		at = e.state.Load()
		if at == moved {
			return moved, false
		}
		if at&busy == 0 && e.state.CompareAndSwap(at, at|busy) {
			return at, true
		}
		for range pause { // let the holder, and those with it on its processor, go on
		}
	}
	return at, false
}

// hold is tryHold, but goes on until the entry is locked or no longer valid. It requires that the
// segment is locked: at most one goroutine waits here, and the others park.
func (e *entry) hold() ref {
	for {
		if at, ok := e.tryHold(); ok || at == moved {
			return at
		}
		runtime.Gosched()
	}
}

// release unlocks an entry, whose state is now at at.
func (e *entry) release(at ref) { e.state.Store(at) }

// takeOut makes the state of an entry moved, and returns what it was. It requires that the segment is
// locked.
func (e *entry) takeOut(w *writer) uint64 {
	if w.word != nil {
		return e.state.Swap(moved)
	}
	at := e.hold()
	e.release(moved)
	return at
}
