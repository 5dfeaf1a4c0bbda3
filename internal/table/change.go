package table

// The functions here that change an entry require that the caller has locked its segment.

// A Content is what an entry holds: the words of a state, and who wrote them.
type Content struct {
	By    *Writer
	Words []uint64
}

// Add makes an entry for h, which has none yet, with a copy of c. It fails if there is no room for
// it. It requires that s is locked, and not full.
func (t *Table) Add(s *Segment, h Hash, c Content) bool {
	if !t.reserve(h) {
		return false
	}
	s.insert(h.by(c.By.Tag()), t.keep(h, c))
	return true
}

// Change calls f with a copy of what e holds. Until f returns, no other caller changes e: callers
// wait for s. If f returns changed, e holds a copy of next instead, or is dropped if next is the
// zero Content. If f panics, e stays as it was. It requires that s is locked, and not full.
func (t *Table) Change(s *Segment, e *Entry, f func(Content) (next Content, changed bool)) {
	w := t.writer(e)
	old := e.takeOut(w)
	left := old
	defer func() { e.state.Store(left) }() // even if f panics
	next, changed := f(Content{w, t.words(w, old)})
	switch {
	case !changed:
	case next.By == nil:
		left = Moved
		t.dropped(s, e, w, old)
	default:
		state := t.keep(e.Hash(), next)
		t.free(w, old)
		t.Leave(w)
		if next.By == w {
			left = state
			return
		}
		left = Moved
		s.live--
		s.insert(e.Hash().by(next.By.Tag()), state)
	}
}

// Forget drops the entry of h, whoever wrote it.
func (t *Table) Forget(h Hash) {
	s := t.Lock(h)
	defer s.Unlock()
	if e := s.Lookup(h); e != nil {
		w := t.writer(e)
		t.dropped(s, e, w, e.takeOut(w))
	}
}

// words is a copy of the words that an entry of w refers to.
func (t *Table) words(w *Writer, state uint64) []uint64 {
	if w.Single {
		return []uint64{state}
	}
	return append([]uint64(nil), t.slab.get(state)...)
}

// keep returns the word that stands for c in a new entry of h.
func (t *Table) keep(h Hash, c Content) uint64 {
	c.By.Use()
	if c.By.Single {
		return c.Words[0]
	}
	for _, tag := range c.By.Owner.Tags(c.Words) {
		t.Writer(tag).Use()
	}
	return t.slab.add(h, c.Words)
}

// free frees what a removed entry of w referred to, except w itself.
func (t *Table) free(w *Writer, state uint64) {
	if w.Single {
		return
	}
	for _, tag := range w.Owner.Tags(t.slab.get(state)) {
		t.Leave(t.Writer(tag))
	}
	t.slab.remove(state)
}

// dropped accounts for an entry that was moved to nowhere. It requires that s.mu is held.
func (t *Table) dropped(s *Segment, e *Entry, w *Writer, state uint64) {
	d := drops{table: t}
	d.add(s, e, w, state)
	d.end()
}

// drops are entries that were moved to nowhere. Those of one writer are counted together, because
// all processors write these counts.
type drops struct {
	table *Table
	by    *Writer
	n     int64 // entries of by
	keys  int64 // of these, those that count towards maxKeys
}

// add accounts for an entry. It requires that s.mu is held, and that end is called before s.mu is
// unlocked.
func (d *drops) add(s *Segment, e *Entry, w *Writer, state uint64) {
	if d.by != w {
		d.end()
		d.by = w
	}
	d.n++
	s.live--
	if e.Hash().IsOverflow() {
		d.table.overflows.Add(-1)
	} else {
		d.keys++
	}
	d.table.free(w, state)
}

func (d *drops) end() {
	if d.n > 0 {
		d.table.keys.Add(-d.keys)
		d.table.leave(d.by, d.n)
		d.n, d.keys = 0, 0
	}
}
