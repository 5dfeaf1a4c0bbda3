// Package weir limits rates: the requests of a client, the logins of an account, the messages of a
// sender. Each request, login or message is an event. Make a limiter, and call Allow before you
// handle an event:
//
//	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: time.Minute}))
//	if !limiter.Allow(clientIP) {
//		return errTooManyRequests
//	}
//
// A key, such as a client's address, says whose event it is. A limiter has a separate allowance of
// events for each key. The limiter's [Policy] determines the allowance:
//
//   - [TokenBucket], [LeakyBucket], [FixedWindow], [SlidingWindow], [SlidingLog] and
//     [CalendarWindow] are single policies.
//   - [All] and [Tiers] combine several policies.
//   - [SingleRateMarker] and [TwoRateMarker] limit events, and also mark each granted event green
//     or yellow.
//
// The limiter's [Store] keeps the counts. Without [WithStore], they are in memory. With the store
// of module redisstore, for example, processes can share the counts. Package
// [github.com/weir-go/weir/fleet] lets limiters decide while a shared store is down.
//
// Most callers need [KeyedLimiter.Allow], [KeyedLimiter.Take] or [KeyedLimiter.Wait].
// [KeyedLimiter.TakeUpTo] is for work that can be done in parts. [KeyedLimiter.Reserve] is for work
// whose number of events is known only afterwards. [KeyedLimiter.ReserveNow] helps to take events
// from all of several limiters, or from none. Policies can be read from text ([ParsePolicy]),
// chosen by key ([WithPolicyFor]), changed in use ([KeyedLimiter.SetPolicy]), and tried on live
// traffic ([Shadow]). Package [github.com/weir-go/weir/httplimit] limits HTTP requests.
//
// While the policy of a key stays the same, a limiter follows that policy exactly: it grants no
// event too many or too few. Its times are exact to the nanosecond with a [MemStore], and to the
// microsecond with a store in Redis or PostgreSQL. Exceptions are, for example, a MemStore that has
// reached its MaxKeys, a server that loses states, and the stores of package fleet. A request that
// the policy denies uses up nothing of the allowance. A limiter has no background goroutine and
// does not have to be closed.
//
// These names are for implementers of stores and policies, and callers can skip them: [Accept],
// [AcceptNamed], [Acceptor], [Answer], [Ask], [Charge], [CheckState], [Decider], [ErrRequest],
// [GrantMode], [Hold], [Holder], [Ledger], [Limiters], [Plan], [QuickStore], [Request], [Rule],
// [Waited] and [WordDecider].
package weir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/line"
	"github.com/weir-go/weir/internal/resets"
)

// Limiter is the interface that callers and middleware accept. [New] returns one, a
// *[KeyedLimiter]. All methods are safe for concurrent use.
//
//   - Allow is for most callers.
//   - Take reports details, and can take several events at once.
//   - Wait blocks until the events may happen. It is for work that can be done later.
//
// The answers of a [Shadowed] may differ from what is said here: see [Shadow].
type Limiter interface {
	// Allow reports whether one event for key may happen now. If it may, Allow counts it. If there
	// is no decision, for example because the store fails, Allow reports false.
	Allow(key string) bool

	// Take takes n events at once: all are granted, or none. With n = 0 it only looks, and counts
	// nothing. A denial is not an error. An error means that there is no decision. The Result is
	// then zero, which denies. An n below 0 and a ctx that has ended are errors.
	Take(ctx context.Context, key string, n int) (Result, error)

	// Wait blocks until n events for key may happen, and returns nil. The events are then counted.
	// With n = 0 it does not wait. An n below 0 is an error. The other errors are:
	//
	//   - [ErrTooLate]: the turn would come after the deadline of ctx, or after the year 2262.
	//   - [ErrNeverFits]: n is above what the policy ever grants at once.
	//   - [ErrQueueFull]: the policy's queue has no room.
	//   - The error of ctx, if ctx has ended before the call or during the wait. A booked place is
	//     given back. In the cases that [KeyedLimiter.Wait] lists, it may stay charged.
	//   - The error of the store, if the store failed. Wait's error does not wrap [io.EOF]. If a
	//     Read method returned such an error, its caller would believe that everything was read.
	//   - The error of an invalid policy, if [WithPolicyFor] chose one.
	//
	// Test for these errors with errors.Is. Wait usually returns the first three without waiting
	// for a turn, and counts nothing. It may return them later if they depend on other calls. But
	// if [KeyedLimiter.SetPolicy] was called during the wait, what this Wait had booked before may
	// stay charged.
	Wait(ctx context.Context, key string, n int) error
}

