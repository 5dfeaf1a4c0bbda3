package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// Shares is a store for limits that several processes divide. These processes are the members. Each
// member grants its share of every limit from a store of its own, and asks no other process.
// [NewShares] makes a Shares, and [Shares.Set] says how many members there are.
//
// Use it as the second store of a [Fallback]. With a [weir.MemStore] there, each process may grant
// the whole limit during an outage of the shared store. With Shares, all processes together then
// grant the limit once at most, besides what the shared store has granted:
//
//	shares := fleet.NewShares(new(weir.MemStore))
//	store := fleet.Fallback(redis, shares, fleet.FallbackOptions{Report: logOutage})
//
// It also works alone, without any shared store. A member cannot use what other members leave
// unused. If the limit is much larger than the number of members, and a load balancer spreads the
// requests of a key evenly, nearly the whole limit is usable.
//
// # How a limit is divided
//
// Composed policies are divided component by component. Policies of other packages are divided,
// too, except queues. With n members:
//
//   - Of a window or a [weir.SlidingLog], a member grants Limit/n events, rounded down. Up to n-1
//     events stay unused.
//   - Of a [weir.TokenBucket], a member has Burst/n tokens, and earns Limit/n in each Per.
//   - Of a limit below n, the members whose Index is below the limit get one event each, and the
//     other members none. The limit of a composed policy is its [weir.Result.Limit], and the limit
//     of a TokenBucket is its Burst. If a policy of another package has a Limit that changes with
//     time, its Limit at the Unix epoch decides how many members get events.
//   - A [weir.LeakyBucket] lets events out one by one, and cannot be divided. A policy that has one
//     as a component cannot be divided either. The first member has the whole limit, and the other
//     members have nothing.
//
// When n changes, the counts of a key stay as they are. A change gives no fresh allowance.
//
// # What holds while the members change
//
// A share that is smaller than before applies at once. A larger share applies one span later: when
// a key that was used up at the change has fully recovered. By then, no event that the members
// granted with their earlier shares still counts. For a CalendarWindow, or a FixedWindow without
// FromFirst, the span is the rest of the window. For a composed policy, it is the longest span of
// its components. After its first call of Set, a process has no share for a span.
//
// If all processes call Set by its rules, they together grant no more than the policy allows in any
// window or span. This also holds if processes crash and come back. These are not covered:
//
//   - events that are charged although the limit is used up, as by [weir.Reservation.Settle]
//   - changes of the policy and of the members within one span
//   - a policy of another package whose Limit becomes smaller while its events still count
//   - the colors of a [weir.TwoRateMarker] whose Committed holds more than its Peak
//   - a process that stands still between reading the time and deciding, or whose machine sleeps
//   - the difference between the clocks of the processes, for windows that are aligned to the clock
//
// Divide the quota of a day or month only if processes live longer than that: a new process may
// have no share for that day or month.
//
// # Results
//
// Limit, Remaining and RetryAfter are those of this process's share. A process without a share
// denies with Limit 0. RetryAfter is then the time until its share applies. If that time is not
// known, or if the share will be too small for the request, RetryAfter is the time after which the
// undivided limit would grant the request on a used-up key. MoreAfter is often not known, and is
// then 0.
//
// No events are booked ahead, because the share may become smaller. [weir.KeyedLimiter.Wait] asks
// again when events may be granted, and [weir.KeyedLimiter.Reserve] grants at once or denies. For a
// span after a change of members, fewer events may be freed than were given back.
//
// Shares is safe for concurrent use. If a process has a share, Take with Shares on a MemStore
// usually takes two to four times as long as with the MemStore alone. On a known key it allocates
// no more than a MemStore. If a process has no share, a decision takes longer and allocates memory.
type Shares struct {
	store weir.Store
	plans planMap[divided]

	// mu is held for reading during each decision. Set therefore returns after all decisions by the
	// earlier share have ended.
	mu     sync.RWMutex
	places []place // those that may still matter, oldest first; the last is the present one
	until  int64   // in real time; the present place ends then
	turn   uint64  // how often the places changed
}

// NewShares returns a store that divides limits. Until the first call of [Shares.Set], this process
// has no share. s keeps the counts of this process. s should not block, because Set waits for the
// calls of s. A [weir.MemStore] does not block.
//
// If s is nil, [weir.New] returns an error, and so does each Do of the returned Shares.
func NewShares(s weir.Store) *Shares {
	if fault := checkStore("NewShares", "store", s); fault != nil {
		s = misused{fault}
	}
	return &Shares{store: s, places: []place{{end: math.MaxInt64}}, until: math.MaxInt64}
}

