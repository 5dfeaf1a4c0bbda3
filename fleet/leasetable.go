package fleet

import (
	"iter"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/keyhash"
)

const (
	leaseWays  = 8
	longestKey = 1000 // bytes: clients choose keys
)

// A leaseTable has the keys that are watched. It is read without a lock. Each key belongs to one
// set of a few. If a set is full, a new key replaces the idle key that was not asked for the
// longest time.
type leaseTable struct {
	seeds keyhash.Seeds
	ways  int // keys in a set
	sets  []atomic.Pointer[leaseSet]
}

// A leaseSet is made when its first key comes.
type leaseSet struct {
	hashes [leaseWays]atomic.Uint64 // of the keys: those of others need not be fetched
	keys   [leaseWays]atomic.Pointer[leasedKey]
	mu     sync.Mutex   // guards writes
	resets atomic.Int64 // under way, of its keys: meanwhile no call for a lease begins
}

func newLeaseTable(maxKeys int) leaseTable {
	ways := min(maxKeys, leaseWays)
	return leaseTable{
		seeds: keyhash.New(),
		ways:  ways, sets: make([]atomic.Pointer[leaseSet], maxKeys/ways),
	}
}

func (t *leaseTable) hash(p *weir.Plan, key string) uint64 {
	h, _ := t.seeds.Sum(key)
	if p.Name != "" {
		_, name := t.seeds.Sum(p.Name)
		h ^= name
	}
	return h
}

func (t *leaseTable) set(hash uint64) *atomic.Pointer[leaseSet] {
	i, _ := bits.Mul64(hash, uint64(len(t.sets)))
	return &t.sets[i]
}

// madeSet returns the set of a hash, which it makes if there is none.
func (t *leaseTable) madeSet(hash uint64) *leaseSet {
	at := t.set(hash)
	if s := at.Load(); s != nil {
		return s
	}
	at.CompareAndSwap(nil, new(leaseSet))
	return at.Load()
}

// find returns a key, or nil if it is not watched.
func (t *leaseTable) find(p *weir.Plan, key string) *leasedKey {
	if len(t.sets) == 0 { // the options are invalid
		return nil
	}
	hash := t.hash(p, key)
	if s := t.set(hash).Load(); s != nil {
		return s.find(hash, p, key)
	}
	return nil
}

func (s *leaseSet) find(hash uint64, p *weir.Plan, key string) *leasedKey {
	for i := range s.hashes {
		if s.hashes[i].Load() == hash {
			if k := s.keys[i].Load(); k != nil && k.key == key && (k.plan == p || k.plan.Equal(p)) {
				return k
			}
		}
	}
	return nil
}

// add returns a key, which is new if it was not watched, or nil if there is no room.
func (t *leaseTable) add(terms *terms, key string) *leasedKey {
	hash := t.hash(terms.plan, key)
	s := t.madeSet(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(hash, terms.plan, key); k != nil {
		return k
	}
	place, oldest := -1, int64(0)
	for i := range t.ways {
		k := s.keys[i].Load()
		if k == nil {
			place = i
			break
		}
		if seen, idle := k.idleSince(false); idle && (place < 0 || seen < oldest) {
			place, oldest = i, seen
		}
	}
	if place < 0 {
		return nil
	}
	if old := s.keys[place].Load(); old != nil {
		if _, idle := old.idleSince(true); !idle {
			return nil
		}
	}
	k := &leasedKey{terms: terms, set: s, key: strings.Clone(key)}
	s.hashes[place].Store(hash)
	s.keys[place].Store(k)
	return k
}

// like returns the keys of limiters of p's name that have the key, whatever their policies are.
func (t *leaseTable) like(p *weir.Plan, key string) iter.Seq[*leasedKey] {
	return func(yield func(*leasedKey) bool) {
		s := t.set(t.hash(p, key)).Load()
		if s == nil {
			return
		}
		for i := range s.keys {
			if k := s.keys[i].Load(); k != nil && k.key == key && k.plan.Name == p.Name && !yield(k) {
				return
			}
		}
	}
}

// all returns all keys.
func (t *leaseTable) all() iter.Seq[*leasedKey] {
	return func(yield func(*leasedKey) bool) {
		for i := range t.sets {
			s := t.sets[i].Load()
			if s == nil {
				continue
			}
			for j := range s.keys {
				if k := s.keys[j].Load(); k != nil && !yield(k) {
					return
				}
			}
		}
	}
}
