package weir

// decide decides under the lock of a segment: on keys that are new, where another policy wrote the
// state, and where others use it.
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
	e, former := s.lookup(h)
	switch {
	case e != nil && e.b.Load()&tagMask == sc.tag:
		return m.decideKnown(sc, e, r), decided
	case former == nil && s.full():
		m.replace(s, min(2*len(s.entries), churnSlots))
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
	now := r.Now()
	m.sweep(s, sweepOnNew, sc.clock, now)
	state := s.newState(max(sc.words, len(inherited)))
	copy(state, inherited)
	state, a := sc.decider.Decide(state, now, r.Ask)
	a.At = now
	if !changed(r.Ask, a) {
		return a, decided
	}
	if !m.reserve(h) {
		return Answer{}, noRoom
	}
	s.insert(h, former, m.keep(sc, state))
	sc.entries.Add(1)
	return a, decided
}

// changed tells whether an answer came with a new state.
func changed(ask Ask, a Answer) bool { return ask.N != 0 && a.Allowed }

// admit decides on one event for a key with a state of more than a word, if it is known.
func (m *memory) admit(sc *memScope, h hash) (granted, known bool) {
	e := m.find(h)
	if e == nil {
		return false, false
	}
	now := sc.clock.now()
	m.sweepOften(uint64(now))
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

// decideHeld decides on a state in the slab whose entry is held, and releases it.
func (m *memory) decideHeld(sc *memScope, e *entry, at ref, now int64, ask Ask) Answer {
	defer func() { e.release(at) }() // even if the Decider panics
	at, block := m.slab.withRoom(at, sc.words)
	state, a := sc.decider.Decide(block, now, ask)
	at = m.slab.update(at, block, state)
	a.At = now
	return a
}

// decideKnown decides on an entry that the scope, or one like it, wrote. It requires that the
// segment is locked.
func (m *memory) decideKnown(sc *memScope, e *entry, r Request) Answer {
	now := r.Now()
	if sc.word == nil {
		return m.decideHeld(sc, e, e.hold(), now, r.Ask)
	}
	for old := e.state.Load(); ; old = e.state.Load() {
		next, a := sc.word.DecideWord(old, now, r.Ask)
		if next == old || e.state.CompareAndSwap(old, next) {
			a.At = now
			return a
		}
	}
}

// decideCarried decides on an entry that another policy wrote, and if that changes it, replaces it
// by one of this policy. It requires that s is locked, and not full.
func (m *memory) decideCarried(sc *memScope, s *segment, e *entry, h hash, r Request) Answer {
	writer := m.writer(e)
	old := e.takeOut(writer) // no one else exchanges it from here on
	stays := true
	defer func() { // even if a policy panics
		if stays {
			e.state.Store(old)
		}
	}()
	now := r.Now()
	state, exact := Carry(writer.decider, sc.decider, m.words(writer, old), now)
	state, a := sc.decider.Decide(state, now, r.Ask)
	a.At = now
	if !exact && !changed(r.Ask, a) {
		a.Rounded = true
		return a
	}
	stays = false
	if writer.word == nil {
		m.slab.remove(old)
	}
	s.live--
	s.insert(h, nil, m.keep(sc, state))
	sc.entries.Add(1)
	m.lost(writer)
	return a
}

// peek returns the state of the entry h as the scope sees it: a new one if there is none.
func (m *memory) peek(sc *memScope, h hash) []uint64 {
	s := m.lock(h)
	defer s.mu.Unlock()
	state := make([]uint64, sc.words)
	if e, _ := s.lookup(h); e != nil {
		writer := m.writer(e)
		if writer.word != nil {
			state = m.words(writer, e.state.Load())
		} else {
			at := e.hold()
			state = m.words(writer, at)
			e.release(at)
		}
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
	m.sweep(s, n, nil, 0)
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
	if e, _ := s.lookup(h); e != nil {
		writer := m.writer(e)
		m.dropped(s, e, writer, e.takeOut(writer))
	}
}