// The bools of a Result share a word, because Take takes 5 % longer to return one word more.

// A Result is the answer to [Limiter.Take]. The zero Result denies. Some stores of package fleet
// answer with approximate numbers and times.
type Result struct {
	Allowed    bool          // whether the events may happen
	Degraded   bool          // decided without the shared store: see package fleet
	Limit      int           // the most events that can be granted at once
	Remaining  int           // the most events that one request would be granted now
	RetryAfter time.Duration // until the same request is granted, if nothing else happens; 0 if allowed, Never if it never fits
	ResetAfter time.Duration // until the key has fully recovered, if nothing else happens; not the time to retry
	MoreAfter  time.Duration // until more remain, if nothing else happens; only TakeByComponent and ReserveNow set it; 0 if not known, or if all remain
	DecidedBy  int           // the component, tier or color that decided: see All, Tiers and the markers; else 0
}

// Never is the RetryAfter of a request that can never be granted. It also stands for times that are
// too long for a time.Duration, which holds 292 years. While events of another policy still count,
// as after a [KeyedLimiter.SetPolicy], it also stands for times that end after the year 2262.
const Never time.Duration = math.MaxInt64

// If [Limiter.Wait] denies the events, its error wraps one of these.
var (
	ErrTooLate   = errors.New("the turn would come after the context's deadline")
	ErrNeverFits = errors.New("more events than the policy ever grants at once")
	ErrQueueFull = errors.New("the policy's queue is full")
)

// KeyedLimiter is a [Limiter] with one allowance per key. [New] makes it. A nil or zero one denies,
// and its methods return errors. It is safe for concurrent use.
type KeyedLimiter struct {
	plans  plans
	store  Store
	mem    *MemStore  // the store if it is a MemStore, else nil: Allow then calls it without the interface
	quick  QuickStore // the store if it is a QuickStore, else nil
	lines  line.Lines
	resets resets.Resets
}

var _ Limiter = (*KeyedLimiter)(nil)

// New returns a limiter for the policy. Without [WithStore] it keeps its state in memory, in a
// [MemStore] of its own. An error names the faults of the policy and of the options. It is a fault
// if the policy, store or clock is nil, or a nil pointer in an interface.
func New(p Policy, opts ...Option) (*KeyedLimiter, error) {
	k := &KeyedLimiter{plans: plans{clock: new(clock.Nanos)}}
	var err error
	for _, opt := range opts {
		if opt == nil {
			opt = func(unfinished) error { return errors.New("weir: New with a nil Option") }
		}
		err = errors.Join(err, opt(unfinished{k}))
	}
	plan, fault := k.plans.newPlan(valueOf(p))
	k.plans.usual.Store(plan)
	err = errors.Join(fault, err)
	if k.store != nil {
		err = errors.Join(err, Accept(k.store, k))
	} else {
		k.store = new(MemStore)
	}
	k.mem, _ = k.store.(*MemStore)
	k.quick, _ = k.store.(QuickStore)
	k.lines.Remote = k.mem == nil
	if err != nil {
		k.plans.usual.Store(nil) // a store may have accepted k: it then finds that k is not in use
		return nil, err
	}
	return k, nil
}

// Must returns l, and panics if err is not nil. It wraps a call of [New] that can fail only by a
// mistake of the program, such as an invalid policy.
func Must(l *KeyedLimiter, err error) *KeyedLimiter {
	if err != nil {
		panic(err)
	}
	return l
}

