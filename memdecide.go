package weir

// decide decides under a lock: on keys that are new, on states of more than a word, and where
// another policy wrote the state.
func (m *memory) decide(sc *memScope, h hash, r Request) Answer {
	var inherited []uint64
	for {
		a, next := m.tryDecide(sc, h, inherited, r)
		switch next {
		case decided:
			return a
		case mayInherit:
			inherited = m.peek(sc, sc.overflow(h))
		case noRoom:
			m.sweepSome() // so that there is room soon
			h = sc.overflow(h)
		}
	}
}

// What a try to decide came to.
type outcome int

const (
	decided    outcome = iota
	again              // the segment was replaced meanwhile
	mayInherit         // the key is new, and others that are share a state
	noRoom             // the key is new, and memory is full
)

// tryDecide decides on the entry h, and makes it if need be, from the inherited state if there is
// one.
func (m *memory) tryDecide(sc *memScope, h hash, inherited []uint64, r Request) (Answer, outcome) {
	s := m.lock(h)
	defer s.mu.Unlock()
	e := s.lookup(h)
	switch {
	case e != nil && e.b.Load()&tagMask == sc.tag:
		return m.decideKnown(sc, e, r), decided
	case s.full():
		m.replace(s)
		return Answer{}, again
	case e != nil:
		return m.decideCarried(sc, s, e, h, r), decided
	case h.isOverflow():
		inherited = nil
	case !m.hasRoom(s):
		return Answer{}, noRoom
	case inherited == nil && m.overflows.Load() > 0:
		return Answer{}, mayInherit
	}
	m.sweep(s, sweepOnNew)
	state := s.newState(max(sc.words, len(inherited)))
	copy(state, inherited)
	now := r.Now()
	state, a := sc.decider.Decide(state, now, r.Ask)
	a.At = now
	if !changed(r.Ask, a) {
		return a, decided
	}
	if !m.reserve(h) {
		return Answer{}, noRoom
	}
	s.insert(h, m.keep(sc, state))
	sc.entries.Add(1)
	return a, decided
}

// changed tells whether an answer came with a new state.
func changed(ask Ask, a Answer) bool { return ask.N != 0 && a.Allowed }

// admit decides on one event for a key with a state of more than a word, if it is known.
func (m *memory) admit(sc *memScope, h hash) (granted, known bool) {
	s := m.lock(h)
	defer s.mu.Unlock()
	e := s.lookup(h)
	if e == nil || e.b.Load()&tagMask != sc.tag {
		return false, false
	}
	at := m.slab.withRoom(e.state.Load(), sc.words)
	state, granted := sc.admit.admit(m.slab.get(at), sc.clock.now())
	e.state.Store(m.slab.update(at, state))
	return granted, true
}

// decideKnown decides on an entry that the scope, or one like it, wrote. It requires that the
// segment is locked.
func (m *memory) decideKnown(sc *memScope, e *entry, r Request) Answer {
	old, now := e.state.Load(), r.Now()
	if sc.word == nil {
		at := m.slab.withRoom(old, sc.words)
		state, a := sc.decider.Decide(m.slab.get(at), now, r.Ask)
		e.state.Store(m.slab.update(at, state))
		a.At = now
		return a
	}
	for {
		next, a := sc.word.DecideWord(old, now, r.Ask)
		if next == old || e.state.CompareAndSwap(old, next) {
			a.At = now
			return a
		}
		old = e.state.Load()
	}
}

// decideCarried decides on an entry that another policy wrote, and if that changes it, replaces it
// by one of this policy. It requires that s is locked, and not full.
func (m *memory) decideCarried(sc *memScope, s *segment, e *entry, h hash, r Request) Answer {
	writer := m.writer(e)
	old := e.state.Swap(moved) // no one else exchanges it from here on
	now := r.Now()
	state, exact := Carry(writer.decider, sc.decider, m.words(writer, old), now)
	state, a := sc.decider.Decide(state, now, r.Ask)
	a.At = now
	if !exact && !changed(r.Ask, a) {
		e.state.Store(old)
		return a
	}
	if writer.word == nil {
		m.slab.remove(old)
	}
	s.live--
	s.insert(h, m.keep(sc, state))
	sc.entries.Add(1)
	m.lost(writer)
	return a
}

// peek returns the state of the entry h as the scope sees it: a new one if there is none.
func (m *memory) peek(sc *memScope, h hash) []uint64 {
	s := m.lock(h)
	defer s.mu.Unlock()
	state := make([]uint64, sc.words)
	if e := s.lookup(h); e != nil {
		writer := m.writer(e)
		state = m.words(writer, e.state.Load())
		if writer.tag != sc.tag {
			state, _ = Carry(writer.decider, sc.decider, state, sc.clock.now())
		}
	}
	return state
}

// words is a copy of the state that an entry of the writer refers to.
func (m *memory) words(writer *writer, state uint64) []uint64 {
	if writer.word != nil {
		return []uint64{state}
	}
	return append([]uint64(nil), m.slab.get(state)...)
}

// keep returns the word that stands for state in an entry of the scope.
func (m *memory) keep(sc *memScope, state []uint64) uint64 {
	if sc.word != nil {
		return state[0]
	}
	return m.slab.add(state, false)
}

// hasRoom tells whether there is room for a new entry, after having dropped some that are as good as
// new if need be. It requires that s is locked.
func (m *memory) hasRoom(s *segment) bool {
	if m.keys.Load() < m.maxKeys {
		return true
	}
	n := sweepWhenFull
	if m.firstDepth == 0 {
		n = sweepFirst
	}
	m.sweep(s, n)
	return m.keys.Load() < m.maxKeys
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
		if state := e.state.Swap(moved); state != moved {
			m.dropped(s, e, m.writer(e), state)
		}
	}
}
