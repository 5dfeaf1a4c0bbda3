package weir

import "math"

// How many slots are looked at for entries that are as good as new, beside those of a segment that
// is replaced, which are all looked at. A key that comes back after it was dropped costs more than
// one that is still there; so as long as there is room, few are dropped: less than one for each
// that comes.
const (
	sweepOnNew    = 1             // when a new key comes, in its segment
	sweepWhenFull = 32            // when there is no room for it,
	sweepFirst    = 4 * firstKeys // or all, if MaxKeys is so small that there is one segment
	sweepNow      = 16            // after one of 1024 changes, in any segment
)

// sweep looks at the next n slots of s, and drops entries that are as good as new; now is what clock
// tells, if it was read. It requires that s.mu is held.
func (m *memory) sweep(s *segment, n int, clock *nanoClock, now int64) {
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
		if writer.word != nil {
			if writer.expired(m, s, state, now) && e.state.CompareAndSwap(state, moved) {
				m.dropped(s, e, writer, state)
			}
			continue
		}
		if state&busy != 0 || !e.state.CompareAndSwap(state, state|busy) {
			continue // somebody needs it
		}
		if m.expiredHeld(s, e, writer, state, now) {
			m.dropped(s, e, writer, state)
		}
	}
}

// expiredHeld is expired for an entry that is held, and releases it: as one that counts no more if it has.
func (m *memory) expiredHeld(s *segment, e *entry, writer *writer, state uint64, now int64) (expired bool) {
	left := state
	defer func() { e.release(left) }() // even if the Decider panics
	if expired = writer.expired(m, s, state, now); expired {
		left = moved
	}
	return expired
}

// expired tells whether the state of an entry is as good as new at now.
func (w *writer) expired(m *memory, s *segment, state uint64, now int64) bool {
	words := s.word[:]
	if w.word != nil {
		words[0] = state
	} else {
		words = m.slab.get(state)
	}
	at := w.decider.Expiry(words)
	return at <= now && at < math.MaxInt64
}

// dropped accounts for an entry that was moved to nowhere. It requires that s.mu is held.
func (m *memory) dropped(s *segment, e *entry, writer *writer, state uint64) {
	if writer.word == nil {
		m.slab.remove(state)
	}
	m.lost(writer)
	s.live--
	if (hash{b: e.b.Load()}).isOverflow() {
		m.overflows.Add(-1)
	} else {
		m.keys.Add(-1)
	}
}

// sweepOften is called with each change of a word, and each decision on a state in the slab, by someone who holds nothing. For one of 1024 numbers that
// follow each other, however they differ, it sweeps.
func (m *memory) sweepOften(x uint64) {
	if x*0x9e3779b97f4a7c15>>54 == 0 {
		m.sweepSome()
	}
}

// sweepSome sweeps a few slots of some segment, another each time. It gives up where it would have
// to wait.
func (m *memory) sweepSome() {
	d := m.dir.Load()
	s := d.segments[m.swept.Add(1)%uint64(len(d.segments))].Load()
	if s == nil || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if s.replaced {
		return
	}
	m.sweep(s, sweepNow, nil, 0)
	if len(s.entries) > minSlots && s.live < len(s.entries)/8 {
		m.replace(s, 0)
	}
}

// replace puts one segment, or two, in the place of s: with room for more, and without the entries
// that are as good as new. If few are left it has as many slots as churn, at least. It requires that
// s.mu is held.
func (m *memory) replace(s *segment, churn int) {
	m.sweep(s, len(s.entries), nil, 0)
	var heirs []segment
	switch slots := 2 * s.live; {
	case s.live > maxSlots*5/8:
		heirs = newSegments(2, s.live, s.prefix<<1, s.depth+1)
	case slots < len(s.entries):
		heirs = newSegments(1, max(slots, churn), s.prefix, s.depth)
	default:
		heirs = newSegments(1, slots, s.prefix, s.depth)
	}
	for i := range s.entries {
		e := &s.entries[i]
		h := hash{e.a.Load(), e.b.Load()}
		if h.a == 0 {
			continue
		}
		if state := e.takeOut(m.writer(e)); state != moved {
			heir := &heirs[0]
			if len(heirs) == 2 {
				heir = &heirs[h.a>>(63-s.depth)&1]
			}
			heir.fill(h, state)
		}
	}
	s.replaced = true
	lock(&m.mu)
	defer m.mu.Unlock()
	for i := range heirs {
		m.put(&heirs[i])
	}
}