// A Membership is the place of a process among the processes that divide limits. A process with the
// zero Membership has no share.
type Membership struct {
	Members int // the number of processes; at least 0
	Index   int // which of them this process is; from 0 to Members-1, or 0 if Members is 0

	// Until is the instant at which the membership ends, unless a further call of Set prolongs it.
	// The zero Time stands for no end. Until is real time, whatever clock a limiter has. Compute it
	// from time.Now, so that it does not depend on changes of the wall clock.
	Until time.Time
}

// Set changes the membership of this process. When it returns, no decision by the earlier
// membership is under way. If m is invalid, Set returns an error, and from then on the process has
// no share.
//
// The members must follow these rules, so that shares never overlap:
//
//   - If a process has a share, its Members is at least the number of all processes that have a
//     share, itself included. Its Index is the number of present members that joined before it.
//   - To join, a process waits until every other member has called Set with a membership that
//     counts the new process. Only then does it call Set itself.
//   - To leave, a process calls Set with the zero Membership. When Set has returned, other members
//     may stop counting it.
//   - A process that has crashed or is cut off is counted until its Until has passed. Other members
//     therefore need to know that instant.
//
// If Members is larger than needed, or becomes smaller later than it could, events stay unused, but
// the limit is not exceeded. examples/shares follows these rules with sessions in etcd.
//
// A call with the same Members and Index as before sets a new Until. If it comes before the old
// Until has passed, the share is not interrupted. If it comes later, the process then has no share
// for a span. Set is safe for concurrent use.
func (s *Shares) Set(m Membership) error {
	if s.store == nil {
		return errNotShares
	}
	fault := m.check()
	if fault != nil {
		m = Membership{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := realTime()
	if s.until <= now { // there was no share since
		s.move(place{}, s.until)
	}
	s.move(place{index: m.Index, members: m.Members}, now)
	s.until = math.MaxInt64
	if !m.Until.IsZero() {
		s.until = later(now, time.Until(m.Until))
	}
	return fault
}

var errNotShares = errors.New("weir: these Shares are zero, must be made by NewShares")

func (m Membership) check() error {
	if m.Members < 0 {
		return fmt.Errorf("weir: Membership.Members is %d, must be at least 0", m.Members)
	}
	if most := max(m.Members-1, 0); m.Index < 0 || m.Index > most {
		return fmt.Errorf("weir: Membership.Index is %d, must be from 0 to %d", m.Index, most)
	}
	return nil
}

// A place is the place that this process had among the members, until the instant end in real time.
// The larger the index and the number of members are, the smaller is its share of a policy.
type place struct {
	index, members int // none if members is 0
	end            int64
}

// atMost reports whether the share of p is at most that of q, for any policy.
func (p place) atMost(q place) bool {
	return p.members == 0 || q.members > 0 && p.index >= q.index && p.members >= q.members
}

// weight is how often an event counts, if at most parts processes can have a share. It is 0 if this
// process has none.
func (p place) weight(parts int) int {
	if p.members == 0 || p.index >= parts {
		return 0
	}
	return min(p.members, parts)
}

// move makes p the present place. It drops a place if two later places, or one, make it needless:
// one whose share is at most as large, and one whose share is at least as large. These have the
// same effect, and end later. p does not count as a later place here: if its share is larger, it
// does not apply yet. move requires that s.mu is held.
func (s *Shares) move(p place, at int64) {
	last := &s.places[len(s.places)-1]
	p.end = last.end
	if p == *last {
		return
	}
	last.end = at
	for i := len(s.places) - 2; i >= 0; i-- {
		q, after := s.places[i], s.places[i+1:]
		atMost := func(r place) bool { return r.atMost(q) }
		if slices.ContainsFunc(after, atMost) && slices.ContainsFunc(after, q.atMost) {
			s.places = slices.Delete(s.places, i, i+1)
		}
	}
	s.places = append(s.places, p)
	s.turn++
}

// Accept implements [weir.Acceptor].
func (s *Shares) Accept(l *weir.KeyedLimiter) error {
	if s.store == nil {
		return errNotShares
	}
	return weir.Accept(s.store, l)
}
