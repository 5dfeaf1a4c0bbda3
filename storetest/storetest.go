// Package storetest checks that a [weir.Store] keeps the rules that limiters rely on. If you write
// a Store, call [Run] from its tests:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) weir.Store { return mystore.New() })
//	}
//
// Each case is a subtest. Each failure names the rule that is broken. The rules of a single limiter
// are:
//
//	R1   n events are granted together or not at all
//	R2   a denial consumes nothing and extends nothing
//	R3   n = 0 counts nothing; if n can never fit, RetryAfter of the denial is Never
//	R4   RetryAfter is exact: the request is denied before it, and granted at it
//	R5   Remaining = k: an ask for k would be granted now, and an ask for k+1 would not
//	R6   a state expires when it answers as a new state does, and not before
//	R7   a clock that steps back earns nothing, and delays by that step at most
//	R8   nothing drifts: no remainder of a division is dropped
//	R9   nothing wraps around; the answer errs towards denying
//	R10  concurrent steps on a key come one after another
//	R11  two keys, or two names, never share a state
//
// The rules of several limiters with one store are:
//
//	Sharing  limiters with the same name and policy share their keys
//	Change   a changed policy does not start with a fresh allowance
//	Policy   any policy decides as written, on the state that it left
//	Booking  events can be booked ahead and given back
//	Errors   a request that fails counts nothing
//
// The rules of the other requests that limiters make are:
//
//	UpTo        as many events are granted as there are
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
//	Failures  no request counts twice, or is held after its context has ended
package storetest

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// Run checks the stores that newStore makes. newStore must return an empty store, or one that
// shares no state with earlier ones. It is called for each of some 500 subtests, one after another.
// Close the store by t.Cleanup.
//
// By default, Run assumes that the store reads the time from [weir.Plan.Now], as a store in memory
// does. The time is then that of a clock of Run, which may step in either direction. The options
// are for other stores:
//
//   - [OwnClock] and [RealTime]: the store has its own clock.
//   - [RoundTrips]: the store sends each request to a server.
//   - [Shared], [LostReplies] and [Hangs]: the states are on a backend.
//
// The contexts that a store gets have no deadline, or one by real time. The store can therefore
// pass them to a client of a database. Deadlines by the clock of Run are for the limiter, and the
// store does not see them.
//
// With -short, the cases that need many requests make a tenth of these requests, or a twentieth with
// [RoundTrips].
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
	s.run(t)
}

// An Option describes the store to [Run].
type Option func(*suite)

// OwnClock is for a store that decides by its own clock, or its server's, and whose clock tests can
// set. set sets the clock of the store s to an instant, a whole number of ticks since the Unix
// epoch. The clock must stay there until set is called again, possibly with an earlier instant. set
// is called by one goroutine at a time, but also while requests are in flight.
//
// tick is the clock's resolution, at most a millisecond. Run rounds up all instants to it. It also
// rounds up the durations of answers before it compares them. A store may report them in ticks or
// exactly, but must not round them down. The only exception is the Delay of events that were given
// back. It is rounded down, because requests that move up by it must not be granted too early.
//
// If states expire by another clock than the one set, such as a server's own, let the store keep
// them for longer while it is tested. A state may expire late.
func OwnClock(tick time.Duration, set func(s weir.Store, now time.Time)) Option {
	return func(s *suite) { s.tick, s.setClock = tick, set }
}

// RealTime is for a store that decides by its own clock, which tests cannot set. If tests can set
// the clock, use [OwnClock] instead.
//
// The cases in which the test must control the time are skipped:
//
//   - Vectors, R2, R4, R7, R8 and R9
//   - most cases of R6
//   - the comparisons of all answers with those of the policies: Policy, "Sharing is exact",
//     "Change is exact", MemStore
//   - GivingBack
//   - in Booking, the requests that wait until their turn comes
//
// The other cases use periods of decades, and compare no durations.
func RealTime() Option {
	return func(s *suite) { s.realTime = true }
}

// RoundTrips is for a store that sends each request to a server. The cases that need many requests
// make a tenth of these requests, and a twentieth with -short.
func RoundTrips() Option {
	return func(s *suite) { s.isFar = true }
}

// Shared is for a store whose states are on a backend that stores in other processes also use.
// another returns one more store on the backend of s. That store must have its own client, and no
// cache that s fills. With [OwnClock], set is called for it as well.
func Shared(another func(t *testing.T, s weir.Store) weir.Store) Option {
	return func(st *suite) {
		st.another = func(tb testing.TB, s weir.Store) weir.Store { return another(tb.(*testing.T), s) }
	}
}

