package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A Charge is for implementers of stores and policies. It is what one policy charges for a grant. A
// policy made by [All] or [Tiers] has the Charges of its single policies, in their order.
// [SingleRateMarker] and [TwoRateMarker] have two: first that of the bucket to which all events are
// charged, then that of the bucket Committed. Other policies have one Charge.
type Charge struct {
	N      int           // events; zero for a tier that did not pay, and for Committed of yellow events
	Before time.Duration // of a bucket: its ResetAfter before the grant; other policies do not use it
	For    time.Duration // the longest time that the events count: usually the ResetAfter of the grant

	// The state may already have seen an instant after that of the grant, by another clock. The
	// events are then counted at the later instant, and Late is the time from the grant to that
	// instant. Otherwise, Late is zero. Late, Before and For are measured from the GrantedAt of
	// [Ask]. For a grant at instant 0, GrantedAt is 1, and Late is -1.
	Late time.Duration

	// Before and For are rounded up to nanoseconds. BeforeRest and ForRest say by how much Before
	// and For were rounded, in a smaller unit that the policy chooses. BeforeRest and ForRest are
	// zero if the policy counts in nanoseconds.
	BeforeRest, ForRest uint64
}

// from is the instant at which a bucket begins to pay for a charge that was made at the instant at.
func (c *Charge) from(at int64) exact.Instant {
	return exact.Instant{NS: exact.After(at, c.Before), Rest: c.BeforeRest}
}

// until is the instant until which the events of a charge count, if the charge was made at the
// instant at.
func (c *Charge) until(at int64) exact.Instant {
	return exact.Instant{NS: exact.After(at, c.For), Rest: c.ForRest}
}

// paid is the instant at which a bucket of a rate has been paid for a charge that was made at the
// instant at. It may be beyond the last instant that until can return.
func (c *Charge) paid(at int64, r exact.Rate) exact.Uint128 {
	from, until := c.from(at), c.until(at)
	end := r.At(until)
	if until.NS == math.MaxInt64 && from.NS < math.MaxInt64 {
		if paid := r.At(from).Add(r.Cost(uint64(max(c.N, 0)))); end.Less(paid) {
			return paid
		}
	}
	return end
}

// charge is the Charge of the grant whose events are given back. It is nil if the grant is not
// known, or if it has several.
func (a *Ask) charge() *Charge {
	if a.GrantedAt == 0 || a.Charges == nil || len(*a.Charges) != 1 {
		return nil
	}
	return &(*a.Charges)[0]
}

// naming is a give-back of the events that own was charged. own is one Charge, of a single policy
// or of a bucket.
func (a Ask) naming(own *[]Charge) Ask {
	a.N, a.Charges = -min(-max(a.N, -math.MaxInt), (*own)[0].N), own
	return a
}

// beside is what a give-back must know of other bookings.
type beside struct {
	// promised has an instant for each single policy, in their order, or is empty. Until that
	// instant a booking may lie ahead, even if it does not by the policy's present numbers. If the
	// instant is not zero, the events that are given back do not lie ahead, or they are not of the
	// last booking.
	promised []int64

	// stay is the time, in units of a bucket's rate, that pays for what stays behind the first of
	// the events that are given back, up to the end of the Charge.
	stay exact.Uint128
}

// CountedAt is for an Ask that gives events back. It returns the instant at which their grant
// counted them. This is GrantedAt or, if Charges has exactly one [Charge], GrantedAt plus its Late.
// It returns [math.MaxInt64] if the grant is not known, because the events may then belong to any
// grant.
func (a Ask) CountedAt() int64 {
	if a.GrantedAt == 0 {
		return math.MaxInt64
	}
	if c := a.charge(); c != nil {
		return exact.After(a.GrantedAt, c.Late)
	}
	return a.GrantedAt
}

// countedCharge is the Charge of n events that are granted at now, and count from the instant
// counted until the instant end.
func countedCharge(n int, now int64, counted, end uint64) Charge {
	return Charge{
		N: n, For: untilInstant(now, int64(exact.Duration(end))), Late: exact.Duration(counted - uint64(now)),
	}
}

// untilInstant is how long it is until the instant at, or Never.
func untilInstant(now, at int64) time.Duration {
	if at == math.MaxInt64 {
		return Never
	}
	return time.Duration(max(at-now, 0))
}

