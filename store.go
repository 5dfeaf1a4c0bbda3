package weir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/line"
)

// A Store keeps the states of keys, and makes each decision in one atomic step. Callers only choose
// one, and [MemStore] is the default. The method and the rules are for implementers of stores.
//
// A Store must be safe for concurrent use. It should serve any number of limiters, with any
// policies. It also keeps the rules below. Package storetest checks most of them. It does not
// check, for example, whether the memory of a forgotten state is freed, whether [CheckState] is
// called, and which errors wrap [ErrRequest].
//
//   - Do reads the state of r.Name and r.Key, calls r.Decider on it, and writes the new state. No
//     other step on that state comes between the reading and the writing. If several steps are
//     concurrent, each sees all steps before it.
//   - Do decides at one instant. It reads the time as late as possible, with r.Now or from its
//     server's clock. It sets the answer's At to that time, and ServerTime if it is the server's.
//   - Two keys, or two names, do not share a state, whatever bytes they contain. Only new keys of
//     one name may share a state while the store is full, as in a [MemStore] with MaxKeys.
//   - The store forgets a state after [Decider.Expiry] has passed, at once or later, but not
//     earlier. If it cannot keep a state, it denies, or returns an error.
//   - If another policy than r's has counted in the state, or several policies have, the store
//     decides with a [Ledger] of that state.
//   - If a state comes from outside of the process, the store checks it with [CheckState].
//   - If r.Forget is set, Do forgets the state of the key, and calls no Decider.
//   - An error means that there is no decision. The Answer is then ignored. The error wraps
//     [ErrRequest] if the store works, but cannot decide this request.
//   - A Store that can block returns when ctx ends. It counts a request at most once, even if it
//     retries.
//
// A Store that has options, or that serves several limiters, should be an [Acceptor]. [New] then
// returns the errors of its method Accept.
//
// A Store may stand in front of another Store, and pass requests on to it, like the stores of
// package [github.com/weir-go/weir/fleet]. The Store in front also keeps these rules:
//
//   - It passes on the Plan as it is. It may compare Plans with [Plan.Equal].
//   - After Do has returned, it must no longer use memory of the caller. If it may pass the request
//     on later, it copies Key, Charges and ByComponent.
//   - In an answer that it makes itself, it sets At. If processes share the other Store, and an
//     answer is made without it, the Store in front sets Degraded, also in the results of
//     ByComponent.
//   - If it sets a time limit for a request, the time that [Waited] returns counts against this
//     limit.
type Store interface {
	// Do makes the decision that r asks for, in one step.
	Do(ctx context.Context, r Request) (Answer, error)
}

// A QuickStore is for implementers of stores. It is a [Store] that can decide the most common
// requests in memory, faster than Do. Stores need not implement it. [MemStore] does not, because
// limiters call it directly.
type QuickStore interface {
	Store

	// TakeQuickly decides on n events, all or none, as Do decides on Ask{N: n}. n is at least zero.
	// If only Do can decide, TakeQuickly returns false, and has changed nothing.
	// [KeyedLimiter.Allow] and [KeyedLimiter.Take] then call Do. TakeQuickly never blocks, and does
	// not allocate.
	//
	// It returns the Result itself, because a pointer to it would be allocated.
	TakeQuickly(p *Plan, key string, n int) (r Result, ok bool)
}

// A Request is for implementers of stores. It is what a limiter passes to its [Store].
type Request struct {
	*Plan        // the limiter, and how to decide
	Key   string // valid during the call; a Store that keeps it makes a copy
	Ask

	// If Forget is set, the Store forgets the state of the key, and does nothing else. The answer
	// is then ignored.
	Forget bool
}

// An error of a [Store] wraps ErrRequest if the store works, but cannot decide this request. For
// example, the store cannot hold the key or the policy, or too many calls change the state of the
// key at once.
//
// A store that passes requests on to another store must not take such an error for an outage of
// that store. Otherwise an attacker could switch the limits off with a key that the other store
// cannot hold.
var ErrRequest = errors.New("the request cannot be decided")

