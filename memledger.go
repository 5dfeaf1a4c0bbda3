package weir

import "math"

// A key that several policies have asked has a Ledger in place of a state. Its entry has the tag of
// one writer that is no policy, so that nobody finds it who asks without the segment's lock. In the
// slab are how many writers the ledger has, their tags, and its words.

// ledgerTag is the tag of all entries with a ledger.
const ledgerTag = 0

// ledgers is the writer of entries with a ledger. It knows when they expire, and that they are in
// the slab. No limiter has it, so it need not decide.
type ledgers struct {
	Decider // nil
	*memory
}

// needLedgers makes their writer, before the first. Most stores never need it.
func (m *memory) needLedgers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := &(*m.scopes.writers.Load())[ledgerTag]; *w == nil {
		*w = &writer{tag: ledgerTag, clock: new(nanoClock), decider: ledgers{memory: m}}
	}
}

// Expiry implements [Decider]. It is either 0 or never, because the clock of a ledger's limiters
// may differ from that of the caller.
func (d ledgers) Expiry(state []uint64) int64 {
	l := d.read(state)
	if at := l.Expiry(); at == math.MaxInt64 || at > d.writerBy(l.By[0].Tag).clock.now() {
		return math.MaxInt64
	}
	return 0
}

func (m *memory) writerBy(tag uint64) *writer { return (*m.scopes.writers.Load())[tag] }

func (w *writer) rule() Rule { return Rule{w.policy, w.decider, w.tag} }

// read takes apart what write has made.
func (m *memory) read(words []uint64) Ledger {
	l := Ledger{By: make([]Rule, words[0])}
	for i := range l.By {
		l.By[i] = m.writerBy(words[1+i]).rule()
	}
	l.Words = append([]uint64(nil), words[1+len(l.By):]...)
	return l
}

// ledger is what a writer has left, as a Ledger.
func (m *memory) ledger(w *writer, state uint64) Ledger {
	words := m.words(w, state)
	if w.tag == ledgerTag {
		return m.read(words)
	}
	return Ledger{By: []Rule{w.rule()}, Plain: true, Words: words}
}

// write keeps a Ledger, and returns the state of its entry, and the tag.
func (m *memory) write(l Ledger) (state, tag uint64) {
	if l.Plain {
		w := m.writerBy(l.By[0].Tag)
		return m.keep(w, l.Words), w.tag
	}
	m.needLedgers()
	words := []uint64{uint64(len(l.By))}
	for _, by := range l.By {
		m.writerBy(by.Tag).uses.Add(1)
		words = append(words, by.Tag)
	}
	return m.slab.add(append(words, l.Words...)), ledgerTag
}

// release frees what an entry referred to that is no more.
func (m *memory) release(w *writer, state uint64) {
	if w.tag == ledgerTag {
		for _, by := range m.read(m.slab.get(state)).By {
			m.lost(m.writerBy(by.Tag))
		}
	}
	if w.word == nil {
		m.slab.remove(state)
	}
	if w.tag != ledgerTag {
		m.lost(w)
	}
}

// decideChanged decides on an entry that another policy wrote, or several. It requires that s is
// locked, and not full.
func (m *memory) decideChanged(sc *memScope, s *segment, e *entry, h hash, r Request) Answer {
	writer := m.writer(e)
	old := e.takeOut(writer) // no one else exchanges it from here on
	left := old
	defer func() { e.state.Store(left) }() // even if a policy panics
	now := r.Now()
	next, a, changed, err := m.ledger(writer, old).Decide(sc.rule(), now, r.Ask)
	a.At = now
	if err != nil || !changed {
		return a
	}
	if len(next.By) == 0 {
		left = moved
		m.dropped(s, e, writer, old)
		return a
	}
	state, tag := m.write(next)
	m.release(writer, old)
	if tag == writer.tag {
		left = state
		return a
	}
	left = moved
	s.live--
	s.insert(h.by(tag), state)
	return a
}

// decideInherited decides on a new key that starts with what is left of the state which keys shared
// while memory was full. It requires that s is locked, and not full.
func (m *memory) decideInherited(sc *memScope, s *segment, h hash, from Ledger, now int64, ask Ask) (Answer, bool) {
	next, a, _, err := from.Decide(sc.rule(), now, ask)
	a.At = now
	if err != nil || !changed(ask, a) || len(next.By) == 0 {
		return a, true
	}
	if !m.reserve(h) {
		return a, false
	}
	state, tag := m.write(next)
	s.insert(h.by(tag), state)
	return a, true
}

// by is h with another tag.
func (h hash) by(tag uint64) hash { return hash{h.a, h.b&^tagMask | tag} }

// peek returns what the entry h has, or the zero Ledger if there is none.
func (m *memory) peek(h hash) Ledger {
	s := m.lock(h)
	defer s.mu.Unlock()
	e := s.lookup(h)
	if e == nil {
		return Ledger{}
	}
	writer := m.writer(e)
	state := e.takeOut(writer)
	defer e.state.Store(state)
	return m.ledger(writer, state)
}
