package weir

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/internal/keyhash"
	"github.com/weir-go/weir/internal/table"
)

// MemStore is a [Store] in the memory of the process. The zero value is ready. It serves any number
// of limiters. If there are several, give each a name with [WithName]. A MemStore must not be
// copied after first use, and is safe for concurrent use.
//
// It has no goroutine and does not have to be closed. Its memory grows and shrinks with the keys in
// use and their states. Some calls, for any key, also drop a few keys that have expired. If a
// million keys have expired, and are at least nine tenths of the keys in the store, about four
// million calls for other keys drop nearly all of them. If they are a smaller part, it takes more
// calls.
//
// Its states are lost when the process ends, unless [MemStore.Save] writes them to a file and
// [MemStore.Load] reads that file in the next process.
//
// The store does not keep keys. Of each key it keeps a hash of over 100 bits, under secret seeds. A
// long key takes no more memory than a short one.
//
//   - A key with a state of one word usually takes 30 to 50 bytes in all.
//   - A key with a longer state usually takes 8 to 10 bytes more for each word. A state that has
//     grown also has spare room, for up to two words plus three fifths of its words. A state that
//     shrinks keeps its room while it uses more than a quarter of the room, or if the room is for
//     eight words at most.
//   - A store with two keys takes 1 to 2 kB, with its limiter. A store that once had many keys
//     keeps up to 4 kB for each processor, and up to a hundredth of the memory that it had.
type MemStore struct {
	// MaxKeys is the largest number of keys in the store; 0 means no bound. Set it before the first
	// use, to at least twice the number of keys that are usually in use. At the bound, the store
	// makes room only by dropping expired keys. If a short search finds none, a new key gets no
	// entry of its own, and shares an allowance with other new keys. The search may miss the last
	// few expired keys. A [MemStore.Load] may exceed MaxKeys.
	//
	// With MaxKeys, a flood of made-up keys cannot exhaust the memory. It cannot make the store
	// forget a count either. A flood therefore gives no more events to a key that has used up its
	// limit. But during a flood, and while the events of the made-up keys still count, new keys may
	// be denied, because they share allowances with the made-up keys.
	//
	// The rules for shared allowances:
	//
	//   - Each name of a limiter has a few of them, at most eight for each processor. After a Load,
	//     it may have more.
	//   - When there is room again, and events of a shared allowance still count, a new key starts
	//     with what is left of that allowance, even if the key never shared it.
	//   - If events of a shared allowance are given back, they may stay charged.
	MaxKeys int

	memory   atomic.Pointer[memory]
	limiters Limiters
}

// Accept implements [Acceptor].
func (s *MemStore) Accept(l *KeyedLimiter) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.limiters.Accept(l)
}

// Len returns the number of keys in the store. It counts expired keys until they are dropped.
func (s *MemStore) Len() int {
	m := s.memory.Load()
	if m == nil {
		return 0
	}
	return m.Len()
}

// Do implements [Store]. It ignores its context. It fails if MaxKeys is below 0, or if more than a
// million different policies are in use on the store at a time. A policy is in use while a limiter
// keeps it ready, and while a key has a state that the policy wrote. If the function of
// [WithPolicyFor] returns a policy that cannot be compared, each call counts as another policy, at
// least until the garbage collector has run.
func (s *MemStore) Do(_ context.Context, r Request) (Answer, error) {
	mp, err := s.planOf(r.Plan)
	if err != nil {
		return Answer{}, err
	}
	h := mp.hash(r.Key)
	if r.Forget {
		mp.memory.Forget(h)
		return Answer{}, nil
	}

	// A known key whose state is a word is decided without a lock: the word is exchanged if no one
	// else has exchanged it in the meantime. A key whose state is in the slab has a lock of its
	// own. The clock is read before the slot is looked up. While it is read, a processor that asks
	// for the same key would take the slot away again. With the two the other way round, a hot key
	// took 1.3 times as long.
	now := r.Now()
	if e := mp.memory.Find(h); e != nil {
		mp.memory.SweepOften(h, now)
		if mp.word == nil {
			if at, ok := e.TryHold(); ok {
				return mp.memory.decideHeld(mp, e, at, now, r.Ask), nil
			}
			return mp.memory.decide(mp, h, r), nil
		}
		for old := e.Load(); old != table.Moved; old = e.Load() {
			next, a := mp.word.DecideWord(old, now, r.Ask) // a call for all this would take a tenth of the time
			if next == old || e.CompareAndSwap(old, next) {
				a.At = now
				return a, nil
			}
		}
	}
	return mp.memory.decide(mp, h, r), nil
}

