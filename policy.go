package weir

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// A Policy says what a limiter allows. Callers choose one. The method is for implementers. The
// policies of this package are:
//
//   - [TokenBucket], [LeakyBucket], [FixedWindow], [SlidingWindow], [SlidingLog] and
//     [CalendarWindow], which count events
//   - [All] and [Tiers], which are composed of others
//   - [SingleRateMarker] and [TwoRateMarker]
//
// They are plain values, which can be compared, printed, and read from text: see [ParsePolicy].
// This holds for All and Tiers if it holds for their components. If a policy of this package is
// given as a pointer, [New], [KeyedLimiter.SetPolicy], [All] and [Tiers] copy it.
//
// Other packages can add policies. Package storetest shows one. A policy of another package is not
// copied, and must not change.
type Policy interface {
	// Decider checks the policy and returns its algorithm. An error names the faults of the policy,
	// each with its value and the allowed range.
	Decider() (Decider, error)
}

// maxInstant is the latest instant, in nanoseconds since the Unix epoch: in the year 2262.
const maxInstant = math.MaxInt64

// A Decider is for implementers of stores and policies. It is the algorithm of a [Policy]: a pure
// function on a slice of 64-bit words. It has no clock, lock, key or store. Any [Store] can
// therefore run any Decider whose states it can hold. A Decider gives the same answer to the same
// state, instant and ask, and is safe for concurrent use.
//
// The rules for implementers:
//
//   - The state of a new key is Words() words of zero.
//   - Instants are nanoseconds since the Unix epoch, never negative. If now lies before an instant
//     that the state has seen, the key earns no events.
//   - A denial and a look (N = 0) leave the state unchanged.
//   - In the answer to a look or a give-back (N below 0), Allowed is true.
//   - Numbers never wrap around. If the true value of a number does not fit its type, the largest
//     value of the type stands for it, or the answer is a denial.
//   - While time passes and nothing is granted, the number of events left should not shrink. If it
//     shrinks, for example because a policy grants less after office hours, a RetryAfter may be too
//     short: in an [All] or [Tiers] with this policy, and after any change of policy.
type Decider interface {
	// Words returns the number of words of a new state.
	Words() int

	// Decide answers ask at the instant now. It updates state in place and returns it. A policy
	// whose states grow may append to it, or return a shorter part of it.
	Decide(state []uint64, now int64, ask Ask) ([]uint64, Answer)

	// Expiry returns the instant from which on Decide gives the same answers for state as for a new
	// state. A store may forget the state from then on, but not earlier. math.MaxInt64 stands for
	// never, and for all instants that an int64 cannot hold.
	Expiry(state []uint64) int64
}

// A WordDecider is for implementers of stores and policies. It is a [Decider] whose states always
// have one word. A store may exchange that word atomically, without a lock. The largest uint64 is
// never a state of a WordDecider. A store may write it in place of a state, for example to mark
// that the entry has moved.
type WordDecider interface {
	Decider

	// DecideWord is Decide for a state of one word. It returns the new word.
	DecideWord(state uint64, now int64, ask Ask) (uint64, Answer)
}

// A wordAdmitter is a [WordDecider] with a short path for the most common asks, such as those of
// [KeyedLimiter.Allow] and [KeyedLimiter.Take].
type wordAdmitter interface {
	// admitWord asks for one event, and reports only whether it is granted. To make the whole
	// answer would take as long as everything else together.
	admitWord(state uint64, now int64) (next uint64, granted bool)

	// takeWord asks for all or none of n events, at least zero. It returns the fields of the Result
	// that can change.
	takeWord(state uint64, now int64, n int) (next uint64, r shortResult)

	// more returns the MoreAfter of a Result of takeWord. next is the state that takeWord returned.
	more(next uint64, now int64, r shortResult) time.Duration

	// charge sets c to the Charge of n events, at least one, that takeWord has granted.
	charge(c *Charge, next uint64, now int64, n int, r shortResult)

	// allowance is the Limit of every Result.
	allowance() uint64
}

// A shortResult is a [Result] that fits in registers. A struct of more than four fields does not,
// and to copy it from call to call takes as long as a decision.
type shortResult struct {
	remaining              int
	retryAfter, resetAfter time.Duration // allowed if retryAfter is zero (R4)
}

func (r Result) short() shortResult { return shortResult{r.Remaining, r.RetryAfter, r.ResetAfter} }

// An admitter is a wordAdmitter's counterpart for a [Decider] whose states have more words.
type admitter interface {
	admit(state []uint64, now int64) (next []uint64, granted bool)
	take(state []uint64, now int64, n int) (next []uint64, r shortResult, decidedBy int)
}

