package weir

// decide decides under the lock of a segment: on keys that are new, where another policy wrote the
// state, and where others use it.
func (m *memory) decide(sc *memScope, h hash, r Request) Answer {
	for {
		var inherited Ledger // what is left of the state that new keys shared while memory was full
		inherits := m.overflows.Load() > 0 && !h.isOverflow() && !m.full()
		if inherits {
			inherited = m.peek(sc.overflow(h))
		}
		if a, ok := m.tryDecide(sc, h, inherited, inherits, r); ok {
			m.sweepOften(h, a.At)
			return a
		}
		if m.full() {
			m.sweepSome(0, slotsUsual, 0) // so that there is room soon
			h = sc.overflow(h)
		}
	}
}

// full reports whether there is no room for a new key.
func (m *memory) full() bool { return m.keys.Load() >= m.maxKeys }

// tryDecide decides on the entry h, and makes it if need be, from what it inherits. It fails if
// there is no room for that, or if it is not yet known what it inherits.
func (m *memory) tryDecide(sc *memScope, h hash, inherited Ledger, inherits bool, r Request) (a Answer, ok bool) {
	s := m.lock(h)
	defer s.mu.Unlock()
	e := s.lookup(h)
	switch {
	case e != nil && e.b.Load()&tagMask == sc.tag:
		return m.decideKnown(sc, e, r), true
	case e != nil:
		return m.decideChanged(sc, s, e, h, r), true
	case h.isOverflow():
	case m.full():
		n := sweepWhenFull
		if m.firstDepth == 0 { // MaxKeys is so small that there is one segment
			n = len(s.entries)
		}
		m.sweep(s, n, 0)
		return a, false
	case m.overflows.Load() > 0 && !inherits:
		return a, false
	}
	now := r.Now()
	if len(inherited.By) > 0 {
		return m.decideInherited(sc, s, h, inherited, now, r.Ask)
	}
	state := s.newState(sc.words)
	if sc.word != nil {
		state[0], a = sc.word.DecideWord(0, now, r.Ask)
	} else {
		state, a = sc.decider.Decide(state, now, r.Ask)
	}
	a.At = now
	if !changed(r.Ask, a) {
		return a, true
	}
	if !m.reserve(h) {
		return a, false
	}
	s.insert(h, m.keep(sc.writer, state))
	return a, true
}

// changed reports whether an answer came with a new state.
func changed(ask Ask, a Answer) bool { return ask.N != 0 && a.Allowed }

// admit decides on one event for a key with a state of more than a word, if it is known.
func (m *memory) admit(sc *memScope, h hash) (granted, known bool) {
	e := m.find(h)
	if e == nil {
		return false, false
	}
	now := sc.clock.now()
	m.sweepOften(h, now)
	at, ok := e.tryHold()
	if !ok {
		return false, false
	}
	defer func() { e.release(at) }() // even if a policy panics, as part of a composed one may
	at, block := m.slab.withRoom(at, sc.words)
	state, granted := sc.admit.admit(block, now)
	at = m.slab.update(at, block, state)
	return granted, true
}

// decideKnown decides on an entry that the scope, or one like it, wrote. It requires that the
// segment is locked.
func (m *memory) decideKnown(sc *memScope, e *entry, r Request) Answer {
	now := r.Now()
	if sc.word == nil {
		return m.decideHeld(sc, e, e.hold(), now, r.Ask)
	}
	for {
		old := e.state.Load()
		next, a := sc.word.DecideWord(old, now, r.Ask)
		if next == old || e.state.CompareAndSwap(old, next) {
			a.At = now
			return a
		}
	}
}

// decideHeld decides on a state in the slab whose entry is held, and releases it.
func (m *memory) decideHeld(sc *memScope, e *entry, at ref, now int64, ask Ask) Answer {
	defer func() { e.release(at) }() // even if the Decider panics
	at, block := m.slab.withRoom(at, sc.words)
	state, a := sc.decider.Decide(block, now, ask)
	at = m.slab.update(at, block, state)
	a.At = now
	return a
}

// words is a copy of the state that an entry of the writer refers to.
func (m *memory) words(writer *writer, state uint64) []uint64 {
	if writer.word != nil {
		return []uint64{state}
	}
	return append([]uint64(nil), m.slab.get(state)...)
}

// keep returns the word that stands for state in a new entry of the writer.
func (m *memory) keep(w *writer, state []uint64) uint64 {
	w.uses.Add(1)
	if w.word != nil {
		return state[0]
	}
	return m.slab.add(state)
}

// reserve counts a new entry, if there still is room for it.
func (m *memory) reserve(h hash) bool {
	if h.isOverflow() {
		m.overflows.Add(1)
		return true
	}
	if m.keys.Add(1) > m.maxKeys {
		m.keys.Add(-1)
		return false
	}
	return true
}

// forget drops the entry of h, whoever wrote it.
func (m *memory) forget(h hash) {
	s := m.lock(h)
	defer s.mu.Unlock()
	if e := s.lookup(h); e != nil {
		writer := m.writer(e)
		m.dropped(s, e, writer, e.takeOut(writer))
	}
}
