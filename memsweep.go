package weir

import "math"

// sweepWhenFull is how many slots of its segment are looked at for expired entries when there is no room
// for a new key. The sweeper looks at others, and all are looked at in a segment that is replaced.
const sweepWhenFull = 32

// sweep looks at the next n slots of s, and drops the entries that expired at least unused nanoseconds
// ago. Of the others, it moves states to fuller pages. It returns how many entries it has left as they
// were, and how many not. It requires that s.mu is held.
func (m *memory) sweep(s *segment, n int, unused int64) (kept, changed int) {
	var clock *nanoClock
	var now int64
	for range min(n, len(s.entries)) {
		e := &s.entries[s.hand]
		if s.hand++; s.hand == len(s.entries) {
			s.hand = 0
		}
		state := e.state.Load()
		if e.a.Load() == 0 || state == moved {
			continue
		}
		writer := m.writer(e)
		if writer.clock != clock {
			clock, now = writer.clock, writer.clock.now()
		}
		switch m.sweepEntry(s, e, writer, state, now-unused) {
		case state:
			kept++
		case moved:
			m.dropped(s, e, writer, state)
			fallthrough
		default:
			changed++
		}
	}
	return kept, changed
}

// sweepEntry returns the state that it leaves an entry with: moved if it has expired by now, unless
// somebody needs it.
func (m *memory) sweepEntry(s *segment, e *entry, w *writer, state uint64, now int64) (left uint64) {
	if w.word != nil {
		words := s.newState(1)
		words[0] = state
		if w.expired(words, now) && e.state.CompareAndSwap(state, moved) {
			return moved
		}
		return state
	}
	if state&busy != 0 || !e.state.CompareAndSwap(state, state|busy) {
		return state
	}
	left = state
	defer func() { e.release(left) }() // even if the Decider panics
	if w.expired(m.slab.get(state), now) {
		left = moved
	} else {
		left = m.slab.pack(state)
	}
	return left
}

func (w *writer) expired(state []uint64, now int64) bool {
	at := w.decider.Expiry(state)
	return at <= now && at < math.MaxInt64
}

// dropped accounts for an entry that was moved to nowhere. It requires that s.mu is held.
func (m *memory) dropped(s *segment, e *entry, writer *writer, state uint64) {
	m.release(writer, state)
	s.live--
	if (hash{b: e.b.Load()}).isOverflow() {
		m.overflows.Add(-1)
	} else {
		m.keys.Add(-1)
	}
}

// replace puts one segment, or two, in the place of s: with room for more, and without the entries
// that have expired. If few are left it has as many slots as churn, at least. A table in which keys come and
// go divides, too, until there are segments for all processors. It requires that s.mu is held.
func (m *memory) replace(s *segment, churn int) {
	m.sweep(s, len(s.entries), 0)
	slots, bits := 2*s.live, uint(0)
	if s.live > maxSlots*5/8 || churn == churnSlots && s.depth < m.firstDepth {
		bits = 1
	}
	if slots < len(s.entries) || bits == 1 {
		slots = max(slots, churn)
	}
	heirs := newSegments(1<<bits, slots>>bits, s.prefix<<bits, s.depth+bits)
	for i := range s.entries {
		e := &s.entries[i]
		h := hash{e.a.Load(), e.b.Load()}
		if h.a == 0 {
			continue
		}
		if state := e.takeOut(m.writer(e)); state != moved {
			heirs[h.a<<s.depth>>(64-bits)].fill(h, state)
		}
	}
	s.replaced = true
	lock(&m.mu)
	defer m.mu.Unlock()
	for i := range heirs {
		m.put(&heirs[i])
	}
}
