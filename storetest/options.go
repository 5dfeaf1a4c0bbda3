package storetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir"
)

// An Option describes the store to [Run].
type Option func(*suite)

// OwnClock is for a store that uses its own clock, or its server's, and whose clock tests can set.
// set sets the clock of the store s to an instant, a whole number of ticks since the Unix epoch.
// The clock must stay there until set is called again, possibly with an earlier instant. set is
// called by one goroutine at a time, but also while requests are in flight.
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

// RealTime is for a store that uses its own clock, which tests cannot set. If tests can set the
// clock, use [OwnClock] instead.
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
// make a tenth of these requests, and a fortieth with -short.
func RoundTrips() Option {
	return func(s *suite) { s.isFar = true }
}

// Shared is for a store that shares its states with stores in other processes, on one backend.
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
// [github.com/weir-go/weir/storetest/faultproxy] can do this, with its method Stall.
func Hangs(hang func(s weir.Store) (resume func())) Option {
	return func(st *suite) { st.hang = hang }
}

// ServerExpiry is for a store whose server drops expired states by real time, while Run drives the
// time that the store uses for decisions. Such a store needs two forms in its test:
//
//   - The stores that are passed to Run must keep each state an hour longer than a request asks
//     for. Otherwise the server drops a state while the clock of Run stands still. A state may
//     always expire late.
//   - newStore makes a store as it is in production. Limiters on it have the system's clock. Run
//     checks that each state is kept for as long as it matters, whether that is a fraction of a
//     second, years, or for ever.
//
// If [weir.New] refuses a policy for that store, because its server cannot keep states for so long,
// the policy is left out there.
func ServerExpiry(newStore func(t *testing.T) weir.Store) Option {
	return func(s *suite) {
		s.expiring = func(tb testing.TB) weir.Store { return newStore(tb.(*testing.T)) }
	}
}

// Bounds is for a store whose answers need not be exact, such as one that takes events of a shared
// store ahead of need, or that keeps denials. Run then compares no answers. It checks these bounds:
//
//   - The policy alone would have granted all that the store grants, at the same instants. No
//     window or span exceeds the limit. A window that starts with its first event may have started
//     earlier. Events that are booked ahead count at once. Those that are charged beyond the limit
//     count at the latest after the duration early.
//   - A denial may come too soon, by the duration early at most. This means that after the same
//     grants, the policy alone would have denied the same events if it had been asked that much
//     earlier. With an early of zero, each denial must be exact. With [Shared], a store may also
//     deny because another store was asked for that key within that duration, and may hold events.
//     A request of Reserve, ReserveNow or TakeByComponent may be denied because its own store may
//     hold events.
//   - Nothing is lost while a key is idle. When the policy has recovered, and the key has been idle
//     for the duration early after that, all its events can be granted again. This includes events
//     that were given back, and those of a key that was forgotten.
//   - What was granted counts for a limiter of the same name with another limit, at the latest after
//     the duration early.
//
// It also runs the cases that compare no answers: those of keys and names, of goroutines at one
// instant, and of errors and failures. Remaining, RetryAfter and ResetAfter may have any value that
// is possible in itself. Pass [Shared] if stores can share a backend.
func Bounds(early time.Duration) Option {
	return func(s *suite) { s.bounds, s.early = true, early }
}

// Bubble is for a store in memory that has timers, for example to give back what it holds. With
// [Bounds], the cases in which time passes then run in testing/synctest bubbles. The limiters, the
// store and its timers have the clock of the bubble. Time passes at once, when all goroutines wait.
//
// A store with a server cannot run in a bubble: a goroutine that reads from a network never waits
// in the sense of synctest.
func Bubble() Option {
	return func(s *suite) {
		s.inBubble = func(tb testing.TB, f func(testing.TB)) {
			synctest.Test(tb.(*testing.T), func(t *testing.T) { f(t) })
		}
	}
}
