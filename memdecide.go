package weir

import "github.com/weir-go/weir/internal/table"

// decide decides under the lock of a segment: on keys that are new, where another policy wrote the
// state, and where others use it.
func (m *memory) decide(sc *memScope, h table.Hash, r Request) Answer {
	for {
		var inherited Ledger // what is left of the state that new keys shared while memory was full
		inherits := m.Overflows() && !h.IsOverflow() && !m.Full()
		if inherits {
			inherited = m.peek(sc.overflow(h))
		}
		if a, ok := m.tryDecide(sc, h, inherited, inherits, r); ok {
			m.SweepOften(h, a.At)
			return a
		}
		if m.Full() {
			m.SweepNext()
			h = sc.overflow(h)
		}
	}
}

// tryDecide decides on the entry h, and makes it if need be, from what it inherits. It fails if
// there is no room for that, or if it is not yet known what it inherits.
func (m *memory) tryDecide(sc *memScope, h table.Hash, inherited Ledger, inherits bool, r Request) (a Answer, ok bool) {
	s := m.Lock(h)
	defer s.Unlock()
	e := s.Lookup(h)
	switch {
	case e != nil && e.Tag() == sc.Tag():
		return m.decideKnown(sc, e, r), true
	case e != nil:
		return m.decideChanged(sc, s, e, r), true
	case h.IsOverflow():
	case m.Full():
		m.SweepWhenFull(s)
		return a, false
	case m.Overflows() && !inherits:
		return a, false
	}
	now := r.Now()
	if len(inherited.By) > 0 {
		return m.decideInherited(sc, s, h, inherited, now, r.Ask)
	}
	state := s.NewState(sc.words)
	if sc.word != nil {
		state[0], a = sc.word.DecideWord(0, now, r.Ask)
	} else {
		state, a = sc.decider.Decide(state, now, r.Ask)
	}
	a.At = now
	if !changed(r.Ask, a) {
		return a, true
	}
	return a, m.Add(s, h, table.Content{By: &sc.Writer, Words: state})
}

// changed reports whether an answer came with a new state.
func changed(ask Ask, a Answer) bool { return ask.N != 0 && a.Allowed }

// admit decides on one event for a key with a state of more than a word, if it is known.
func (m *memory) admit(sc *memScope, h table.Hash) (granted, known bool) {
	e := m.Find(h)
	if e == nil {
		return false, false
	}
	now := sc.clock.now()
	m.SweepOften(h, now)
	at, ok := e.TryHold()
	if !ok {
		return false, false
	}
	defer func() { e.Release(at) }() // even if a policy panics, as part of a composed one may
	at, block := m.WithRoom(at, sc.words)
	state, granted := sc.admit.admit(block, now)
	at = m.Update(at, block, state)
	return granted, true
}

// decideKnown decides on an entry that the scope, or one like it, wrote. It requires that the
// segment is locked.
func (m *memory) decideKnown(sc *memScope, e *table.Entry, r Request) Answer {
	now := r.Now()
	if sc.word == nil {
		return m.decideHeld(sc, e, e.Hold(), now, r.Ask)
	}
	for {
		old := e.Load()
		next, a := sc.word.DecideWord(old, now, r.Ask)
		if next == old || e.CompareAndSwap(old, next) {
			a.At = now
			return a
		}
	}
}

// decideHeld decides on a state in the slab whose entry is held, and releases it.
func (m *memory) decideHeld(sc *memScope, e *table.Entry, at table.Ref, now int64, ask Ask) Answer {
	defer func() { e.Release(at) }() // even if the Decider panics
	at, block := m.WithRoom(at, sc.words)
	state, a := sc.decider.Decide(block, now, ask)
	at = m.Update(at, block, state)
	a.At = now
	return a
}