// An Ask is for implementers of stores and policies. It is the question to a [Decider].
type Ask struct {
	// N is the number of events. An N of 0 only looks, and changes nothing. An N below zero gives
	// back -N events that were granted before.
	N int

	// MaxWait is how far ahead the events may be granted. If it is above zero, a policy that books
	// ahead, such as [TokenBucket] or [LeakyBucket], may grant them for a later instant. Delay in
	// the answer is the time until that instant. The policy keeps that instant for these events,
	// whatever other events are given back later. Other policies answer as if MaxWait were zero.
	// MaxWait is zero unless Mode is AllOrNone.
	MaxWait time.Duration

	// Mode says what to do if not all of the N events can be granted.
	Mode GrantMode

	// GrantedAt is for an N below zero. It is the instant at which the events were granted: At of
	// the answer that granted them, or 1 if that At is zero. The policy gives back only events that
	// it counted at [Ask.CountedAt] or before, and that it still counts. If GrantedAt is zero, the
	// grant is not known, and the policy gives back the latest events.
	GrantedAt int64

	// Charges, if not nil, says what a grant was charged:
	//
	//   - If N is above zero and the events are granted, the policy replaces the contents of the
	//     slice with what it charges. An empty slice stands for one Charge of all the events, which
	//     count until ResetAfter has passed.
	//   - If N is below zero and GrantedAt is not zero, the caller sets Charges to what the policy
	//     charged for the grant.
	Charges *[]Charge

	// ByComponent, if not nil, receives the results of the components of a policy made by All or
	// Tiers. They replace the contents of the slice. Other policies do not change the slice.
	ByComponent *[]Result

	// More is for an N of at least zero. It asks for MoreAfter in the Result, and in the results of
	// ByComponent. A policy that does not know MoreAfter leaves it zero.
	More bool

	beside *beside // for an N below zero, what is known of other bookings; nil if nothing is
}

// A GrantMode is for implementers of stores and policies. It says what to do if not all the events
// of an [Ask] can be granted.
type GrantMode uint8

const (
	// AllOrNone grants all of the events, or none.
	AllOrNone GrantMode = iota

	// UpTo grants as many of the events as possible, and sets Granted to their number. If none can
	// be granted, the answer is a denial. RetryAfter is then that of an Ask for one event.
	UpTo

	// Regardless grants all of the events in any case. It is for events that have already happened.
	// Events beyond the allowance are a debt. Until it is paid, or its events no longer count, a
	// single policy denies requests for events. Only a policy that books ahead may grant such
	// requests, for a later instant.
	Regardless
)

// An Answer is for implementers of stores and policies. It is the answer of a [Decider] to an
// [Ask].
type Answer struct {
	Result

	// Delay is the time from the decision until the granted events may happen. After a grant, it is
	// above zero only if MaxWait of the Ask is. After a denial or a give-back, it has another
	// meaning:
	//
	//   - If an Ask with a MaxWait above zero is denied, but can be granted later, a policy that
	//     books ahead sets Delay to the delay that was too long. After other denials, policies set
	//     Delay to zero.
	//   - After a give-back to a TokenBucket or LeakyBucket, Delay says how much earlier the
	//     bookings that follow the returned events can happen. Bookings of other policies are not
	//     moved.
	Delay time.Duration

	// QueueFull reports that the policy's queue has no room. A longer MaxWait would not help.
	// QueueFull is set only if MaxWait of the Ask is above zero.
	QueueFull bool

	// ServerTime reports that At was read from a clock of the store, for example its server's, and
	// not from the clock of the limiter. The Store sets it.
	ServerTime bool

	// Granted is the number of events that were granted, if Mode was UpTo.
	Granted int

	// At is the instant of the decision, in nanoseconds since the Unix epoch, by the clock that the
	// decision used. The Store sets it.
	At int64

	// rest is by how much Delay after a give-back is rounded down, in units of a bucket's rate.
	rest uint64
}

// never returns the denial of a request that can never fit. a is the answer to a look at the state.
func (a Answer) never() Answer {
	a.Allowed, a.RetryAfter = false, Never
	return a
}

// neverFits reports whether n events are denied because they can never fit. The limit of a policy of
// another package may be higher at another instant.
func (a *Answer) neverFits(n int) bool { return !a.Allowed && a.RetryAfter == Never && n > a.Limit }

// count sets the answer of a policy that counts events, when room more events fit. The caller sets
// Remaining and the times until there are more. count returns how many events are asked for. With
// UpTo, it returns how many of the N events fit, or one if none fits.
func (a *Answer) count(ask Ask, limit, room uint64) (n uint64) {
	n = uint64(max(ask.N, 0))
	a.Limit = int(limit)
	if ask.Mode == UpTo {
		a.Granted = int(min(n, room))
		n = max(uint64(a.Granted), min(n, 1))
	}
	if a.Allowed = n <= room || ask.Mode == Regardless; !a.Allowed {
		a.RetryAfter = Never
	}
	return n
}

// isNil reports whether p is nil or a nil pointer. A map of pointers returns a nil pointer for a
// plan that it lacks. The methods of most policies, stores and clocks panic on a nil pointer.
func isNil(p any) bool {
	if p == nil {
		return true
	}
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// nilText describes p in errors. It requires that isNil(p) is true.
func nilText(p any) string {
	if p == nil {
		return "nil"
	}
	return fmt.Sprintf("a nil %T", p)
}

// deciderOf returns the Decider of a policy that is not nil.
func deciderOf(p Policy) (Decider, error) {
	d, err := p.Decider()
	if err == nil && d == nil {
		err = fmt.Errorf("weir: %T has the Decider nil, must be one", p)
	}
	return d, err
}

// faults collects the faults of a policy, to report all of them at once.
type faults struct {
	policy Policy
	errs   []error
}

func (f *faults) add(field string, value any, allowed string) {
	f.errs = append(f.errs, fmt.Errorf("weir: %T.%s is %v, must be %s", f.policy, field, value, allowed))
}

func (f *faults) rate(limit int, per time.Duration) {
	if limit < 1 {
		f.add("Limit", limit, "at least 1")
	}
	if per < 1 {
		f.add("Per", per, "at least 1ns")
	}
}

func (f *faults) atLeastZero(field string, value int) {
	if value < 0 {
		f.add(field, value, "at least 0")
	}
}

func (f *faults) err() error { return errors.Join(f.errs...) }