// A Plan is for implementers of stores. It holds what all requests of a limiter for keys with the
// same policy have in common. It is immutable, and safe for concurrent use.
type Plan struct {
	Name    string // the name of the limiter; see WithName
	Policy  Policy
	Decider Decider // of Policy
	clock   *clock.Nanos
	mem     atomic.Pointer[memPlan] // where a MemStore found it last
}

// Now returns the time of the limiter's clock, in nanoseconds since the Unix epoch. It never steps
// back.
func (p *Plan) Now() int64 { return p.clock.Now() }

// fits reports whether the policy ever grants n events at once.
func (p *Plan) fits(n int) bool {
	_, a := p.Decider.Decide(make([]uint64, p.Decider.Words()), p.Now(), Ask{N: n})
	return !a.neverFits(n)
}

func (p *Plan) rule() Rule { return Rule{Policy: p.Policy, Decider: p.Decider} }

// Equal reports whether p and q are plans of one limiter, with equal policies. They then decide
// alike. Plans of different limiters are not equal, because the limiters may read different clocks.
// p and q may be nil. Two nil plans are equal.
func (p *Plan) Equal(q *Plan) bool {
	return p == q || p != nil && q != nil && p.clock == q.clock && reflect.DeepEqual(p.Policy, q.Policy)
}

// Waited is for implementers of stores that bound the time of a request. The limiter may hold a
// request back until the store has answered other requests of the same key. Waited returns the time
// since the request began to wait for these answers, or 0 if it did not wait. Call Waited at the
// start of [Store.Do], with the ctx of Do. A later call also counts the time in the store.
//
// If several requests are held back together, all count as waiting since the first of them came.
// The time in which a caller of [KeyedLimiter.Wait] waits for its turn by the policy is not
// included. Waited returns 0 for requests that give back bookings, and for those by which a
// SetPolicy or Reset gives waiting callers new turns: the store's time limit for them should not be
// shortened. Waited measures in real time, whatever clock the limiter has.
func Waited(ctx context.Context) time.Duration {
	since, ok := ctx.Value(sinceKey{}).(time.Time)
	if !ok {
		return 0
	}
	return time.Since(since)
}

// sinceKey is the key of the instant since which a request has waited for its turn.
type sinceKey struct{}

// start starts an activity of the line of a key, which asks the store with the context that it
// returns: [Waited] returns how long it has waited.
func (k *KeyedLimiter) start(
	ctx context.Context, key string, kind line.Activity, w *line.Waiter,
) (*line.Line, context.Context, error) {
	ln, since, err := k.lines.Start(ctx, key, kind, w)
	if !since.IsZero() {
		ctx = context.WithValue(ctx, sinceKey{}, since)
	}
	return ln, ctx, err
}

// An Acceptor is for implementers of stores. It is a [Store] that can refuse to serve a limiter:
// [New] calls its method Accept with the limiter that it makes. Stores need not implement Acceptor.
//
//   - If the Store's own options have faults, Accept returns an error that names them.
//   - If a Store serves several limiters, its Accept refuses those that would share their keys by
//     accident. For this, Accept calls [AcceptNamed] if processes share the Store, and otherwise
//     [Limiters.Accept].
//   - If a Store passes requests on to another Store, its method Accept calls the function [Accept]
//     for that other Store.
type Acceptor interface {
	Store

	// Accept returns nil if the store can serve l. Otherwise it returns an error, which the error
	// of New wraps. With a nil l, Accept checks only the store itself, such as its options.
	Accept(l *KeyedLimiter) error
}

// Accept is for implementers of stores that pass requests on to another store, s. If s is an
// [Acceptor], Accept returns s.Accept(l), and otherwise nil. l may be nil. A nil s is an error.
func Accept(s Store, l *KeyedLimiter) error {
	if isNil(s) {
		return fmt.Errorf("weir: the Store is %s, must be a Store", nilText(s))
	}
	if a, ok := s.(Acceptor); ok {
		return a.Accept(l)
	}
	return nil
}

