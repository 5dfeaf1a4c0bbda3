package weir

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"
)

// A Store keeps the states of keys, and makes each decision in one atomic step. Callers only choose
// one, and [MemStore] is the default. The method and the rules are for implementers of stores.
//
// A Store must be safe for concurrent use. It serves any number of limiters with any policies.
// Package storetest checks these rules:
//
//   - Do reads the state of r.Name and r.Key, calls r.Decider on it, and writes the new state. No
//     other step on that state comes between. Each of several concurrent steps sees all steps
//     before it.
//   - Do reads the time once, as late as possible: with r.Now, or from its server's clock. It sets
//     the answer's At to that time, and ServerTime if it is the server's.
//   - Two keys, or two names, never share a state, whatever bytes they contain.
//   - The store forgets a state when [Decider.Expiry] has passed, but not earlier. If it cannot
//     keep a state, it denies.
//   - If another policy or several policies of the same name have left the state, a [Ledger] of
//     that state decides.
//   - If a state comes from outside of the process, the store checks it with [CheckState].
//   - If r.Forget is set, Do forgets the state of the key, and calls no Decider.
//   - An error means that there is no decision. The Answer is then ignored. The error wraps
//     [ErrRequest] if it is about the request, and the store works.
//   - A Store that can block returns when ctx ends. It counts a request at most once, even if it
//     retries.
//
// A Store may stand in front of another, and pass requests on. A Store that has options, or that
// serves several limiters, should be an [Acceptor]. [New] then reports its faults.
type Store interface {
	// Do makes the decision that r asks for, in one step.
	Do(ctx context.Context, r Request) (Answer, error)
}

// A Request is for implementers of stores. It is what a limiter passes to its [Store].
type Request struct {
	*Plan        // the limiter, and how to decide
	Key   string // valid during the call; a Store that keeps it makes a copy
	Ask

	// Forget says to forget the state of the key, and to do nothing else. The answer is then
	// ignored.
	Forget bool
}

// An error of a [Store] wraps ErrRequest if this request cannot be decided although the store
// works. For example, the store cannot hold that key or that policy, or too many calls change the
// key at once.
//
// A store in front of another must not count such an error as an outage. Otherwise an attacker with
// such a key could switch the limits off.
var ErrRequest = errors.New("the request cannot be decided")

// A Plan is for implementers of stores. It is how a limiter decides on a key: what all requests for
// keys with the same policy have in common. It is immutable, and safe for concurrent use.
type Plan struct {
	Name    string // the name of the limiter; see WithName
	Policy  Policy
	Decider Decider // of Policy
	clock   *nanoClock
	mem     atomic.Pointer[memScope] // where a MemStore found it last
}

// Now returns the time of the limiter's clock, in nanoseconds since the Unix epoch. It never steps
// back.
func (p *Plan) Now() int64 { return p.clock.now() }

// Equal reports whether requests of p and q always have the same answers: whether their names, their
// policies and their clocks are the same. p and q may be nil.
func (p *Plan) Equal(q *Plan) bool {
	return p == q || p != nil && q != nil && p.Name == q.Name && p.clock == q.clock && reflect.DeepEqual(p.Policy, q.Policy)
}

// Waited is for implementers of stores that bound the time of a request. It returns how long the
// request has waited in the limiter for other requests of its key, before it came to the store. ctx
// is the context of [Store.Do]. It is real time, whatever clock the limiter has.
func Waited(ctx context.Context) time.Duration {
	since, ok := ctx.Value(sinceKey{}).(time.Time)
	if !ok {
		return 0
	}
	return time.Since(since)
}

// sinceKey is the key of the instant since which a request has waited for its turn.
type sinceKey struct{}
