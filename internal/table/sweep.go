package table

import "time"

// sweepWhenFull is how many slots of its segment are looked at for expired entries when there is no
// room for a new key. The sweeper looks at others, and all are looked at in a segment that is
// replaced.
const sweepWhenFull = 32

// staysFor is how long an expired entry stays, in nanoseconds, if less than half of maxKeys are
// there: its key may come back. If more stayed, they could fill a table that has room, because a
// full table looks for them in a few slots only. A new key costs several times as much as a known
// one. When two processors asked for a million short-lived keys at random, at full speed, a key
// came back within 0.2 s on average.
const staysFor = int64(time.Second)

// SweepWhenFull drops expired entries of s, to make room for a new key. It requires that s is
// locked. If there still is no room, callers should [Table.SweepNext] when they have unlocked it.
func (t *Table) SweepWhenFull(s *Segment) {
	n := sweepWhenFull
	if t.firstDepth == 0 { // MaxKeys is so small that there is one segment
		n = len(s.entries)
	}
	t.sweep(s, n)
}

// sweep looks at the next n slots of s, and drops the entries that have expired. Of the others, it
// moves states to fuller pages. It returns how many entries it has left as they were, and how many
// not. It requires that s.mu is held.
func (t *Table) sweep(s *Segment, n int) (kept, changed int) {
	staysFor := staysFor
	if t.keys.Load() >= t.maxKeys/2 {
		staysFor = 0
	}
	var last *Writer
	var clock Clock
	var now int64
	gone := drops{table: t}
	defer gone.end() // even if an Expirer panics
	for range min(n, len(s.entries)) {
		e := &s.entries[s.hand]
		if s.hand++; s.hand == len(s.entries) {
			s.hand = 0
		}
		state := e.state.Load()
		if e.a.Load() == 0 || state == Moved {
			continue
		}
		w := t.writer(e)
		if w != last {
			last = w
			if c := w.Owner.Clock(); c != clock {
				clock, now = c, c.Now()
			}
		}
		switch t.sweepEntry(s, e, w, state, now-staysFor) {
		case state:
			kept++
		case Moved:
			gone.add(s, e, w, state)
			fallthrough
		default:
			changed++
		}
	}
	return kept, changed
}

// sweepEntry returns the state that it leaves an entry with: [Moved] if it has expired by now,
// unless somebody needs it.
func (t *Table) sweepEntry(s *Segment, e *Entry, w *Writer, state uint64, now int64) (left uint64) {
	if w.Single {
		words := s.NewState(1)
		words[0] = state
		if w.expired(words, now) && e.state.CompareAndSwap(state, Moved) {
			return Moved
		}
		return state
	}
	if state&busy != 0 || !e.state.CompareAndSwap(state, state|busy) {
		return state
	}
	left = state
	defer func() { e.Release(left) }() // even if the Expirer panics
	if w.expired(t.slab.get(state), now) {
		left = Moved
	} else {
		left = t.slab.pack(state)
	}
	return left
}

// tooDeep reports whether the directory would have more than one place for every two entries if s
// were divided. Chance makes no segment that deep. The hashes of s then do not come from secret
// seeds, and dividing s might never end. s grows instead.
func (t *Table) tooDeep(s *Segment) bool { return 4<<s.depth > t.keys.Load()+t.overflows.Load() }

// replace puts one segment, or two, in the place of s: with room for more, and without the entries
// that have expired. If few are left it has as many slots as churn, at least. A table in which keys
// come and go divides, too, until there are segments for all processors. It requires that s.mu is
// held.
func (t *Table) replace(s *Segment, churn int) {
	t.sweep(s, len(s.entries))
	slots, bits := 2*s.live, uint(0)
	if s.live > maxSlots*5/8 && !t.tooDeep(s) || churn == churnSlots && s.depth < t.firstDepth {
		bits = 1
	}
	if slots < len(s.entries) || bits == 1 {
		slots = max(slots, churn)
	}
	// All entries may go to one of two heirs. It needs an empty slot all the same: Find ends there.
	heirs := newSegments(1<<bits, slots>>bits+int(bits), s.prefix<<bits, s.depth+bits)
	for i := range s.entries {
		e := &s.entries[i]
		h := e.Hash()
		if h.a == 0 || e.state.Load() == Moved { // its tag may be that of another writer now
			continue
		}
		if state := e.takeOut(t.writer(e)); state != Moved {
			heirs[h.a<<s.depth>>(64-bits)].fill(h, state)
		}
	}
	s.replaced = true
	lock(&t.mu)
	defer t.mu.Unlock()
	for i := range heirs {
		t.put(&heirs[i])
	}
}
