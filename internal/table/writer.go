package table

import (
	"math"
	"sync/atomic"
)

// A Writer identifies who wrote the words of an entry, and can read them. The entry has its tag. A
// Writer's fields must not change after [Table.Join].
type Writer struct {
	Owner   Owner
	Expirer Expirer // of Owner's words; apart from it, because every slot that is swept needs it

	// Single reports that all states of the Writer have one word, which is never [Moved]. The
	// entries hold them. Other states are in the slab.
	Single bool

	tag  uint32
	uses atomic.Int64 // of Join and Use, and entries that are alive
}

// An Owner tells the Table what it cannot know of a Writer. The user of the Table implements it.
type Owner interface {
	// ID returns a comparable value, always the same. Owners of equal IDs may read each other's
	// words. It is nil for an Owner that is joined once and never left.
	ID() any

	// Clock returns the clock of the Expirer.
	Clock() Clock

	// Tags returns the tags of other Writers that a state contains. They stay in use with the
	// state. Single words contain none.
	Tags(state []uint64) []uint64
}

// An Expirer tells when words expire.
type Expirer interface {
	// Expiry returns the instant at which a state expires. The table may drop it from then on, but
	// not earlier. math.MaxInt64 stands for never.
	Expiry(state []uint64) int64
}

// A Clock reads the time in nanoseconds. It must be comparable: the table reads equal Clocks once
// for several entries.
type Clock interface{ Now() int64 }

// Tag identifies the Writer in the table that it joined, from the first Join to the last Leave and
// as long as it has entries.
func (w *Writer) Tag() uint64 { return uint64(w.tag) }

func (w *Writer) expired(state []uint64, now int64) bool {
	at := w.Expirer.Expiry(state)
	return at <= now && at < math.MaxInt64
}

// writers are those that use a table. It drops a writer that nobody uses and that has no entry,
// because writers may come and go for years. A tag can then be used again, because a caller that
// reads with a tag still uses its writer.
type writers struct {
	byTag atomic.Pointer[[]*Writer] // out of use where the tag is free
	free  []uint32                  // tags
	ids   identities
}

// identities are the Writers in use by their ID. Most tables have a single one, for which a map
// would take a sixth of all memory of a table with two keys.
type identities struct {
	single *Writer
	many   map[any]*Writer // in place of single, from the second on
}

func (ids *identities) find(id any) *Writer {
	if ids.many == nil && ids.single != nil && ids.single.Owner.ID() == id {
		return ids.single
	}
	return ids.many[id]
}

func (ids *identities) add(id any, w *Writer) {
	switch {
	case id == nil:
	case ids.many == nil && ids.single == nil:
		ids.single = w
	case ids.many == nil:
		ids.many = map[any]*Writer{ids.single.Owner.ID(): ids.single, id: w}
		ids.single = nil
	default:
		ids.many[id] = w
	}
}

func (ids *identities) remove(id any) {
	ids.single = nil
	delete(ids.many, id)
}

// Join gives w a tag, and returns w. If a Writer with the same ID is there already, it returns that
// one. Tags are counted from 1. Each Join must be followed by a [Table.Leave] when the Writer is no
// longer used. It fails if more than a million Writers are in use at a time.
func (t *Table) Join(w *Writer) (joined *Writer, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := w.Owner.ID()
	if known := t.writers.ids.find(id); known != nil {
		known.Use()
		return known, true
	}
	all := *t.writers.byTag.Load()
	if n := len(t.writers.free); n > 0 {
		w.tag = t.writers.free[n-1]
		t.writers.free = t.writers.free[:n-1]
		all[w.tag] = w // nobody reads this place: no entry bears the tag
	} else {
		if len(all) > tagMask {
			return nil, false
		}
		w.tag = uint32(len(all))
		all = append(all, w)
	}
	t.writers.byTag.Store(&all)
	t.writers.ids.add(id, w)
	w.Use()
	return w, true
}

// Use keeps w in use as long as the caller needs it. w must be in use already. A [Table.Leave] must
// follow.
func (w *Writer) Use() { w.uses.Add(1) }

// Leave ends a Join or a Use of w, or accounts for an entry of w that is gone. It frees the tag if
// that was the last.
func (t *Table) Leave(w *Writer) { t.leave(w, 1) }

func (t *Table) leave(w *Writer, uses int64) {
	if w.uses.Add(-uses) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := w.Owner.ID()
	if w.uses.Load() > 0 || t.writers.ids.find(id) != w { // it serves again, or another call has freed it
		return
	}
	t.writers.ids.remove(id)
	t.writers.free = append(t.writers.free, w.tag)
}

// Writers returns the number of Writers that have a tag.
func (t *Table) Writers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(*t.writers.byTag.Load()) - 1 - len(t.writers.free)
}

// Writer returns the Writer with a tag that is in use.
func (t *Table) Writer(tag uint64) *Writer { return (*t.writers.byTag.Load())[tag] }

// writer returns the Writer of an entry.
func (t *Table) writer(e *Entry) *Writer { return t.Writer(e.Tag()) }
