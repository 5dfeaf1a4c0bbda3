package weir

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/exact"
)

// A Charge is for implementers of stores and policies. It is the cost of a grant by one policy. A
// composed policy has a Charge for each of its single policies, in their order.
type Charge struct {
	N      int           // events; zero for a tier that did not pay
	Before time.Duration // ResetAfter before the grant
	For    time.Duration // the events count for at most that long: usually ResetAfter after the grant

	// Late is how much later than the instant of the grant the events were counted. It is above
	// zero if the state had seen a later instant, by another clock. Before and For are from the
	// instant of the grant in any case.
	Late time.Duration

	// Before and For are rounded up to nanoseconds. BeforeRest and ForRest say by how much they
	// were rounded, in a smaller unit that the policy chooses. They are zero if the policy counts
	// in nanoseconds.
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

// CountedAt returns the instant at which the events of a give-back were counted: GrantedAt, plus Late
// of the Charge if there is exactly one. It returns 0 if the grant is not known.
func (a Ask) CountedAt() int64 {
	if a.GrantedAt == 0 || a.Charges == nil || len(*a.Charges) != 1 {
		return a.GrantedAt
	}
	return exact.After(a.GrantedAt, (*a.Charges)[0].Late)
}

// countedCharge is the Charge of n events that are granted at now, and count from the instant
// counted until the instant end.
func countedCharge(n int, now int64, counted, end uint64) Charge {
	return Charge{
		N: n, For: untilInstant(now, int64(exact.Duration(end))), Late: exact.Duration(counted - uint64(now)),
	}
}

// chargeLate sets the Charges of n events if they count from an instant after now. Otherwise it
// leaves them: what they would say follows from the answer.
func (a Ask) chargeLate(n uint64, now int64, counted, end uint64) {
	if a.Charges != nil && n > 0 && counted > uint64(now) {
		*a.Charges = append((*a.Charges)[:0], countedCharge(int(n), now, counted, end))
	}
}

// until is the instant until which the given-back events count, by any of their charges, or
// math.MaxInt64 if it is not known.
func (a Ask) until() (last exact.Instant) {
	if a.GrantedAt == 0 || a.Charges == nil || len(*a.Charges) == 0 {
		return exact.Instant{NS: math.MaxInt64}
	}
	for i := range *a.Charges {
		if u := (*a.Charges)[i].until(a.GrantedAt); u.NS >= last.NS {
			last = u
		}
	}
	return last
}
