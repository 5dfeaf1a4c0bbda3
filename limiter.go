// Package weir limits rates: how often a client may call, a login be tried, a message go out. Make
// a limiter, and ask it before the work:
//
//	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute}))
//	if !limiter.Allow(clientIP) {
//		return errTooManyRequests
//	}
//
// A limiter has an allowance for each key. How events are counted is its [Policy]: [TokenBucket],
// [LeakyBucket], [FixedWindow], [SlidingWindow], [SlidingLog] or [CalendarWindow], or several at once
// by [All] or [Tiers]. Where the counts are kept is its [Store]: in memory, unless [WithStore] gives
// another, such as that of module redisstore, which processes share.
//
// Most callers need [Keyed.Allow], [Keyed.Take] or [Keyed.Wait]. [Keyed.TakeUpTo] is for bulk work,
// and [Keyed.Reserve] for costs that show only afterwards. Policies can be read from text
// ([ParsePolicy]), chosen by key ([WithPolicyFor]), and changed in use ([Keyed.SetPolicy]).
//
// Every answer is what the policy says, to the event and to the nanosecond (in Redis, to the
// microsecond), and a denial consumes nothing. A limiter has no goroutine and needs no closing.
package weir

import (
	"context"
	"errors"
	"math"
	"time"
)

// Limiter is what callers and middleware accept. *[Keyed] is the one that [New] makes. All methods
// are safe for concurrent use.
//
// Allow is for most callers. Take tells more and takes more at once. Wait holds the caller back
// instead of refusing it, and so is for work that is better late than never.
type Limiter interface {
	// Allow reports whether one event for key may happen now, and counts it if so. If there is no
	// decision, because the store failed, it reports false.
	Allow(key string) bool

	// Take asks for n events at once: all are granted, or none. With n = 0 it looks, and counts
	// nothing. A denial is not an error. An error means that there is no decision; the Result is
	// then zero, and so denies. An n below 0 and a ctx that has ended are errors.
	Take(ctx context.Context, key string, n int) (Result, error)

	// Wait waits until n events for key may happen, and counts them. It returns nil when they may;
	// with n = 0, at once. It fails, and nothing is counted, with an error that wraps ErrTooLate if
	// they could not happen before the deadline of ctx, ErrNeverFits if never, and ErrQueueFull if
	// the policy's queue has no room: at once, unless that depends on others who wait. If ctx ends
	// while it waits it returns the error of ctx; what it had booked is given back, if the store
	// takes it within a second. An n below 0, a ctx that has ended, and a failure of the store
	// are errors.
	Wait(ctx context.Context, key string, n int) error
}

// A Result is the answer to [Limiter.Take]. The zero Result denies.
type Result struct {
	Allowed    bool          // whether the events may happen
	Limit      int           // the most events that can be granted at once
	Remaining  int           // the most events that one ask would be granted now
	RetryAfter time.Duration // until the same ask is granted, if nobody else asks; 0 if allowed, Never if it never fits
	ResetAfter time.Duration // until the key, left alone, is as if never seen; not when to ask again
	Part       int           // the part that decided: see All, Tiers and the markers; else 0
	Degraded   bool          // decided without the shared store: see Fallback and FailOpen
}

// Never is the RetryAfter of an ask that can never be granted.
const Never time.Duration = math.MaxInt64

// What the errors of [Limiter.Wait] wrap.
var (
	ErrTooLate   = errors.New("the turn would come after the context's deadline")
	ErrNeverFits = errors.New("more events than the policy ever grants at once")
	ErrQueueFull = errors.New("the policy's queue is full")
)

// Keyed is a [Limiter] with one allowance per key. It is made by [New], and safe for concurrent
// use.
type Keyed struct {
	plans plans
	store Store
	mem   *MemStore // store if it is one, else nil: spares Allow the way through the interface
	lines lines
}

var _ Limiter = (*Keyed)(nil)

