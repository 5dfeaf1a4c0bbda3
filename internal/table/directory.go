package table

import "sync/atomic"

// A directory finds the segment of a hash by its first bits.
type directory struct {
	depth    uint
	segments []atomic.Pointer[Segment]
}

func newDirectory(depth uint) *directory {
	return &directory{depth: depth, segments: make([]atomic.Pointer[Segment], 1<<depth)}
}

func (d *directory) at(a uint64) *atomic.Pointer[Segment] {
	return &d.segments[a>>(64-d.depth)]
}

// Find returns the live entry of h that a Writer of the same tag wrote, or nil. It needs no lock.
func (t *Table) Find(h Hash) *Entry {
	s := t.dir.Load().at(h.a).Load()
	for i := s.start(h.a); ; {
		e := &s.entries[i]
		switch e.a.Load() {
		case h.a:
			if e.b.Load() == h.b && e.state.Load() != Moved {
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

// Lock returns the segment of h, locked, and with a slot for another entry. Callers must
// [Segment.Unlock] it.
func (t *Table) Lock(h Hash) *Segment {
	for {
		s := t.dir.Load().at(h.a).Load()
		lock(&s.mu)
		if !s.replaced && !s.full() {
			return s
		}
		t.unlockFull(s)
	}
}

// LockBoth is [Table.Lock] for two hashes, which may be in the same segment. The entries of only
// one of them may be changed if they are. Callers must [UnlockBoth].
//
// Segments are locked in the order of their hashes, so that no two callers wait for each other.
func (t *Table) LockBoth(g, h Hash) (ofG, ofH *Segment) {
	if g.a > h.a {
		ofH, ofG = t.LockBoth(h, g)
		return ofG, ofH
	}
	ofG = t.Lock(g)
	if h.a>>(64-ofG.depth) == ofG.prefix {
		return ofG, ofG
	}
	defer func() {
		if ofH == nil { // an Expirer panics
			ofG.Unlock()
		}
	}()
	return ofG, t.Lock(h)
}

// UnlockBoth ends what [Table.LockBoth] began.
func UnlockBoth(s, other *Segment) {
	s.Unlock()
	if other != s {
		other.Unlock()
	}
}

func (t *Table) unlockFull(s *Segment) {
	defer s.mu.Unlock()
	if !s.replaced {
		t.replace(s, min(2*len(s.entries), churnSlots))
	}
}

// put makes the directory lead to s. It requires that t.mu is held.
func (t *Table) put(s *Segment) {
	d := t.dir.Load()
	if s.depth > d.depth {
		wider := newDirectory(d.depth + 1)
		for i := range wider.segments {
			wider.segments[i].Store(d.segments[i/2].Load())
		}
		t.dir.Store(wider)
		if d = wider; d.depth == t.firstDepth && d.depth > 2 {
			t.slab.divide(1 << (d.depth - 2)) // two to four for each processor
		}
	}
	shared := d.depth - s.depth // bits that s does not tell apart
	for i := s.prefix << shared; i < (s.prefix+1)<<shared; i++ {
		d.segments[i].Store(s)
	}
}
