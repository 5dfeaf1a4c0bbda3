// Package storetest checks that a [weir.Store] keeps the rules below, on which limiters rely. If
// you write a Store, call [Run] from its tests:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) weir.Store { return mystore.New() })
//	}
//
// Each case is a subtest. A failure usually names the rule that is broken. The rules of a single
// limiter are:
//
//	R1   n events are granted together or not at all
//	R2   a denial consumes nothing and extends nothing
//	R3   n = 0 counts nothing; if n can never fit, RetryAfter of the denial is Never
//	R4   RetryAfter is exact: without other requests, the same request is denied until it has
//	     passed, and granted when it has
//	R5   Remaining = k: a request for k events would be granted now, and one for k+1 would not
//	R6   a state is kept until it answers as a new state does: when ResetAfter has passed
//	R7   when a clock steps back, keys earn nothing, and grants are late by that step at most
//	R8   nothing drifts: no remainder of a division is dropped
//	R9   no number wraps around: if one does not fit, the answer errs towards denying
//	R10  concurrent steps on a key come one after another
//	R11  two keys, or two names, never share a state
//
// The rules of sharing, of policies and of calls are:
//
//	Sharing  limiters with the same name and policy share their keys
//	Change   a changed policy does not start with a fresh allowance
//	Policy   any policy decides as written, on the state that it left
//	Booking  events can be booked ahead and given back
//	Errors   a request counts nothing if the limiter refuses it, or if its context has ended before
//
// The rules of other requests, and of answers, are:
//
//	UpTo        as many of the events are granted as the key has left
//	Regardless  events that have already happened are charged, even into debt
//	GivingBack  events granted at an instant are given back if they still count
//	Forgetting  a forgotten key is like a new key; no other key changes
//	Parts       a composed policy reports the results of its parts
//	At          the answer reports the instant of the decision, and by whose clock
//	MemStore    a limiter answers as it does on a MemStore
//
// The rules of stores with a backend or a server are:
//
//	Backend   two stores on one backend share their states
//	Clocks    a store with its own clock decides by that clock alone
//	Failures  no request counts twice, or is held long after its context has ended
//	Expiry    a server that expires states keeps them for as long as they matter
//
// With the option [Bounds], Run checks other rules in place of most of these.
package storetest

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// longestEarly is the longest duration for Bounds. It keeps the periods of the cases below a few
// years.
const longestEarly = time.Hour

// Run checks the stores that newStore makes. newStore must return an empty store, or a store that
// shares no state with the stores before it. Run calls newStore for each of about 500 subtests, one
// after another. With some options there are fewer. If a store must be closed, let newStore do it
// with t.Cleanup.
//
// By default, Run assumes that the store reads the time from [weir.Plan.Now], as a store in memory
// does. The time then comes from a clock of Run, which may step in either direction. The options
// are for other stores:
//
//   - [OwnClock] and [RealTime]: the store has its own clock.
//   - [ServerExpiry]: a server expires the states by real time.
//   - [RoundTrips]: the store sends each request to a server.
//   - [Shared], [LostReplies] and [Hangs]: the states are on a backend.
//   - [Bounds] and [Bubble]: the answers need not be exact.
//
// The contexts that a store gets have no deadline, or one in real time. The store can therefore
// pass them to a client of a database.
//
// The store must serve names and keys of a little more than 1 MiB. If its server does not take such
// long ones, the store must send a hash of them instead. The store must also decide all requests
// that 16 goroutines make for one key at once. If it compares and swaps, it must try often enough:
// an error that says that too many calls change the key is a failure here.
//
// With -short, most of the cases that need many requests make only a fortieth of them.
func Run(t *testing.T, newStore func(t *testing.T) weir.Store, opts ...Option) {
	s := &suite{
		newStore: func(tb testing.TB) weir.Store { return newStore(tb.(*testing.T)) },
		sub: func(tb testing.TB, name string, f func(testing.TB)) {
			tb.(*testing.T).Run(name, func(t *testing.T) { f(t) })
		},
		patience: patience,
		tick:     1,
	}
	for _, opt := range opts {
		opt(s)
	}
	if s.tick < 1 || time.Millisecond%s.tick != 0 {
		t.Fatalf("storetest: OwnClock with a tick of %v, must divide a millisecond", s.tick)
	}
	if s.early < 0 || s.early > longestEarly {
		t.Fatalf("storetest: Bounds of %v, must be from 0 to %v", s.early, longestEarly)
	}
	if s.inBubble != nil && (!s.bounds || s.setClock != nil || s.realTime) {
		t.Fatalf("storetest: Bubble, must be with Bounds, and without OwnClock and RealTime")
	}
	s.run(t)
}

// A testCase is one rule, or one aspect of a rule.
type testCase struct {
	name   string
	needs  need
	run    func(*env)
	bounds when
}

// when says in which mode a case runs.
type when int