// An Option changes a limiter that [New] makes.
type Option func(unfinished) error

// An unfinished limiter is one that New makes. No other package can name it, so that none can apply
// an Option to a limiter in use.
type unfinished struct{ *KeyedLimiter }

// WithStore sets the store that keeps the limiter's state. Several limiters can share a store. Give
// each a name with [WithName]. Limiters without a name on one store share their keys. If their
// policies differ, this is a mistake. [New] then returns an error if the store is an [Acceptor]
// that refuses the limiter: see [Limiters.Accept]. New cannot see the limiters of other processes.
// With a store that processes share, each limiter therefore needs a name.
func WithStore(s Store) Option {
	return func(k unfinished) error {
		if isNil(s) {
			return fmt.Errorf("weir: WithStore(%s), must be a Store", nilText(s))
		}
		k.store = s
		return nil
	}
}

// WithClock sets the clock, for tests. A store with a clock of its own uses that clock instead.
// Limiters of one name on one store must have the same clock.
//
// [KeyedLimiter.Wait] and [KeyedLimiter.Reserve] compare the deadline of their context with this
// clock. Contexts of package context use real time or, in a testing/synctest bubble, the time of
// the bubble. Use deadlines only if c shows nearly the same time as the clock of these contexts.
func WithClock(c Clock) Option {
	return func(k unfinished) error {
		if isNil(c) {
			return fmt.Errorf("weir: WithClock(%s), must be a Clock", nilText(c))
		}
		k.plans.clock.Clock = c
		return nil
	}
}

// A Clock reads the time and waits. It must be safe for concurrent use.
//
// Without a Clock, a limiter reads the system's wall clock once, when the process starts, and from
// then on its monotonic clock. This matters with a store that has no clock of its own:
//
//   - If the wall clock is changed later, the windows of [CalendarWindow], [SlidingWindow], and
//     [FixedWindow] without FromFirst start too early or too late, by the size of the change, until
//     the process is restarted.
//   - Most monotonic clocks stand still while the machine sleeps. Keys then recover later, and
//     windows start too late.
//
// In a testing/synctest bubble, a limiter without a Clock reads the bubble's clock. A Clock of your
// own can make tests deterministic. The clocks of github.com/benbjohnson/clock fit without an
// adapter.
//
// Limiters keep time in nanoseconds, for instants from 1970 to April 2262. An instant outside of
// that range counts as the nearest instant in it. If a Clock steps back, a limiter keeps the latest
// instant that it saw, until the Clock has caught up.
type Clock interface {
	// Now returns the time, as time.Now does.
	Now() time.Time

	// After returns a channel that receives once d has passed, as time.After does.
	After(d time.Duration) <-chan time.Time
}

// WithName sets the name of the limiter on its store. Limiters with the same name on one store
// share the allowance of each key. This includes limiters in other processes, if processes share
// the store. If the policies of such limiters differ, events that one limiter has counted also
// count against the others, as they do after a [KeyedLimiter.SetPolicy]. A name that is copied by
// mistake therefore merges two limits: one limiter can deny because of events that the other has
// counted. New returns no error in this case.
//
// On a store that processes share, WithName is required.
//
// WithName("") sets the same name that a limiter without WithName has. It declares that this
// limiter is meant to share its keys with other limiters of that name.
func WithName(name string) Option {
	return func(k unfinished) error {
		k.plans.name, k.plans.named = name, true
		return nil
	}
}

// errNotMade is the error of a nil or zero KeyedLimiter, which denies everything.
var errNotMade = errors.New("weir: this KeyedLimiter is nil or zero, must be made by New")

// check returns an error if a call for n events is invalid.
func (k *KeyedLimiter) check(ctx context.Context, n int) error {
	switch {
	case k == nil || k.store == nil:
		return errNotMade
	case n < 0:
		return errNegative
	}
	return ctx.Err()
}

// patience returns how long ctx allows its caller to wait.
func (k *KeyedLimiter) patience(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return k.plans.clock.Until(deadline)
}
