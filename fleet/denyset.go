package fleet

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

const denyWays = 8

// A denySet holds the denials of some keys. It is read without its lock.
type denySet struct {
	denials atomic.Pointer[[]keyDenial] // the latest last; immutable, and nil until there is one

	// changes counts the requests that may have ended a denial of the set. A denial that was on its
	// way during such a request may be out of date, and is not remembered.
	changes atomic.Uint64

	mu sync.Mutex // guards writes
}

// A keyDenial is a denial with its key. The denials of other keys then need not be fetched.
type keyDenial struct {
	id denialID
	*denial
}

// A denial is what is kept of a denial by the store. It is immutable.
type denial struct {
	plan   *weir.Plan
	n      int // how many events were denied
	result weir.Result
	at     int64 // when result was there
	until  int64 // before this, the denial is kept
}

// A denialID is a hash of a key under secret seeds. An attacker cannot make two keys that share it.
type denialID struct{ a, b uint64 }

func (s *denySet) all() []keyDenial {
	if all := s.denials.Load(); all != nil {
		return *all
	}
	return nil
}

// find returns the denial that holds for the key and plan, or nil.
func (s *denySet) find(id denialID, plan *weir.Plan) *denial {
	for _, d := range s.all() {
		if d.id == id && d.plan.Equal(plan) {
			return d.denial
		}
	}
	return nil
}

// covers reports whether an ask for n events is denied, too. With exact, the whole answer must also
// be known. It is known if Remaining + 1 events were denied: Remaining then stays as it is until
// they are granted. More events may have to wait for longer, or be denied by another part of a
// composed policy. more says that MoreAfter is asked for.
func (d *denial) covers(n int, more, exact bool) bool {
	if exact {
		return n == d.n && n == d.result.Remaining+1 && (!more || d.result.MoreAfter > 0)
	}
	return n >= d.n
}

// answer is the answer to an ask for n events at now, before d.until.
func (d *denial) answer(n int, more bool, now int64) weir.Answer {
	a := weir.Answer{Result: d.result, At: now}
	passed := time.Duration(max(now-d.at, 0))
	a.RetryAfter -= passed
	if a.ResetAfter != weir.Never {
		a.ResetAfter = max(a.ResetAfter-passed, 0)
	}
	if a.MoreAfter = max(a.MoreAfter-passed, 0); !more {
		a.MoreAfter = 0
	}
	if n > max(d.n, a.Limit) && d.neverFits(n, now) {
		a.RetryAfter = weir.Never
	}
	return a
}

// neverFits reports whether the policy never grants n events, whatever the key was asked for. The
// Limit of an answer does not tell that: those of [Shares], and of policies of other packages, may
// grow.
func (d *denial) neverFits(n int, now int64) bool {
	_, a := d.plan.Decider.Decide(make([]uint64, d.plan.Decider.Words()), now, weir.Ask{N: n})
	return !a.Allowed && a.RetryAfter == weir.Never
}

// note records what the store has answered for a key: a change, which ends its denials, or a denial
// d, or neither. It always drops the key's denials by other policies, because the request of plan
// may have changed their answers. It does not keep d if there were changes since seen. To keep d,
// it drops those that have expired, and if there are still as many as ways, the oldest.
func (s *denySet) note(id denialID, plan *weir.Plan, changed bool, d *denial, seen uint64, ways int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed {
		s.changes.Add(1)
	}
	if d != nil && (d.until <= d.at || s.changes.Load() != seen) {
		d = nil
	}
	over := func(old keyDenial) bool {
		if old.id == id && old.plan.Name == plan.Name {
			return changed || d != nil && old.plan.Equal(plan) || !samePolicy(old.plan, plan)
		}
		return d != nil && old.expired(plan, d.at)
	}
	all := s.all()
	if d == nil && !slices.ContainsFunc(all, over) {
		return
	}
	left := slices.DeleteFunc(slices.Clone(all), over)
	if d != nil {
		left = append(left[max(len(left)+1-ways, 0):], keyDenial{id, d})
	}
	s.denials.Store(&left)
}

func samePolicy(p, q *weir.Plan) bool { return p == q || reflect.DeepEqual(p.Policy, q.Policy) }

// expired reports whether d has expired by the clock of d.plan. now is the time by the clock of
// plan, which saves a look at that clock if both plans are the same.
func (d *denial) expired(plan *weir.Plan, now int64) bool {
	if d.plan != plan {
		now = d.plan.Now()
	}
	return d.until <= now
}