// chargeLate sets the Charges of n events if they count from an instant after now. Otherwise it
// empties them: what they would say follows from the answer.
func (a Ask) chargeLate(n uint64, now int64, counted, end uint64) {
	if a.Charges == nil || n == 0 {
		return
	}
	*a.Charges = (*a.Charges)[:0]
	if counted > uint64(now) {
		*a.Charges = append(*a.Charges, countedCharge(int(n), now, counted, end))
	}
}

// paid is the instant at which a bucket of a rate has been paid for the given-back events. If the
// grant is not known, paid reports false, and the instant is beyond all others. The Charge is then
// late, if there is one: a bucket itself counts nothing late.
func (a *Ask) paid(r exact.Rate) (end exact.Uint128, known bool) {
	if c := a.charge(); c != nil && c.Late <= 0 {
		return c.paid(a.GrantedAt, r), true
	}
	return exact.Uint128{Hi: math.MaxUint64, Lo: math.MaxUint64}, false
}

// A Holder is for implementers of policies, and of stores that take events for later use, as the
// Lease of package [github.com/weir-go/weir/fleet] does. It is a [Decider] whose granted events may
// be used some time after the grant. If a Decider is not a Holder, its events must be used at once.
//
// In this package, events of [TokenBucket], [FixedWindow], [CalendarWindow] and [SlidingWindow] may
// be held, and events of [All] if the events of all its components may be held. For the other
// policies, the Decider is no Holder, or its Hold returns the zero Hold.
type Holder interface {
	Decider

	// Hold returns how long the events of a grant may be held before they are used. at is the
	// instant of the grant, and charges are what the grant was charged. If the policy sets no
	// charges, the slice has one Charge of all the events, which count until ResetAfter has passed.
	//
	// The store may later give back events that were not used. In charges whose events must stay
	// charged even then, Hold sets N to 0. If N is 0 in all charges, the store gives nothing back.
	Hold(at int64, charges []Charge) Hold
}

// A Hold is for implementers of policies and stores. It says for how long granted events may be
// held before they are used. Its times For and Over start at the grant. A store that holds events
// measures both times from an instant before it sends its request, by a clock that runs as fast as
// the shared store's. The times then end early rather than late.
//
// The zero Hold is for events that must be used at once.
type Hold struct {
	For time.Duration // an event must be used before this time has passed

	// If Over is above zero, the policy earns new events while the granted ones are held. At the
	// instant of the grant, at most Most of the granted events may be unused. This bound falls
	// evenly, and is zero when Over has passed. The store drops unused events above the bound.
	Most int
	Over time.Duration

	// Span is the time in which the policy earns its whole allowance, such as the length of a
	// window. It helps a store that holds events to decide how many to take.
	Span time.Duration
}

// Left returns how many events of the grant may still be unused. passed is the time since the
// grant. math.MaxInt stands for all events of the grant.
func (h Hold) Left(passed time.Duration) int {
	switch passed = max(passed, 0); {
	case passed >= h.For:
		return 0
	case h.Over <= 0:
		return math.MaxInt
	}
	return int(exact.Portion(uint64(max(h.Most, 0)), uint64(max(h.Over-passed, 0)), uint64(h.Over)))
}

// Within returns for how long after the grant n events may be unused: until then, Left is at least
// n. An n below 1 counts as 1.
func (h Hold) Within(n int) time.Duration {
	n = max(n, 1)
	switch {
	case h.Over <= 0:
		return max(h.For, 0)
	case n > h.Most:
		return 0
	}
	bound := exact.Portion(uint64(h.Most-n), uint64(h.Over), uint64(h.Most)) // the time in which it falls to n
	return max(min(h.For, time.Duration(bound)), 0)
}

// both is the Hold of events that two policies have counted.
func (h Hold) both(g Hold) Hold {
	most := Hold{For: min(h.For, g.For), Most: h.Most, Over: h.Over, Span: min(h.Span, g.Span)}
	switch {
	case h.Over <= 0:
		most.Most, most.Over = g.Most, g.Over
	case g.Over > 0: // a line below both
		most.Most, most.Over = min(h.Most, g.Most), min(h.Over, g.Over)
	}
	return most
}
