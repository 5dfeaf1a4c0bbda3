package weir

import (
	"sync"
	"sync/atomic"
	"time"
)

const denyWays = 8

// A denySet holds the denials of some keys. It is read without its lock.
type denySet struct {
	tags    [denyWays]atomic.Uint64 // the a of each denial, so that others are not fetched; 0 for none
	denials [denyWays]atomic.Pointer[denial]

	// changes counts what may have ended a denial of the set. A denial that was on its way
	// meanwhile may be older than that, and is not remembered.
	changes atomic.Uint64

	mu   sync.Mutex // guards writes to all of the set
	next int        // the denial to give up next
}

// A denial is what is remembered of one. It is immutable.
type denial struct {
	denialID
	scope  *Scope
	n      int // how many events were denied
	result Result
	at     int64 // when result was there
	until  int64 // the store denies for certain before
}

// A denialID is a hash of a key under secret seeds, so that nobody can make two keys that share it.
type denialID struct{ a, b uint64 }

// find returns the denial that holds for the key and scope, or nil.
func (s *denySet) find(id denialID, scope *Scope) *denial {
	for i := range s.tags {
		if s.tags[i].Load() != id.a {
			continue
		}
		if d := s.denials[i].Load(); d != nil && d.denialID == id && d.scope.equals(scope) {
			return d
		}
	}
	return nil
}

// covers tells whether an ask for n events is denied, too, and if exact, whether all of its answer
// is known: where Remaining + 1 events were denied, Remaining stays as it is until they are granted.
// More events may have to wait for longer, or be denied by another part of a composed policy.
func (d *denial) covers(n int, exact bool) bool {
	if exact {
		return n == d.n && n == d.result.Remaining+1
	}
	return n >= d.n
}

// answer is the answer to an ask for n events at now, before d.until.
func (d *denial) answer(n int, now int64) Answer {
	a := Answer{Result: d.result, At: now}
	passed := time.Duration(max(now-d.at, 0))
	a.RetryAfter -= passed
	if a.ResetAfter != Never {
		a.ResetAfter -= passed
	}
	if n > a.Limit {
		a.RetryAfter = Never
	}
	return a
}

// remember keeps d, unless there were changes since seen.
func (s *denySet) remember(d *denial, ways int, seen uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOfOthers(d.denialID, d.scope)
	if d.until <= d.at || s.changes.Load() != seen {
		return
	}
	place, spare := -1, -1
	for i := range ways {
		switch old := s.denials[i].Load(); {
		case old == nil:
			spare = i
		case old.denialID == d.denialID && old.scope.equals(d.scope):
			place = i
		case old.until <= d.at && old.scope.clock == d.scope.clock:
			spare = i
		}
	}
	if place < 0 {
		place = spare
	}
	if place < 0 {
		place = s.next
		s.next = (s.next + 1) % ways
	}
	s.denials[place].Store(d)
	s.tags[place].Store(d.a)
}

// changed drops the denials of a key, and those of its set that are on their way.
func (s *denySet) changed(id denialID, scope *Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes.Add(1)
	s.drop(id, func(d *denial) bool { return d.scope.Name == scope.Name })
}

// asked drops the denials of a key that other policies made: the store may have carried its state
// over to that of scope.
func (s *denySet) asked(id denialID, scope *Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropOfOthers(id, scope)
}

// dropOfOthers requires that s.mu is held.
func (s *denySet) dropOfOthers(id denialID, scope *Scope) {
	s.drop(id, func(d *denial) bool { return d.scope.Name == scope.Name && !samePolicy(d.scope, scope) })
}

// drop requires that s.mu is held.
func (s *denySet) drop(id denialID, which func(*denial) bool) {
	for i := range s.denials {
		if d := s.denials[i].Load(); d != nil && d.denialID == id && which(d) {
			s.tags[i].Store(0)
			s.denials[i].Store(nil)
		}
	}
}
