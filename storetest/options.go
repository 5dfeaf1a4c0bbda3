package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// An Option describes the store to [Run].
type Option func(*suite)

// OwnClock is for a store that uses its own clock, or its server's, if tests can set that clock.
// set sets the clock of the store s to an instant, a whole number of ticks since the Unix epoch.
// The clock must stay there until set is called again, possibly with an earlier instant. set is
// called by one goroutine at a time, but also while requests are in flight.
//
// tick is the clock's resolution. A millisecond must be a whole number of ticks. Run rounds up all
// instants to ticks, and also the durations of answers before it compares them. A store may report
// durations in ticks or exactly, but must not round them down. The only exception is Delay in the
// answer to a give-back. Booked requests move up by this Delay, and must not be granted too early.
// A store must therefore not round it up, and Run rounds it down.
//
// If states expire by another clock than the one that set sets, such as a server's own, let the
// store keep them for longer while it is tested. A state may expire late.
func OwnClock(tick time.Duration, set func(s weir.Store, now time.Time)) Option {
	return func(s *suite) { s.tick, s.setClock = tick, set }
}

// RealTime is for a store that uses its own clock, which tests cannot set. If tests can set the
// clock, use [OwnClock] instead.
//
// The cases in which the test must control the time are skipped:
//
//   - Vectors, R2, R4, R7, R8 and R9
//   - "R6 forgotten at the instant and not before", "R6 forgetting many keys", and "R10 while time
//     moves"
//   - the comparisons of all answers with those of the policies: "Policy is run as it is", "Sharing
//     is exact", "Change is exact", "Change of composed policies", MemStore, and parts of Backend
//     and Clocks
//   - GivingBack
//   - in Booking, the requests that wait until their turn comes, and those whose turn would come
//     too late. Run then does not notice if a store books events beyond MaxWait
//   - with [Bounds], all cases of Bounds
//
// The other cases do not compare the durations of answers. Most of them use periods of decades.
func RealTime() Option {
	return func(s *suite) { s.realTime = true }
}

// RoundTrips is for a store that sends each request to a server. Most of the cases that need many
// requests make only a tenth of them, and with -short only a fortieth.
func RoundTrips() Option {
	return func(s *suite) { s.isFar = true }
}

// Shared is for a store that shares its states with stores in other processes, on one backend.
// another returns one more store on the backend of s. That store must have its own client, and no
// cache that s fills. With [OwnClock], Run calls set for that store, too.
func Shared(another func(t *testing.T, s weir.Store) weir.Store) Option {
	return func(st *suite) {
		st.another = func(tb testing.TB, s weir.Store) weir.Store { return another(tb.(*testing.T), s) }
	}
}

// LostReplies is for a store whose backend may execute a request without the store getting a reply,
// such as a backend across a network. After a call of lose, the replies to the next n requests of s
// that may count events are lost. With n = 0, no more replies are lost. A proxy of package
// [github.com/weir-go/weir/storetest/faultproxy] can do this, with its method LoseReplies.
func LostReplies(lose func(s weir.Store, n int)) Option {
	return func(st *suite) { st.loseReplies = lose }
}

// Hangs is for a store whose backend may hang: it gives no answer, and not even an error. hang
// makes the backend hang for s until resume is called. The backend may or may not execute the
// requests that are in flight while it hangs. A proxy of package
// [github.com/weir-go/weir/storetest/faultproxy] can do this, with its method Stall.
//
// While the backend hangs, each call of the store's Do must return soon after its context has
// ended. It must wait neither for the timeout of the store's client nor for other calls.
func Hangs(hang func(s weir.Store) (resume func())) Option {
	return func(st *suite) { st.hang = hang }
}

// ServerExpiry is for a store whose server drops expired states by real time, while Run drives the
// time that the store uses for decisions. Such a store needs two forms in its test:
//
//   - The function that is passed to Run must make stores that keep each state an hour longer than
//     [weir.Decider.Expiry] requires. Otherwise the server may drop a state while the clock of Run
//     stands still. A state may always expire late.
//   - newStore makes a store as it is in production. Limiters on it have the system's clock. Run
//     checks that states which matter for up to two seconds are kept for that time, and that states
//     which matter for a minute, for years or for ever are not dropped at once.
//
// A server may be unable to keep states for as long as a policy needs. For such a policy, [weir.New]
// may return an error, or the store may deny the first event of a key, or return an error that wraps
// [weir.ErrRequest]. Run then leaves the policy out of this check.
func ServerExpiry(newStore func(t *testing.T) weir.Store) Option {
	return func(s *suite) {
		s.expiring = func(tb testing.TB) weir.Store { return newStore(tb.(*testing.T)) }
	}
}

// Bounds is for a store whose answers need not be exact, such as one that takes events of a shared
// store ahead of need, or that keeps denials. early is at most an hour. Run then checks these
// bounds, in place of comparing whole answers:
//
//   - The policy alone would have granted all that the store grants, at the same instants. The
//     store grants no more in any window or span than the policy allows. A FixedWindow with
//     FromFirst may have started before its first granted event, for example with an event that the
//     store took ahead. Events that Wait or Reserve books for a later instant count as soon as they
//     are booked. If events are charged although the limit is used up, as by Settle, the store may
//     ignore them for the duration early at most.
//   - A denial may be wrong, but not by more than the duration early. This means: if the policy alone
//     had been asked that much earlier, after the same grants, it would have denied the same
//     events. If early is zero, each denial must be exact. With [Shared], a store may also deny if
//     another store was asked for the same key within the duration early, because the other store
//     may hold events. Requests of Reserve, ReserveNow and TakeByComponent need not use the events
//     that their own store holds. They may therefore be denied if their own store was asked for the
//     key within that duration.
//   - No events are lost while a key is idle. When the key has recovered, and was then idle for the
//     duration early, all its events can be granted again. This includes the events of a forgotten
//     key, and events that were given back, except to a LeakyBucket.
//   - Granted events also count for a limiter of the same name with another limit, at the latest
//     after the duration early.
//
// Run also runs the other cases that need no exact answers: the cases of keys and names, of errors,
// of [Hangs] and of [ServerExpiry], some cases of concurrent requests, and one of the rule At. Pass
// [Shared] if stores can share a backend. [LostReplies] has no effect. Remaining, RetryAfter and
// ResetAfter may have any value that an answer can have. But two looks at a key at one instant must
// return the same values, if nothing was counted between them. ServerTime need not be set.
func Bounds(early time.Duration) Option {
	return func(s *suite) { s.bounds, s.early = true, early }
}

// Bubble is for a store in memory that has timers, for example to give back what it holds. Pass it
// together with [Bounds], and without [OwnClock] and [RealTime]. The cases whose names start with
// Bounds then run in testing/synctest bubbles. In a bubble, the limiters, the store and its timers
// use the bubble's clock. When all goroutines of a bubble wait, its clock moves to the next timer.
//
// A store with a server cannot run in a bubble: to synctest, a goroutine that reads from a network
// does not count as waiting.
func Bubble() Option {
	return func(s *suite) {
		s.inBubble = func(tb testing.TB, f func(testing.TB)) {
			synctest.Test(tb.(*testing.T), func(t *testing.T) { f(t) })
		}
	}
}
