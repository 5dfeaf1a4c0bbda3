package weir

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/keyhash"
	"github.com/weir-go/weir/internal/table"
)

// memory is the content of a MemStore after its first use: a table of entries, and what it must
// know of the policies that wrote them. It drops a memPlan when the Plan is garbage. The table
// drops a writer once it has neither a memPlan nor an entry.
type memory struct {
	seeds keyhash.Seeds
	table.Table
	ledgers ledgers

	mu     sync.Mutex                      // guards shared; while it is held, no memPlan is added twice
	shared map[weak.Pointer[Plan]]*memPlan // those that are used with another memory, too

	ownClock atomic.Pointer[clock.Nanos] // the first that is not the system's, of a limiter
	loaded   time.Time                   // when a file had been read; zero until then
}

// A memPlan is what a memory knows of a limiter's Plan, through which it is found. It fills a cache
// line. For a known key of one word, Allow and Take do not read the writer. To read it would take a
// tenth of the time where each key has a plan of its own.
type memPlan struct {
	memory       *memory
	*writer                   // of its entries
	tag          uint64       // of the writer
	nameA, nameB uint64       // hash of the name
	admitWord    wordAdmitter // decider if it is one, else nil
	limit        int          // of every Result, if there is an admitWord or an admit
}

// A writer is the policy and clock that entries were written by. Plans whose policies and clocks
// are equal by == have the same writer, and may read each other's states.
type writer struct {
	table.Writer
	clock   shown
	policy  Policy
	decider Decider
	words   int
	word    WordDecider // decider if it is one, else nil
	admit   admitter    // likewise, if it is not foreign
	foreign bool        // decider is of another package, or a part of it is, and may panic
}

// shown is the clock of a writer. Each of its limiters notes the latest instant that it has seen.
// If the clock has stepped back, one of them may have seen a later instant than the others. Expiry
// therefore goes by what the clock shows.
type shown struct{ *clock.Nanos }

// Now implements [table.Clock].
func (c shown) Now() int64 {
	if c.Clock == nil { // it does not step back
		return c.Nanos.Now()
	}
	return clock.Instant(c.Clock.Now())
}

func newMemory(maxKeys int, seeds keyhash.Seeds) *memory {
	m := &memory{seeds: seeds}
	m.Init(maxKeys)
	l := &m.ledgers
	l.memory, l.Owner, l.Expirer = m, l, l
	m.Join(&l.Writer) // for good; there is room, because it is the first
	return m
}

func (mp *memPlan) hash(key string) table.Hash {
	a, b := mp.memory.seeds.Sum(key)
	return table.NewHash(a^mp.nameA, b^mp.nameB, mp.tag)
}

// overflow identifies the entry that keys of the plan share: those that have no entry of their
// own, and the same first bits as h.
func (mp *memPlan) overflow(h table.Hash) table.Hash { return mp.memory.Overflow(h, mp.hash("")) }

var errTooManyPolicies = fmt.Errorf("%w: MemStore has more than a million different policies at a time", ErrRequest)

// planOf returns what m knows of p. A Plan notes the memory that asked last. Most Plans have one.
func (m *memory) planOf(p *Plan) (*memPlan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	self, last := weak.Make(p), p.mem.Load()
	if last != nil && last.memory == m {
		return last, nil
	}
	if mp := m.shared[self]; mp != nil {
		p.mem.Store(mp)
		return mp, nil
	}
	joined, ok := m.Join(newWriter(p))
	if !ok {
		return nil, errTooManyPolicies
	}
	mp := &memPlan{memory: m, writer: writerOf(joined), tag: joined.Tag()}
	mp.admitWord, _ = mp.decider.(wordAdmitter)
	if mp.admitWord != nil || mp.admit != nil {
		_, look := mp.decider.Decide(make([]uint64, mp.words), 0, Ask{})
		mp.limit = look.Limit
	}
	if p.clock.Clock != nil {
		m.ownClock.CompareAndSwap(nil, p.clock)
	}
	mp.nameB, mp.nameA = m.seeds.Sum(p.Name) // crosswise, so that a key and a name of the same bytes do not cancel out
	type user struct {
		of  weak.Pointer[memory]
		by  weak.Pointer[Plan]
		tag uint64
	}
	runtime.AddCleanup(p, func(u user) { // which must not hold m: p may outlive it
		if m := u.of.Value(); m != nil {
			m.mu.Lock()
			delete(m.shared, u.by)
			m.mu.Unlock()
			m.Leave(m.Writer(u.tag))
		}
	}, user{weak.Make(m), self, mp.tag})
	if last != nil {
		if m.shared == nil {
			m.shared = make(map[weak.Pointer[Plan]]*memPlan)
		}
		m.shared[self] = mp
	}
	p.mem.Store(mp)
	return mp, nil
}

// newWriter makes the writer of the entries of p. The table may already know an equal one.
func newWriter(p *Plan) *table.Writer {
	w := &writer{clock: shown{p.clock}, policy: valueOf(p.Policy), decider: p.Decider, words: p.Decider.Words()}
	w.word, _ = p.Decider.(WordDecider)
	w.foreign = slices.ContainsFunc(p.rule().leaves(), func(leaf Rule) bool { return countsOf(leaf.Decider) == nil })
	if !w.foreign {
		w.admit, _ = p.Decider.(admitter)
	}
	w.Owner, w.Expirer, w.Single = w, w.decider, w.word != nil
	return &w.Writer
}

