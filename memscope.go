package weir

import (
	"errors"
	"hash/maphash"
	"reflect"
	"runtime"
	"sync/atomic"
	"weak"
)

// A memScope is what a memory knows of a limiter's scope, found through the scope itself.
type memScope struct {
	memory       *memory
	*writer                   // of its entries
	admitWord    wordAdmitter // decider if it is one, else nil
	limit        int          // of admitWord
	admit        admitter     // likewise
	nameA, nameB uint64       // hash of the name
}

// A writer identifies the policy and clock that entries were written by. Scopes whose policies and
// clocks are equal have the same writer, and may read each other's states.
type writer struct {
	tag     uint64     // its index in scopes.writers; entries bear it
	clock   *nanoClock // tells when its entries expire
	policy  Policy
	decider Decider
	words   int
	word    WordDecider // decider if it is one, else nil

	uses atomic.Int64 // scopes that are not yet garbage, and entries that are alive
}

// scopes are those that use a memory. The memory drops what it knows of a scope when the scope is
// garbage. It drops a writer that has no scope and no entry any more, because a policy may be
// changed every second for years. A tag can then be used again, because a caller that reads with a
// tag still holds its scope.
type scopes struct {
	writers atomic.Pointer[[]*writer] // by tag; out of use where the tag is free
	free    []uint64                  // tags
	byID    map[any]*writer
	shared  map[weak.Pointer[Plan]]*memScope // those that are used with another memory, too
}

var errTooManyPolicies = errors.New("weir: MemStore: more than a million different policies at a time")

// scope returns what m knows of s. A scope notes the memory that asked last. Most scopes see only
// one.
func (m *memory) scope(s *Plan) (*memScope, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	self, last := weak.Make(s), s.mem.Load()
	if last != nil && last.memory == m {
		return last, nil
	}
	if sc := m.scopes.shared[self]; sc != nil {
		s.mem.Store(sc)
		return sc, nil
	}
	w, err := m.writerOf(s)
	if err != nil {
		return nil, err
	}
	sc := &memScope{memory: m, writer: w}
	if sc.admitWord, _ = s.Decider.(wordAdmitter); sc.admitWord != nil {
		sc.limit = sc.admitWord.limitAtOnce()
	}
	sc.admit, _ = s.Decider.(admitter)
	sc.nameA, sc.nameB = maphash.String(m.seedB, s.Name), maphash.String(m.seedA, s.Name)
	w.uses.Add(1)
	runtime.AddCleanup(s, func(w *writer) { m.forgetScope(self, w) }, w)
	if last != nil {
		if m.scopes.shared == nil {
			m.scopes.shared = make(map[weak.Pointer[Plan]]*memScope)
		}
		m.scopes.shared[self] = sc
	}
	s.mem.Store(sc)
	return sc, nil
}

// writerOf is the writer of the entries of s. It requires that m.mu is held.
func (m *memory) writerOf(s *Plan) (*writer, error) {
	w := &writer{clock: s.clock, policy: s.Policy, decider: s.Decider, words: s.Decider.Words()}
	w.word, _ = s.Decider.(WordDecider)
	id := w.id()
	if known := m.scopes.byID[id]; known != nil {
		return known, nil
	}
	writers := *m.scopes.writers.Load()
	if n := len(m.scopes.free); n > 0 {
		w.tag = m.scopes.free[n-1]
		m.scopes.free = m.scopes.free[:n-1]
		writers[w.tag] = w // nobody reads this place: no entry bears the tag
	} else {
		if len(writers) > tagMask {
			return nil, errTooManyPolicies
		}
		w.tag = uint64(len(writers))
		writers = append(writers, w)
	}
	m.scopes.writers.Store(&writers)
	m.scopes.byID[id] = w
	return w, nil
}

// id is equal for writers that may read each other's states.
func (w *writer) id() any {
	if clock := w.clock.orSystem(); comparable(w.policy) && comparable(clock) {
		return [2]any{w.policy, clock}
	}
	return w
}

func comparable(v any) bool { return reflect.ValueOf(v).Comparable() }

// forgetScope is called when a scope of w has become garbage.
func (m *memory) forgetScope(s weak.Pointer[Plan], w *writer) {
	m.mu.Lock()
	delete(m.scopes.shared, s)
	m.mu.Unlock()
	m.lost(w)
}

// lost accounts for an entry or a scope of w that is gone. It frees the tag if that was the last.
func (m *memory) lost(w *writer) {
	if w.uses.Add(-1) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := w.id()
	if w.uses.Load() > 0 || m.scopes.byID[id] != w { // it serves again, or another call has freed it
		return
	}
	delete(m.scopes.byID, id)
	m.scopes.free = append(m.scopes.free, w.tag)
}

// writer returns the writer of an entry.
func (m *memory) writer(e *entry) *writer { return (*m.scopes.writers.Load())[e.b.Load()&tagMask] }
