package weir

import (
	"math"
	"time"
)

// A Policy says what a limiter allows. Those of this package are [TokenBucket], [LeakyBucket],
// [FixedWindow], [SlidingWindow], [SlidingLog] and [CalendarWindow], which count events,
// [All] and [Tiers], which are composed of others, and [SingleRateMarker] and [TwoRateMarker]. They
// are plain values, which can be compared, printed, and read from text: see [ParsePolicy].
//
// Other packages can add policies; package storetest shows one.
type Policy interface {
	// Decider checks the policy and returns its algorithm. An error names every fault of the
	// policy, with the value given and what is allowed.
	Decider() (Decider, error)
}

// A Decider is the algorithm of a [Policy], a pure function on a short run of 64-bit words. It
// knows no clock, lock, key or store, so that any [Store] can run any Decider. It is immutable, and
// safe for concurrent use.
//
// The rules for implementers:
//
//   - The state of a key never seen is Words() words of zero.
//   - Instants are nanoseconds since the Unix epoch, never negative. An instant
//     older than one the state has seen earns nothing.
//   - A denial, and a look (N = 0), leave the state unchanged.
//   - Nothing wraps around: where a true value does not fit, the answer is a denial.
type Decider interface {
	// Words is the number of words of a new state.
	Words() int

	// Decide answers ask at the instant now. It updates state in place and returns it; a policy
	// whose states grow may append to it, or return a shorter part of it.
	Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer)

	// Expiry is the first instant from which on state answers every ask as a new state does. A store
	// may forget it then, and not before. math.MaxInt64 stands for all instants that an int64 cannot
	// hold, and so for never.
	Expiry(state []uint64) int64
}

// A WordDecider is a [Decider] whose states are a single word at all times. A store may then keep
// the word where it can exchange it atomically, and need no lock. No state of a WordDecider is the
// largest uint64: a store may mark a word with that.
type WordDecider interface {
	Decider

	// DecideWord is Decide for the word state. It returns the new word.
	DecideWord(state uint64, now int64, ask Ask) (uint64, Answer)
}

// A wordAdmitter is a [WordDecider] that has a short way for the commonest asks, those of
// [Keyed.Allow] and [Keyed.Take].
type wordAdmitter interface {
	// admitWord asks for one event, and tells only whether it is granted. Making up the whole answer
	// takes as long again as everything else.
	admitWord(state uint64, now int64) (next uint64, granted bool)

	// takeWord asks for all or none of n events, at least zero, and tells of the Result what can
	// change.
	takeWord(state uint64, now int64, n int) (next uint64, r shortResult)

	// limitAtOnce is the Limit of every Result.
	limitAtOnce() int
}

// A shortResult is a [Result] that is handed on in registers: one of more than four fields is not, and
// copying it from call to call takes as long as deciding.
type shortResult struct {
	remaining              int
	retryAfter, resetAfter time.Duration // allowed if retryAfter is zero (R4)
}

func (r Result) short() shortResult { return shortResult{r.Remaining, r.RetryAfter, r.ResetAfter} }

// An admitter is the same for a [Decider] whose states are of more words.
type admitter interface {
	admit(state []uint64, now int64) (next []uint64, granted bool)
}

// An Ask is what a [Decider] is asked for.
type Ask struct {
	// N is the number of events. 0 looks, and changes nothing. Below zero it gives back -N events
	// that were granted before.
	N int

	// MaxWait is how far ahead the caller is prepared to be granted the events. If it is above
	// zero, a policy that keeps a queue may grant them for a later instant, which the answer tells
	// in Delay. Policies without a queue answer as if it were zero. It is zero unless How is
	// AllOrNone.
	MaxWait time.Duration

	// How says what to do if not all of N can be granted.
	How How

	// GrantedAt, for an N below zero, is the instant at which the events were granted: the At of
	// that answer, or 1 if that is zero. The policy then gives back only what it still counts of
	// what was granted until that instant. Zero means that the grant is not known; the latest
	// events are given back.
	GrantedAt int64

	// Charges, if not nil, names the grant. For an N above zero, it is where the policy puts what
	// it charges, in place of what is there. For an N below zero, with a GrantedAt, it is what the
	// grant was charged.
	Charges *[]Charge

	// Parts, if not nil, is where a policy that is composed of others puts the results of its
	// parts, in place of what is there. Other policies leave it alone.
	Parts *[]Result
}

// A Charge is what a grant was charged by one policy. A policy that is composed of others has a
// Charge for each of those that are not composed, in their order.
type Charge struct {
	N      int           // events; zero for a tier that did not pay
	Before time.Duration // ResetAfter as it was before
	For    time.Duration // ResetAfter since: for so long the events count at most
}

// until is the instant until which the events of a charge that was made at the instant at count.
func (c Charge) until(at int64) int64 { return saturatingAdd(at, c.For) }

// until is the instant until which what is given back counts, or math.MaxInt64 if that is not known.
func (a Ask) until() int64 {
	if a.GrantedAt == 0 || a.Charges == nil || len(*a.Charges) != 1 {
		return math.MaxInt64
	}
	return (*a.Charges)[0].until(a.GrantedAt)
}

// How says what is to be done if not all the events of an [Ask] can be granted.
type How uint8

const (
	// AllOrNone grants all of the events, or none.
	AllOrNone How = iota

	// UpTo grants as many as there are, and tells how many in Granted. It is a denial if there is none;
	// RetryAfter is then the time until there is one.
	UpTo

	// Regardless grants all of them in any case. It is for what has happened already. What goes
	// beyond the allowance is a debt, which those who come later have to wait for.
	Regardless
)

// An Answer is what a [Decider] answers.
type Answer struct {
	Result

	// Delay is how long after now the granted events may go ahead; above zero only for an ask with
	// MaxWait. In a denial of such an ask by a policy that keeps a queue it is the delay that was
	// too long; one that keeps none denies with zero. After giving back it is by how much those
	// behind can move up.
	Delay time.Duration

	// QueueFull tells that the policy's queue has no room, however long the caller waits in it.
	QueueFull bool

	// Granted is how many events were granted, if the ask was for UpTo.
	Granted int

	// At is the instant of the decision, by the clock that decided. It is the Store that sets it, as
	// well as the next.
	At int64
}

// never is the answer to an ask for more than can ever fit, on top of what a look at the state
// answers.
func (a Answer) never() Answer {
	a.Allowed, a.RetryAfter = false, Never
	return a
}
