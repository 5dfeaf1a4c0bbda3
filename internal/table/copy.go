package table

import (
	"iter"
	"math/bits"
)

// A Copy is what an entry held at an instant.
type Copy struct {
	Hash Hash
	Content
	Of []*Writer // those of the tags in Words, in their order
}

// All returns the entries that have not expired. Callers need no lock, and may take their time with
// each entry. Other callers of the table are hardly delayed: a segment is locked only while its
// hashes are listed, 6,239 at most, and while an entry is copied.
//
// If an entry is there all the time, the sequence has one state of it, which the entry had while
// the sequence was read. An entry that comes or goes meanwhile may be in it or not.
//
// The sequence goes through the directory in the order of its numbers with their bits read
// backwards: 0, a half, a quarter, three quarters. At any point, the hashes so far are spread
// evenly, except where the table has grown since the sequence began. A table that is filled with
// them thus has no segment that is [Table.tooDeep], unless tens of millions of entries came in that
// time.
func (t *Table) All() iter.Seq[Copy] {
	return func(yield func(Copy) bool) {
		var hashes []Hash
		depth := t.dir.Load().depth
		for i := range uint64(1) << depth {
			from := bits.Reverse64(i)
			last := lastLike(from, depth)
			for more := true; more; {
				hashes, from, more = t.list(hashes[:0], from, last)
				for _, h := range hashes { // they may be in other segments by now
					if c, ok := t.copy(h); ok && !yield(c) {
						return
					}
				}
			}
		}
	}
}

// list appends the hashes, from one up to another, that are in the segment of the first. If there
// may be more, it returns the first that is in another segment.
func (t *Table) list(hashes []Hash, from, last uint64) (_ []Hash, next uint64, more bool) {
	s := t.Lock(Hash{a: from})
	defer s.Unlock()
	for i := range s.entries {
		e := &s.entries[i]
		if a := e.a.Load(); from <= a && a <= last && a != 0 && e.state.Load() != Moved {
			hashes = append(hashes, e.Hash())
		}
	}
	end := lastLike(from, s.depth)
	return hashes, end + 1, end < last
}

// lastLike returns the last hash of which the first bits, as many as depth, are those of a.
func lastLike(a uint64, depth uint) uint64 { return a | (1<<(64-depth) - 1) }

// copy returns what the entry of h holds, if it is there and has not expired.
func (t *Table) copy(h Hash) (c Copy, ok bool) {
	s := t.Lock(h)
	defer s.Unlock()
	e := s.Lookup(h)
	if e == nil {
		return c, false
	}
	t.Change(s, e, func(of Content) (Content, bool) {
		if ok = !of.By.expired(of.Words, of.By.Owner.Clock().Now()); ok {
			c = Copy{Hash: e.Hash(), Content: of}
			for _, tag := range of.By.Owner.Tags(of.Words) { // they are in use as long as e has them
				c.Of = append(c.Of, t.Writer(tag))
			}
		}
		return of, false
	})
	return c, ok
}

// Restore makes an entry for h with a copy of c, unless c has expired. It fails if there is one, or
// if too many hashes begin alike. It makes entries above the bound of keys, too. The table is full
// then until enough have expired.
func (t *Table) Restore(h Hash, c Content) bool {
	s := t.Lock(h)
	defer s.Unlock()
	switch {
	case s.Lookup(h) != nil, s.live > 2*maxSlots: // segments of true hashes divide long before
		return false
	case c.By.expired(c.Words, c.By.Owner.Clock().Now()):
		return true
	case h.IsOverflow():
		t.overflows.Add(1)
	default:
		t.keys.Add(1)
	}
	s.insert(h.by(c.By.Tag()), t.keep(h, c))
	return true
}

// OverflowDepth returns how many first bits are equal in the hashes of keys that share an entry.
func (t *Table) OverflowDepth() uint { return t.overflowDepth }

// SetOverflowDepth makes a table find the overflow entries that a table of that depth had. It must
// be called before others use the table.
func (t *Table) SetOverflowDepth(bits uint) { t.overflowDepth = bits }
