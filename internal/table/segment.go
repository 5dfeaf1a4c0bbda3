package table

import "sync"

const (
	firstKeys = 128     // for each segment of firstDepth, at least, if MaxKeys is small
	minSlots  = 4       // of a segment
	maxSlots  = 6 << 10 // 150 kB: to divide one takes some 300 µs, most of it page faults

	// A segment that fills up with keys which do not stay grows to churnSlots. With fewer slots it
	// would be replaced more often: with 16, every 13 calls. Half of churnSlots is a size that a
	// growing segment has.
	churnSlots = 224
)

// A Segment is a hash table with open addressing. It never grows: it is replaced.
type Segment struct {
	entries []Entry
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
func newSegments(n, slots int, prefix uint64, depth uint) []Segment {
	slots = max(slots, minSlots)
	segments, entries := make([]Segment, n), make([]Entry, n*slots)
	for i := range segments {
		s := &segments[i]
		s.entries, s.prefix, s.depth = entries[i*slots:(i+1)*slots:(i+1)*slots], prefix+uint64(i), depth
	}
	return segments
}

// Unlock ends what [Table.Lock] began.
func (s *Segment) Unlock() { s.mu.Unlock() }

// NewState returns a state of as many zero words. It is valid until the next call of NewState, and
// as long as s is locked.
func (s *Segment) NewState(words int) []uint64 {
	if words > cap(s.scratch) {
		s.scratch = make([]uint64, max(words, 4)) // so that a few can be appended
	}
	state := s.scratch[:words]
	clear(state)
	return state
}

// start is the slot at which the search for a hash begins.
func (s *Segment) start(a uint64) int {
	return int(uint64(uint32(a)) * uint64(len(s.entries)) >> 32)
}

// Lookup returns the live entry of h, whoever wrote it, or nil. It requires that s is locked.
func (s *Segment) Lookup(h Hash) *Entry {
	for i := s.start(h.a); ; {
		e := &s.entries[i]
		switch e.a.Load() {
		case h.a:
			if (e.b.Load()^h.b)&^tagMask == 0 && e.state.Load() != Moved {
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

// slot returns the slot for an entry of h, which has no live one. This is a slot that had the same
// h before, or else an empty one. Keys that are dropped and come again therefore take no further
// slots.
func (s *Segment) slot(h Hash) *Entry {
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

// insert adds an entry for h. It requires that h has no live entry, that there is a slot, and that
// s.mu is held.
func (s *Segment) insert(h Hash, state uint64) {
	e := s.slot(h)
	e.b.Store(h.b)
	e.state.Store(state)
	if e.a.Swap(h.a) == 0 {
		s.used++
	}
	s.live++
}

// fill is insert into a segment that no one else knows of yet. Plain writes are several times as
// fast, and a segment that is divided has up to 6,240 entries to write.
func (s *Segment) fill(h Hash, state uint64) {
	*s.slot(h) = Entry{word64(h.a), word64(h.b), word64(state)}
	s.used++
	s.live++
}

// full reports whether another entry would make the table slow.
func (s *Segment) full() bool { return s.used+1 > len(s.entries)*13/16 }