// allow is Do for one event, if only Allowed is needed. It takes half the time.
func (s *MemStore) allow(plan *Plan, key string) bool {
	mp, err := s.planOf(plan)
	if err != nil {
		return false
	}
	h := mp.hash(key)
	switch {
	case mp.admitWord != nil:
		now := plan.Now()
		if e := mp.memory.Find(h); e != nil {
			mp.memory.SweepOften(h, now)
			for old := e.Load(); old != table.Moved; old = e.Load() {
				next, granted := mp.admitWord.admitWord(old, now)
				if !granted || e.CompareAndSwap(old, next) {
					return granted
				}
			}
		}
	case mp.admit != nil:
		if granted, known := mp.memory.admit(mp, plan, h); known {
			return granted
		}
	}
	return mp.memory.decide(mp, h, Request{Plan: plan, Key: key, Ask: Ask{N: 1}}).Allowed
}

// take is Do for all or none of n events of a known key. It takes half the time. It returns the
// fields of the Result that can change. mp has the Limit. Its admitWord tells MoreAfter and the
// Charge, from the state next at the instant now.
func (s *MemStore) take(plan *Plan, key string, n int) (mp *memPlan, next uint64, now int64, r shortResult, ok bool) {
	mp, err := s.planOf(plan)
	if err != nil || mp.admitWord == nil {
		return mp, 0, 0, r, false
	}
	h := mp.hash(key)
	now = plan.Now()
	e := mp.memory.Find(h)
	if e == nil {
		return mp, 0, 0, r, false
	}
	mp.memory.SweepOften(h, now)
	for {
		old := e.Load()
		if old == table.Moved {
			return mp, 0, 0, r, false
		}
		next, r := mp.admitWord.takeWord(old, now, n)
		if next == old || e.CompareAndSwap(old, next) {
			return mp, next, now, r, true
		}
	}
}

// hold locks the entry of a key whose state has several words, and returns the instant of the
// decision, now. e is nil if the key is not known, or if others have locked it for a while.
func (m *memory) hold(by *Plan, h table.Hash) (e *table.Entry, at table.Ref, now int64) {
	now = by.Now() // the clock of the writer is perhaps that of another limiter, which has seen less
	if e = m.Find(h); e == nil {
		return nil, 0, now
	}
	m.SweepOften(h, now)
	at, ok := e.TryHold()
	if !ok {
		return nil, 0, now
	}
	return e, at, now
}

// admit decides on one event for a key with a state of more than a word, if it is known.
func (m *memory) admit(mp *memPlan, by *Plan, h table.Hash) (granted, known bool) {
	e, at, now := m.hold(by, h)
	if e == nil {
		return false, false
	}
	defer func() { e.Release(at) }()
	at, block := m.WithRoom(h, at, mp.words)
	state, granted := mp.admit.admit(block, now)
	at = m.Update(h, at, block, state)
	return granted, true
}

// take is admit for all or none of n events.
func (m *memory) take(mp *memPlan, by *Plan, h table.Hash, n int) (r shortResult, decidedBy int, known bool) {
	e, at, now := m.hold(by, h)
	if e == nil {
		return r, 0, false
	}
	defer func() { e.Release(at) }()
	at, block := m.WithRoom(h, at, mp.words)
	state, r, decidedBy := mp.admit.take(block, now, n)
	at = m.Update(h, at, block, state)
	return r, decidedBy, true
}

// planOf returns what the memory knows of a Plan.
func (s *MemStore) planOf(plan *Plan) (*memPlan, error) {
	m := s.memory.Load()
	if mp := plan.mem.Load(); mp != nil && mp.memory == m {
		return mp, nil
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if m == nil {
		s.memory.CompareAndSwap(nil, newMemory(s.MaxKeys, keyhash.New()))
		m = s.memory.Load()
	}
	return m.planOf(plan)
}

func (s *MemStore) check() error {
	if s.MaxKeys < 0 {
		return fmt.Errorf("weir: MemStore.MaxKeys is %d, must be at least 0", s.MaxKeys)
	}
	return nil
}