// AcceptNamed is for implementers of stores that processes share. It returns an error if l was made
// without [WithName]. Such a limiter would share its keys with unnamed limiters of other processes,
// and this process cannot see those. With a nil l, AcceptNamed returns nil.
func AcceptNamed(l *KeyedLimiter) error {
	if l == nil || l.plans.named {
		return nil
	}
	return errors.New("weir: a limiter on a store that processes share has no name, must have one: " +
		"set WithName, such as WithName(\"login\"), or WithName(\"\") if it is the only one")
}

// Limiters is for implementers of stores in memory. It is the set of the unnamed limiters that a
// [Store] serves. With it, a store refuses most limiters that would share their keys by accident,
// with different policies. A Store embeds Limiters, or has an Accept method that calls
// [Limiters.Accept].
//
// The zero value is ready. Limiters that are no longer used can be garbage collected. A Limiters
// must not be copied after first use, and is safe for concurrent use.
type Limiters struct {
	mu      sync.Mutex
	unnamed []unnamed // each has or had the first policy of the last
}

// unnamed is a limiter without a name. It may be garbage.
type unnamed struct {
	limiter weak.Pointer[KeyedLimiter]
	first   Policy
}

// Accept returns an error if l would share its keys by accident: if l and another limiter in use
// were both made without [WithName], and their policies differ. If [KeyedLimiter.SetPolicy] has
// changed the policy of the other limiter, Accept accepts that limiter's first policy, and also its
// present one. It also accepts the first policy of the last limiter that it accepted, whatever the
// policies of the others are.
func (ls *Limiters) Accept(l *KeyedLimiter) error {
	if l == nil || l.plans.named || l.plans.usual.Load() == nil {
		return nil
	}
	p := l.plans.usual.Load().Policy
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if n := len(ls.unnamed); n > 0 && !saySame(ls.unnamed[n-1].first, p) {
		for _, u := range ls.unnamed {
			if other := u.policy(); other != nil && !saySame(other, p) && !saySame(u.first, p) {
				return fmt.Errorf("weir: the store already serves a limiter without a name, of policy %v, "+
					"which would share its keys with this one, of policy %v: give each a name by WithName", other, p)
			}
		}
	}
	if len(ls.unnamed) == cap(ls.unnamed) { // before it grows
		ls.unnamed = slices.DeleteFunc(ls.unnamed, func(u unnamed) bool { return u.policy() == nil })
	}
	ls.unnamed = append(ls.unnamed, unnamed{weak.Make(l), p})
	return nil
}

// policy returns the limiter's current policy, or nil if it is no longer in use.
func (u unnamed) policy() Policy {
	if l := u.limiter.Value(); l != nil {
		if s := l.plans.usual.Load(); s != nil {
			return s.Policy
		}
	}
	return nil
}

var errState = fmt.Errorf("%w: the state of the key is none that a policy leaves", ErrRequest)

// CheckState is for implementers of stores whose states come from outside of the process. It
// returns an error that wraps [ErrRequest] if it finds that d never writes the given state.
//
// Deciders of other packages may have a method CheckState(state []uint64) error, which this
// function calls. If such a Decider lacks the method, the function accepts any state, with one
// exception: the state of a [WordDecider] must be one word, and not the largest uint64.
//
// The Deciders of this package return in bounded time, without a panic, whatever the state. Their
// answer to a state that they never write has no meaning. There is no such promise for Deciders
// that are composed of policies of other packages.
func CheckState(d Decider, state []uint64) error {
	switch c := d.(type) {
	case interface{ CheckState(state []uint64) error }:
		if err := c.CheckState(state); err != nil {
			return fmt.Errorf("%w: %w", errState, err)
		}
	case interface{ sound(state []uint64) bool }: // of this package
		if !c.sound(state) {
			return errState
		}
	case WordDecider:
		if len(state) != 1 || state[0] == math.MaxUint64 {
			return errState
		}
	}
	return nil
}

func sound(d Decider, state []uint64) bool { return CheckState(d, state) == nil }

// broken is the answer to a state that is not sound: a denial.
func broken() Answer { return Answer{Result: Result{RetryAfter: Never}} }
