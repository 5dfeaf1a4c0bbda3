package weir

import (
	"sync"
	"sync/atomic"
)

// An entry is a slot of a segment. Its fields are written under the segment's lock, hash.a last,
// and read by anyone. Once set, the hash never changes, so that whoever found an entry may go on
// with it. When the entry is dropped or copied elsewhere its state becomes moved; it stays that unless
// the same key comes again while the slot is there.
type entry struct {
	a, b  word64 // a hash; a is zero in an empty slot
	state word64 // a word, or where the words are in the slab
}

// A word64 is an [atomic.Uint64] that can be written as a plain word, too, before others know of it.
// All three words of an entry lie in slices of entries, and so are aligned on 32-bit machines.
type word64 uint64

func (w *word64) Load() uint64         { return atomic.LoadUint64((*uint64)(w)) }
func (w *word64) Store(v uint64)       { atomic.StoreUint64((*uint64)(w), v) }
func (w *word64) Swap(v uint64) uint64 { return atomic.SwapUint64((*uint64)(w), v) }
func (w *word64) CompareAndSwap(old, new uint64) bool {
	return atomic.CompareAndSwapUint64((*uint64)(w), old, new)
}

// moved is the state of an entry that counts no more. No WordDecider may use it.
const moved = 1<<64 - 1

const (
	firstKeys = 128     // for each segment of firstDepth, at least, if MaxKeys is small
	minSlots  = 4       // of a segment
	maxSlots  = 6 << 10 // 150 kB: to divide one takes some 300 µs, most of it page faults

	// churnSlots is what a segment grows to that fills up with keys which do not stay. With fewer slots
	// it is replaced more often: with 16, every 13 calls. Half of it is a size that a growing segment has.
	churnSlots = 224
)

// A segment is a hash table with open addressing. It never grows: it is replaced.
type segment struct {
	entries []entry
	prefix  uint64 // the first bits of the hashes here, as many as depth
	depth   uint

	_ [64]byte // what follows is written often, what precedes is read by all

	mu       sync.Mutex
	replaced bool     // look it up again in the directory
	used     int      // slots that are not empty
	live     int      // of these, entries that were not moved
	hand     int      // where sweep goes on
	scratch  []uint64 // for a state that lies nowhere else
}

// newSegments makes n segments that follow each other, in two allocations.
func newSegments(n, slots int, prefix uint64, depth uint) []segment {
	slots = max(slots, minSlots)
	segments, entries := make([]segment, n), make([]entry, n*slots)
	for i := range segments {
		s := &segments[i]
		s.entries, s.prefix, s.depth = entries[i*slots:(i+1)*slots:(i+1)*slots], prefix+uint64(i), depth
	}
	return segments
}

// newState is a state of so many zero words, until the next one. It requires that s.mu is held.
func (s *segment) newState(words int) []uint64 {
	if words > cap(s.scratch) {
		s.scratch = make([]uint64, max(words, 4)) // a log appends to its two
	}
	state := s.scratch[:words]
	clear(state)
	return state
}

// start is the slot from which on a hash is looked for.
func (s *segment) start(a uint64) int {
	return int(uint64(uint32(a)) * uint64(len(s.entries)) >> 32)
}

// find returns the live entry of h that a scope of the same tag wrote, or nil. It needs no lock.
func (m *memory) find(h hash) *entry {
	s := m.dir.Load().at(h.a).Load()
	for i := s.start(h.a); ; {
		e := &s.entries[i]
		switch e.a.Load() {
		case h.a:
			if e.b.Load() == h.b && e.state.Load() != moved {
				return e
			}
		case 0:
			return nil
		}
		if i++; i == len(s.entries) {
			i = 0
		}
	}
}

// lookup returns the live entry of h, whoever wrote it, or nil. It requires that s.mu is held.
func (s *segment) lookup(h hash) *entry {
	for i := s.start(h.a); ; {
		e := &s.entries[i]
		switch e.a.Load() {
		case h.a:
			if (e.b.Load()^h.b)&^tagMask == 0 && e.state.Load() != moved {
				return e
			}
		case 0:
			return nil
		}
		if i++; i == len(s.entries) {
			i = 0
		}
	}
}

// slot is where an entry goes, for which there is no live one: to one that had just this h, so that keys
// which are dropped and come again take no further slots, or else to an empty one.
func (s *segment) slot(h hash) *entry {
	for i := s.start(h.a); ; {
		e := &s.entries[i]
		if a := e.a.Load(); a == 0 || a == h.a && e.b.Load() == h.b {
			return e
		}
		if i++; i == len(s.entries) {
			i = 0
		}
	}
}

// insert puts in an entry, for which there must be no live one, and a slot. It requires that s.mu is held.
func (s *segment) insert(h hash, state uint64) {
	e := s.slot(h)
	e.b.Store(h.b)
	e.state.Store(state)
	if e.a.Swap(h.a) == 0 {
		s.used++
	}
	s.live++
}

// fill is insert into a segment that no one else knows of yet. Plain writes are several times as fast,
// and a segment that is divided has up to 3,300 entries to write.
func (s *segment) fill(h hash, state uint64) {
	*s.slot(h) = entry{word64(h.a), word64(h.b), word64(state)}
	s.used++
	s.live++
}

// full reports whether another entry would make the table slow.
func (s *segment) full() bool { return s.used+1 > len(s.entries)*13/16 }

// A directory finds the segment of a hash by its first bits.
type directory struct {
	depth    uint
	segments []atomic.Pointer[segment]
}

func newDirectory(depth uint) *directory {
	return &directory{depth: depth, segments: make([]atomic.Pointer[segment], 1<<depth)}
}

func (d *directory) at(a uint64) *atomic.Pointer[segment] {
	return &d.segments[a>>(64-d.depth)]
}

// lock returns the segment of h, locked, and with a slot for another entry.
func (m *memory) lock(h hash) *segment {
	for {
		s := m.dir.Load().at(h.a).Load()
		lock(&s.mu)
		if !s.replaced && !s.full() {
			return s
		}
		m.unlockFull(s)
	}
}

func (m *memory) unlockFull(s *segment) {
	defer s.mu.Unlock()
	if !s.replaced {
		m.replace(s, min(2*len(s.entries), churnSlots))
	}
}

// put makes the directory lead to s. It requires that m.mu is held.
func (m *memory) put(s *segment) {
	d := m.dir.Load()
	if s.depth > d.depth {
		wider := newDirectory(d.depth + 1)
		for i := range wider.segments {
			wider.segments[i].Store(d.segments[i/2].Load())
		}
		m.dir.Store(wider)
		d = wider
	}
	shared := d.depth - s.depth // bits that s does not tell apart
	for i := s.prefix << shared; i < (s.prefix+1)<<shared; i++ {
		d.segments[i].Store(s)
	}
}