// writerOf returns the writer that newWriter made, which is no ledger's.
func writerOf(w *table.Writer) *writer { return w.Owner.(*writer) }

// ID implements [table.Owner].
func (w *writer) ID() any {
	if clock := w.clock.OrSystem(); comparable(w.policy) && comparable(clock) {
		return [2]any{w.policy, clock}
	}
	return w
}

// comparable reports whether v can be found by ==. A v that has a NaN cannot.
func comparable(v any) bool {
	same := v
	return reflect.ValueOf(v).Comparable() && v == same
}

// Clock implements [table.Owner].
func (w *writer) Clock() table.Clock { return w.clock }

// Tags implements [table.Owner].
func (w *writer) Tags([]uint64) []uint64 { return nil }

// decide decides under the lock of a segment. It is for keys that are new, whose state another
// policy wrote, or whose state others are using.
func (m *memory) decide(mp *memPlan, h table.Hash, r Request) Answer {
	for {
		a, ok := m.decideAlone(mp, h, r)
		if !ok && m.Full() {
			m.SweepNext()
		}
		if !ok {
			a, ok = m.decideShared(mp, h, r)
		}
		if ok {
			m.SweepOften(h, a.At)
			runtime.KeepAlive(r.Plan) // until here its writer keeps its tag
			return a
		}
	}
}

// decideAlone decides on a key that shares no state. It fails if the key may have to share one.
func (m *memory) decideAlone(mp *memPlan, h table.Hash, r Request) (a Answer, ok bool) {
	s := m.Lock(h)
	defer s.Unlock()
	e := s.Lookup(h)
	if e == nil {
		if m.Full() {
			m.SweepWhenFull(s)
		}
		if m.Full() || m.Overflows() {
			return a, false
		}
	}
	return m.decideIn(s, e, mp, h, r)
}

// decideShared decides on a new key while memory is full, or while keys still share what they were
// granted when it was full. It locks both segments, that of the key and that of the shared entry.
// Otherwise the key could be granted events there, and at the same time in an entry of its own. It
// fails if another key took the last room.
func (m *memory) decideShared(mp *memPlan, h table.Hash, r Request) (a Answer, ok bool) {
	overflow := mp.overflow(h)
	own, shared := m.LockBoth(h, overflow)
	defer table.UnlockBoth(own, shared)
	e, inherited := own.Lookup(h), shared.Lookup(overflow)
	switch {
	case e != nil:
	case m.Full():
		return m.decideIn(shared, inherited, mp, overflow, r)
	case inherited != nil:
		m.Change(shared, inherited, func(c table.Content) (_ table.Content, changed bool) {
			c, changed, a, ok = m.decideInherited(mp, own, h, c, r)
			return c, changed
		})
		return a, ok
	}
	return m.decideIn(own, e, mp, h, r)
}

// decideIn decides on e, the entry of h in s. If it is nil, decideIn makes it if need be, and fails if
// there is no room for it. It requires that s is locked, and not full.
func (m *memory) decideIn(s *table.Segment, e *table.Entry, mp *memPlan, h table.Hash, r Request) (a Answer, ok bool) {
	switch {
	case e != nil && e.Tag() == mp.tag:
		return m.decideKnown(mp, e, r), true
	case e != nil:
		return m.decideChanged(mp, s, e, r), true
	}
	now := r.Now()
	state := s.NewState(mp.words)
	if mp.word != nil {
		state[0], a = mp.word.DecideWord(0, now, r.Ask)
	} else {
		state, a = mp.decider.Decide(state, now, r.Ask)
	}
	a.At = now
	if r.N <= 0 || !a.Allowed { // a new key has nothing to give back
		return a, true
	}
	return a, m.Add(s, h, table.Content{By: &mp.Writer, Words: state})
}

// decideKnown decides on an entry that the plan, or one like it, wrote. It requires that the
// segment is locked.
func (m *memory) decideKnown(mp *memPlan, e *table.Entry, r Request) Answer {
	now := r.Now()
	if mp.word == nil {
		return m.decideHeld(mp, e, e.Hold(), now, r.Ask)
	}
	for {
		old := e.Load()
		next, a := mp.word.DecideWord(old, now, r.Ask)
		if next == old || e.CompareAndSwap(old, next) {
			a.At = now
			return a
		}
	}
}

// decideHeld decides on a state in the slab whose entry is held, and releases it.
func (m *memory) decideHeld(mp *memPlan, e *table.Entry, at table.Ref, now int64, ask Ask) Answer {
	defer func() { e.Release(at) }() // even if the Decider panics
	h := e.Hash()
	at, block := m.WithRoom(h, at, mp.words)
	var state []uint64
	var a Answer
	if mp.foreign {
		state, a = mp.decideForeign(block, now, ask)
	} else {
		state, a = mp.decider.Decide(block, now, ask)
	}
	at = m.Update(h, at, block, state)
	a.At = now
	return a
}

// decideForeign is Decide of a policy that may panic. After a panic it restores the state, because
// the policy, or other parts of a composed one, may have written to it.
func (w *writer) decideForeign(state []uint64, now int64, ask Ask) (next []uint64, a Answer) {
	var room [savedWords]uint64
	saved := append(room[:0], state...)
	defer func() { copy(state, saved) }()
	next, a = w.decider.Decide(state, now, ask)
	saved = nil
	return next, a
}
