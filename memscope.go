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

// A writer is what the entries say of where they come from. Scopes whose policies and clocks are equal are
// the same writer, and may read each other's states.
type writer struct {
	tag     uint64     // its index in scopes.writers; entries bear it
	clock   *nanoClock // tells when its entries expire
	decider Decider
	words   int
	word    WordDecider // decider if it is one, else nil

	id      any
	users   int          // scopes that are not yet garbage; guarded by memory.mu
	entries atomic.Int64 // that are alive
}

// scopes are those that use a memory. What is known of a scope is dropped when it is garbage, and a
// writer when it has no scope and no entry any more: a policy may be changed every second for years. So a
// tag can be used again; no one who still reads with a tag has lost its scope.
type scopes struct {
	writers atomic.Pointer[[]*writer] // by tag; out of use where the tag is free
	free    []uint64                  // tags
	byID    map[any]*writer
	known   map[weak.Pointer[Scope]]*memScope
}

func (s *scopes) init() {
	s.writers.Store(new([]*writer))
	s.byID = make(map[any]*writer)
	s.known = make(map[weak.Pointer[Scope]]*memScope)
}

var errTooManyPolicies = errors.New("weir: MemStore: more than a million different policies at a time")

// scope returns what m knows of s, and notes it in s.
func (m *memory) scope(s *Scope) (*memScope, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	self := weak.Make(s)
	sc := m.scopes.known[self]
	if sc == nil {
		w, err := m.writerOf(s)
		if err != nil {
			return nil, err
		}
		sc = &memScope{memory: m, writer: w}
		if sc.admitWord, _ = s.Decider.(wordAdmitter); sc.admitWord != nil {
			sc.limit = sc.admitWord.limitAtOnce()
		}
		sc.admit, _ = s.Decider.(admitter)
		if s.Name != "" {
			sc.nameA, sc.nameB = maphash.String(m.seedB, s.Name), maphash.String(m.seedA, s.Name)
		}
		w.users++
		m.scopes.known[self] = sc
		runtime.AddCleanup(s, m.forgetScope, self)
	}
	s.mem.Store(sc)
	return sc, nil
}

// writerOf is the writer of the entries of s. It requires that m.mu is held.
func (m *memory) writerOf(s *Scope) (*writer, error) {
	w := &writer{clock: s.clock, decider: s.Decider, words: s.Decider.Words()}
	w.word, _ = s.Decider.(WordDecider)
	w.id = w
	if clock := s.clock.orSystem(); comparable(s.Policy) && comparable(clock) {
		w.id = [2]any{s.Policy, clock}
	}
	if known := m.scopes.byID[w.id]; known != nil {
		return known, nil
	}
	writers := *m.scopes.writers.Load()
	if n := len(m.scopes.free); n > 0 {
		w.tag = m.scopes.free[n-1]
		m.scopes.free = m.scopes.free[:n-1]
		writers = append([]*writer(nil), writers...)
		writers[w.tag] = w
	} else {
		if len(writers) > tagMask {
			return nil, errTooManyPolicies
		}
		w.tag = uint64(len(writers))
		writers = append(writers, w)
	}
	m.scopes.writers.Store(&writers)
	m.scopes.byID[w.id] = w
	return w, nil
}

func comparable(v any) bool { return reflect.ValueOf(v).Comparable() }

// forgetScope is called when a scope has become garbage.
func (m *memory) forgetScope(s weak.Pointer[Scope]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.scopes.known[s].writer
	delete(m.scopes.known, s)
	w.users--
	m.forgetWriter(w)
}

// forgetWriter frees the tag of a writer that nobody needs any more. It requires that m.mu is held.
func (m *memory) forgetWriter(w *writer) {
	if w.users > 0 || w.entries.Load() > 0 || m.scopes.byID[w.id] != w {
		return
	}
	delete(m.scopes.byID, w.id)
	m.scopes.free = append(m.scopes.free, w.tag)
}

// lost accounts for an entry of w that is no more.
func (m *memory) lost(w *writer) {
	if w.entries.Add(-1) > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetWriter(w)
}

// writer is who wrote an entry.
func (m *memory) writer(e *entry) *writer { return (*m.scopes.writers.Load())[e.b.Load()&tagMask] }
