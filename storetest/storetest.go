// Package storetest checks that a [weir.Store] keeps the promises that limiters rely on. Whoever
// writes a Store runs it from a test beside it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) weir.Store { return mystore.New() })
//	}
//
// Each case is a subtest, and each failure names the rule that is broken. The rules are
//
//	R1   n events are granted together or not at all
//	R2   a denial consumes nothing and extends nothing
//	R3   n = 0 looks; an n that never fits is denied with Never
//	R4   RetryAfter is tight: denied before it, allowed at it
//	R5   Remaining = k: an ask for k would be granted now, and one for k+1 would not
//	R6   a state is forgotten when that can't be observed, and not before
//	R7   an older instant earns nothing, and delays by its step at most
//	R8   nothing drifts: no remainder is dropped
//	R9   nothing wraps around; the answer errs towards denying
//	R10  concurrent steps on a key come one after another
//	R11  two keys, or two names, never share a state
//
// and, for what several limiters do with one store,
//
//	Sharing  limiters of one name and policy are as one
//	Change   a changed policy is no fresh allowance
//	Policy   any policy is run as it is, on the state that it left
//	Booking  events can be booked ahead and given back
//	Errors   an error counts nothing
//
// for the rest that limiters ask of a store,
//
//	UpTo        as many are granted as there are
//	Regardless  what happened already is charged, even into debt
//	GivingBack  of what was granted at an instant, what still counts is given back
//	Forgetting  a key that is forgotten is as new, and no other is
//	Parts       a composed policy tells the results of its parts
//	At          the answer tells the instant of the decision
//	MemStore    a limiter answers as one in memory
//
// and for stores of a backend or a server,
//
//	Backend   two stores on it are as one
//	Clocks    a store with a clock of its own decides by it alone
//	Failures  no request counts twice, or is held when its context has ended
package storetest

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// Run checks the stores that newStore makes. It is to return an empty store, or one that shares no
// state with those before, and is called for each of some 500 subtests, one after another; t.Cleanup
// is the place to close it.
//
// Without options the store is taken to read the time by [weir.Scope.Now], as a store in memory
// does, and is driven by a clock of Run's own, which may step in either direction. [OwnClock] and
// [RealTime] are for stores that have a clock of their own; [Shared], [LostReplies] and [Hangs] for those
// whose states lie on a backend.
//
// With -short the cases that need many requests make a tenth of them.
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

// An Option tells [Run] about the store.
type Option func(*suite)

// OwnClock is for a store that decides by a clock of its own, its server's, which tests can set. set
// sets that of the store s to an instant, a whole number of ticks since the Unix epoch. There it
// stays until set is called again, which may be with an earlier instant. set is called by one
// goroutine at a time, but also while requests are under way.
//
// tick is the clock's resolution, at most a millisecond. All instants are then rounded up to it, and
// all durations of answers are compared rounded up to it: they may be told in ticks or exactly, but
// not rounded down. Only the Delay of what was given back is rounded down, because those who move up
// by it must not go too early.
//
// A store that forgets by another clock than the one set, such as a server's own expiry, should keep
// states for longer while it is tested: to forget late is never wrong.
func OwnClock(tick time.Duration, set func(s weir.Store, now time.Time)) Option {
	return func(s *suite) { s.tick, s.setClock = tick, set }
}

// RealTime is for a store that decides by a clock of its own that tests can't set. The cases for
// which time must move or stand still are skipped: Vectors, R2, R4, R7, R8, R9, most of the forgetting
// of R6, the comparison of all answers with the policies' own (Policy, Sharing and Change are exact,
// MemStore), GivingBack, and the waiting of those whose turn comes (Booking). The rest runs with periods of
// decades, and compares no durations.
//
// Such a store should be given a clock that tests can set, see [OwnClock], where that is at all
// possible.
func RealTime() Option {
	return func(s *suite) { s.realTime = true }
}

// RoundTrips is for a store that sends each request to a server. The cases that need many requests then
// make a tenth of them, as with -short.
func RoundTrips() Option {
	return func(s *suite) { s.isFar = true }
}

// Shared is for a store whose states lie on a backend that stores in other processes use, too. another returns
// one more such store on the backend of s, with nothing of s in it: a client of its own, and no cache
// that s fills. With [OwnClock], set is called for it as well.
func Shared(another func(t *testing.T, s weir.Store) weir.Store) Option {
	return func(st *suite) {
		st.another = func(tb testing.TB, s weir.Store) weir.Store { return another(tb.(*testing.T), s) }
	}
}

// LostReplies is for a store whose backend carries out requests that it may get no reply to, such as one
// across a network. lose makes it so for the next n requests of s that may count events; n = 0 ends
// it. A proxy that cuts the connection in place of the reply does.
func LostReplies(lose func(s weir.Store, n int)) Option {
	return func(st *suite) { st.loseReplies = lose }
}

// Hangs is for a store whose backend may give no answer at all, and not even refuse. hang makes it so for s,
// until resume is called, whether requests under way are then carried out or not.
func Hangs(hang func(s weir.Store) (resume func())) Option {
	return func(st *suite) { st.hang = hang }
}

// A testCase is one rule, or one aspect of it.
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