// New returns a limiter for the policy. Without options it keeps its state in memory, in a
// [MemStore] of its own. An error names every fault of the policy, which may not be nil or a nil pointer, and of
// the options.
func New(p Policy, opts ...Option) (*Keyed, error) {
	k := &Keyed{plans: plans{clock: new(nanoClock)}}
	var err error
	for _, opt := range opts {
		if opt == nil {
			opt = func(*Keyed) error { return errors.New("weir: New with a nil Option") }
		}
		err = errors.Join(err, opt(k))
	}
	scope, fault := k.plans.newScope(p)
	k.plans.usual.Store(scope)
	if k.plans.forKey != nil {
		k.plans.known = newKnownPlans()
	}
	err = errors.Join(fault, err)
	if k.store != nil {
		err = errors.Join(err, Accept(k.store, k))
	} else {
		k.store = new(MemStore)
	}
	k.mem, _ = k.store.(*MemStore)
	if err != nil {
		k.plans.usual.Store(nil) // for a store that has accepted it
		return nil, err
	}
	return k, nil
}

// Must returns l, and panics if err is not nil. It wraps a call of [New] whose policy is known to
// be good.
func Must(l *Keyed, err error) *Keyed {
	if err != nil {
		panic(err)
	}
	return l
}

// An Option changes a limiter that [New] makes.
type Option func(*Keyed) error

// WithStore sets where the limiter keeps its state. Several limiters can share a store; give each a
// name by [WithName]. Those without one have the same, empty name, and share their keys. If their policies
// differ, [New] takes that for a mistake, and returns an error, as far as the store is an [Acceptor].
func WithStore(s Store) Option {
	return func(k *Keyed) error {
		if s == nil {
			return errors.New("weir: WithStore(nil), must be a Store")
		}
		k.store = s
		return nil
	}
}

// WithClock sets the clock, for tests. A store that has a clock of its own does not use it for its
// decisions. [Keyed.Wait] and [Keyed.Reserve] compare the deadline of their context with this clock, so
// contexts of package context fit one that is near the real time, as in a testing/synctest bubble.
func WithClock(c Clock) Option {
	return func(k *Keyed) error {
		if c == nil {
			return errors.New("weir: WithClock(nil), must be a Clock")
		}
		k.plans.clock.Clock = c
		return nil
	}
}

// WithName sets the name that tells limiters on one store apart. Those with the same name share the
// allowance of each key, even across processes where the store does. If their policies differ, what
// a key has used up by one still counts for the others, as [Keyed.SetPolicy] tells. WithName("") is
// the name of limiters without one, and says that they are meant to share.
func WithName(name string) Option {
	return func(k *Keyed) error {
		k.plans.name, k.plans.named = name, true
		return nil
	}
}

// errNotMade fails a nil or zero Keyed closed: it denies, and says why where it can.
var errNotMade = errors.New("weir: this Keyed is nil or zero, must be made by New")

// Allow implements [Limiter]: it reports whether one event for key may happen now, and counts it if
// so. It is false, too, if the store fails, or a policy of [WithPolicyFor] is at fault. It has no context:
// over a network it takes as long as the store allows itself, which [Fallback] bounds, and the
// context of [Keyed.Take]. It is safe for concurrent use.
func (k *Keyed) Allow(key string) bool {
	if k == nil || k.store == nil {
		return false
	}
	scope, err := k.plans.scope(context.Background(), key)
	if err != nil {
		return false
	}
	if k.mem != nil {
		return k.mem.allow(scope, key)
	}
	a, err := k.store.Do(context.Background(), Request{Scope: scope, Key: key, Ask: Ask{N: 1}})
	return err == nil && a.Allowed
}

// Take implements [Limiter]: it asks for n events of key at once, all or none. With n = 0 it looks,
// and counts nothing. A denial is no error. On an error there is no decision, and the Result is zero, which
// denies: an n below 0, a ctx that has ended, a policy of [WithPolicyFor] at fault, or a failure of
// the store, after which it is not known whether the events were counted. It is safe for concurrent
// use.
func (k *Keyed) Take(ctx context.Context, key string, n int) (Result, error) {
	if err := k.check(ctx, n); err != nil {
		return Result{}, callError("Take of", n, err)
	}
	scope, err := k.plans.scope(ctx, key)
	if err != nil {
		return Result{}, callError("Take of", n, err)
	}
	if k.mem != nil {
		if limit, r, ok := k.mem.take(scope, key, n); ok {
			return Result{
				Allowed: r.retryAfter == 0, Limit: limit,
				Remaining: r.remaining, RetryAfter: r.retryAfter, ResetAfter: r.resetAfter,
			}, nil
		}
	}
	a, err := k.store.Do(ctx, Request{Scope: scope, Key: key, Ask: Ask{N: n}})
	if err != nil {
		return Result{}, callError("Take of", n, err)
	}
	return a.Result, nil
}
