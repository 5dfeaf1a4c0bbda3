package weir

import (
	"context"
	"reflect"
	"sync/atomic"
)

// A Store keeps the states of keys and makes each decision in one atomic step. [MemStore] is the
// one in memory, and the default.
//
// A Store must be safe for concurrent use, and serves any number of limiters with any policies.
// Package storetest checks all that is asked of one:
//
//   - Do reads the state of r.Name and r.Key, lets r.Decider decide on it, and writes the new state, such
//     that no other step on that state comes between. Of concurrent
//     steps, each sees all those before it.
//   - It reads the time once, as late as it can: by r.Now, or from its server's clock. It tells it in
//     the answer's At.
//   - Two keys, or two names, never share a state, whatever bytes they hold.
//   - It forgets a state when [Decider.Expiry] has passed, and not before. If it cannot
//     keep a state, it denies.
//   - If the state was left by another policy, or by several, under the same name, a [Ledger] of it
//     decides.
//   - A state that comes back from outside of the process is checked by [CheckState].
//   - If r.Forget is set it forgets the state of the key, and runs no Decider.
//   - An error means that there is no decision, and that the Answer is to be ignored. One that is about the
//     request, while the store is well, wraps [ErrRequest]. A Store that can block
//     returns within ctx, and counts a request once at most, even if it retries.
//
// A Store may stand in front of another, and pass requests on. A Store that has options, or serves several
// limiters, should be an [Acceptor]: that is how New reports faults.
type Store interface {
	// Do makes the decision that r asks for, in one step.
	Do(ctx context.Context, r Request) (Answer, error)
}

// A Request is what a limiter asks its [Store].
type Request struct {
	*Scope        // whose key it is, and how to decide
	Key    string // valid during the call; a Store that keeps it makes a copy
	Ask

	// Forget asks for nothing but that the key be as if never seen. The answer is then ignored.
	Forget bool

	read *atomic.Int64 // what Now told last, for a limiter that wants to know it; or nil
}

// Now is the time by the limiter's clock, in nanoseconds since the Unix epoch. It never steps back.
// A store that decides by another clock must not call it: a limiter takes it for the instant
// of the decision.
func (r Request) Now() int64 {
	now := r.Scope.Now()
	r.tell(now)
	return now
}

// tell tells the limiter, if it wants to know, that the decision is made at the instant now.
func (r Request) tell(now int64) {
	if r.read != nil {
		r.read.Store(now)
	}
}

// A Scope is what the requests of one limiter have in common. It is immutable, and safe for
// concurrent use.
type Scope struct {
	Name    string // tells the limiters on a Store apart
	Policy  Policy
	Decider Decider // of Policy
	clock   *nanoClock
	mem     atomic.Pointer[memScope] // where a MemStore found it last
}

// Now is the time by the limiter's clock, in nanoseconds since the Unix epoch. It never steps back.
func (s *Scope) Now() int64 { return s.clock.now() }

// equals tells whether the requests of s and t are answered alike, at all times.
func (s *Scope) equals(t *Scope) bool {
	return s == t || s != nil && t != nil && s.Name == t.Name && s.clock == t.clock && samePolicy(s, t)
}

func samePolicy(s, t *Scope) bool { return s == t || reflect.DeepEqual(s.Policy, t.Policy) }