const (
	exactly    when = iota // without Bounds
	always                 // in both modes: it compares only what must be exact
	withBounds             // with Bounds only
)

func testCases() []testCase {
	return []testCase{
		{"Vectors", aClock, vectors, exactly},
		{"R1 all or nothing", nothing, allOrNothing, exactly},
		{"R2 denials consume nothing", aClock, denialsConsumeNothing, exactly},
		{"R3 looking and asking too much", nothing, looksAndTooMuch, exactly},
		{"R4 RetryAfter is tight", aClock, retryAfterIsTight, exactly},
		{"R5 Remaining is exact", nothing, remainingIsExact, exactly},
		{"R6 forgotten at the instant and not before", aClock, forgottenNotBefore, exactly},
		{"R6 forgetting many keys", aClock, forgettingManyKeys, exactly},
		{"R6 time to live is never zero", nothing, timeToLiveNeverZero, exactly},
		{"R7 an older instant earns nothing", aClock, olderEarnsNothing, exactly},
		{"R7 a step back delays by the step at most", aClock, stepBackDelays, exactly},
		{"R8 no drift", aClock, noDrift, exactly},
		{"R9 nothing wraps around", aClock, nothingWraps, exactly},
		{"R10 takes of one key", nothing, concurrentTakes, always},
		{"R10 takes by two policies", nothing, concurrentPolicies, exactly},
		{"R10 no update is lost", nothing, concurrentChain, exactly},
		{"R10 takes and returns", nothing, concurrentReturns, exactly},
		{"R10 many keys", nothing, concurrentKeys, always},
		{"R10 answers at once", nothing, concurrentAnswers, exactly},
		{"R10 while time moves", aClock, concurrentWhileTimeMoves, always},
		{"R11 keys are told apart", nothing, keysApart, always},
		{"R11 keys are copied", nothing, keysCopied, always},
		{"R11 names are told apart", nothing, namesApart, always},
		{"Sharing a name", nothing, sharedName, always},
		{"Sharing is exact", aClock, sharingIsExact, exactly},
		{"Change of policy", nothing, changedPolicy, exactly},
		{"Change to and fro", nothing, changedToAndFro, exactly},
		{"Change is exact", aClock, changeIsExact, exactly},
		{"Change of composed policies", aClock, changeOfComposed, exactly},
		{"Policy is run as it is", aClock, policyAsIs, exactly},
		{"Policy with the longest state", nothing, longestState, exactly},
		{"Policy that can't be compared", nothing, uncomparablePolicy, exactly},
		{"Booking and giving up", nothing, bookingGivenUp, exactly},
		{"Booking in a line", aClock, bookingInLine, exactly},
		{"Booking too late", aClock, bookingTooLate, exactly},
		{"Waiting for every policy", aClock, waitingIsServed, exactly},
		{"Errors count nothing", nothing, errorsCountNothing, always},
		{"UpTo", nothing, asManyAsThereAre, exactly},
		{"UpTo at once", nothing, concurrentUpTo, always},
		{"Regardless", nothing, chargedRegardless, exactly},
		{"Regardless at once", nothing, concurrentRegardless, exactly},
		{"GivingBack by instant", aClock, givenBackByInstant, exactly},
		{"GivingBack by a clock behind", aClock, givenBackByClockBehind, exactly},
		{"Forgetting", nothing, forgottenOnRequest, exactly},
		{"Forgetting at once", nothing, concurrentForgetting, always},
		{"Parts", nothing, resultsOfParts, exactly},
		{"At", nothing, tellsTheInstant, always},
		{"At while time passes", nothing, tellsTheInstantWhileTimePasses, exactly},
		{"MemStore", aClock, asInMemory, exactly},
		{"R6 forgotten in real time", byRealTime, expiresInRealTime, exactly},
		{"Clocks of clients", ownClock, clocksOfClients, exactly},
		{"Backend of two stores", sharing, sharedBackend, exactly},
		{"Backend of two stores at once", sharing, sharedBackendAtOnce, exactly},
		{"Failures: lost replies", lostReply, lostReplies, exactly},
		{"Failures: a hanging backend", aHang, hangingBackend, always},
		{"Expiry by a server", expiry, expiresOnServer, always},
		{"Bounds of one store", aClock, boundsAtRandom, withBounds},
		{"Bounds of two stores", sharing, boundsOfTwoAtRandom, withBounds},
		{"Bounds at one instant", aClock, boundsAtOnce, withBounds},
		{"Bounds after idling", aClock, boundsAfterIdling, withBounds},
		{"Bounds after giving back", aClock, boundsGivenBack, withBounds},
		{"Bounds after charging", aClock, boundsCharged, withBounds},
		{"Bounds after forgetting", aClock, boundsForgotten, withBounds},
		{"Bounds after a change of policy", aClock, boundsChanged, withBounds},
	}
}