// LostReplies is for a store whose backend may execute a request without the store getting a reply,
// such as a backend across a network. After a call of lose, the replies to the next n requests of s
// that may count events are lost. n = 0 ends this. A proxy of package
// [github.com/weir-go/weir/storetest/faultproxy] in front of the server does this.
func LostReplies(lose func(s weir.Store, n int)) Option {
	return func(st *suite) { st.loseReplies = lose }
}

// Hangs is for a store whose backend may hang: it gives no answer, and not even an error. hang
// makes the backend hang for s until resume is called. The backend may or may not execute the
// requests that are in flight then. A proxy of package
// [github.com/weir-go/weir/storetest/faultproxy] can do this, by its method Stall.
func Hangs(hang func(s weir.Store) (resume func())) Option {
	return func(st *suite) { st.hang = hang }
}

// A testCase is one rule, or one aspect of a rule.
type testCase struct {
	name  string
	needs need
	run   func(*env)
}

func testCases() []testCase {
	return []testCase{
		{"Vectors", aClock, vectors},
		{"R1 all or nothing", nothing, allOrNothing},
		{"R2 denials consume nothing", aClock, denialsConsumeNothing},
		{"R3 looking and asking too much", nothing, looksAndTooMuch},
		{"R4 RetryAfter is tight", aClock, retryAfterIsTight},
		{"R5 Remaining is exact", nothing, remainingIsExact},
		{"R6 forgotten at the instant and not before", aClock, forgottenNotBefore},
		{"R6 forgetting many keys", aClock, forgettingManyKeys},
		{"R6 time to live is never zero", nothing, timeToLiveNeverZero},
		{"R7 an older instant earns nothing", aClock, olderEarnsNothing},
		{"R7 a step back delays by the step at most", aClock, stepBackDelays},
		{"R8 no drift", aClock, noDrift},
		{"R9 nothing wraps around", aClock, nothingWraps},
		{"R10 takes of one key", nothing, concurrentTakes},
		{"R10 no update is lost", nothing, concurrentChain},
		{"R10 takes and returns", nothing, concurrentReturns},
		{"R10 many keys", nothing, concurrentKeys},
		{"R10 answers at once", nothing, concurrentAnswers},
		{"R10 while time moves", aClock, concurrentWhileTimeMoves},
		{"R11 keys are told apart", nothing, keysApart},
		{"R11 keys are copied", nothing, keysCopied},
		{"R11 names are told apart", nothing, namesApart},
		{"Sharing a name", nothing, sharedName},
		{"Sharing is exact", aClock, sharingIsExact},
		{"Change of policy", nothing, changedPolicy},
		{"Change to and fro", nothing, changedToAndFro},
		{"Change is exact", aClock, changeIsExact},
		{"Change of composed policies", aClock, changeOfComposed},
		{"Policy is run as it is", aClock, policyAsIs},
		{"Policy that can't be compared", nothing, uncomparablePolicy},
		{"Booking and giving up", nothing, bookingGivenUp},
		{"Booking in a line", aClock, bookingInLine},
		{"Booking too late", aClock, bookingTooLate},
		{"Waiting for every policy", aClock, waitingIsServed},
		{"Errors count nothing", nothing, errorsCountNothing},
		{"UpTo", nothing, asManyAsThereAre},
		{"UpTo at once", nothing, concurrentUpTo},
		{"Regardless", nothing, chargedRegardless},
		{"Regardless at once", nothing, concurrentRegardless},
		{"GivingBack by instant", aClock, givenBackByInstant},
		{"Forgetting", nothing, forgottenOnRequest},
		{"Forgetting at once", nothing, concurrentForgetting},
		{"Parts", nothing, resultsOfParts},
		{"At", nothing, tellsTheInstant},
		{"MemStore", aClock, asInMemory},
		{"R6 forgotten in real time", byRealTime, expiresInRealTime},
		{"Clocks of clients", ownClock, clocksOfClients},
		{"Backend of two stores", sharing, sharedBackend},
		{"Backend of two stores at once", sharing, sharedBackendAtOnce},
		{"Failures: lost replies", lostReply, lostReplies},
		{"Failures: a hanging backend", aHang, hangingBackend},
	}
}
