package fleet

import (
	"math"
	"time"

	"github.com/weir-go/weir"
)

// terms are what a plan says of leases of its keys.
type terms struct {
	plan   *weir.Plan
	holder weir.Holder
	limit  int
	span   time.Duration // of the policy, see weir.Hold; 0 if its events are not leased
	drains bool          // a bucket earns again what is held
	most   float64       // the most events to take of buckets, which must earn again those that are not used
	time   time.Duration // for which a lease is to last

	longest float64 // by how much longer one may last, so that what it holds is used within MaxAge
}

const (
	leastLimit = 100              // smaller limits are not leased: nodes would hold too much of them
	mostLimit  = math.MaxInt >> 4 // nor are larger ones, whose sums would not fit
	leastHold  = time.Millisecond // shorter holds are not worth it, and clocks may round

	// A lease is to last for this part of a span. The part is smaller for windows: events that are
	// held are missing elsewhere when the limit is nearly used up. A bucket earns them again.
	partOfBucket, partOfWindow = 16, 32
)

func (s *LeaseStore) newTerms(p *weir.Plan) *terms {
	t := &terms{plan: p}
	t.holder, _ = p.Decider.(weir.Holder)
	if t.holder != nil {
		var charges []weir.Charge
		now := p.Now()
		_, a := p.Decider.Decide(make([]uint64, p.Decider.Words()), now, weir.Ask{N: 1, Charges: &charges})
		charges = chargesOf(charges, 1, a)
		h := t.holder.Hold(now, charges)
		t.limit = a.Limit
		part := time.Duration(partOfWindow)
		if t.drains = h.Over > 0; t.drains {
			part = partOfBucket
			t.most = s.mostOf(charges)
		}
		slow := t.drains && t.most < calls // what is not used would be missing for long
		t.time = min(h.Span/part, s.maxAge/2)
		t.longest = 0.9 * float64(s.maxAge) / float64(t.time)
		if a.Limit >= leastLimit && a.Limit <= mostLimit && t.time >= leastHold && !slow {
			t.span = h.Span
		}
	}
	return t
}

// mostOf is how many events a bucket earns within MaxAge: as many of them may stay unused, because
// they are not given back. Of several buckets it is 0. The one that is nearly full has soon earned
// what is held, and it must then not be used. In the others, it would be missing for long. charges
// are those of one event for a new key, after Hold.
func (s *LeaseStore) mostOf(charges []weir.Charge) (most float64) {
	buckets := 0
	for _, c := range charges {
		if c.N == 0 {
			buckets++
			most = float64(s.maxAge) / float64(max(c.For, 1))
		}
	}
	if buckets > 1 {
		return 0
	}
	return most
}

// byAnother reports whether an answer is of a second store, or by another limit than the policy's,
// as Shares give it. No events are taken ahead of need then.
func (t *terms) byAnother(a weir.Answer) bool { return a.Degraded || a.Limit != t.limit }

// chargesOf returns the charges of a grant, also if the policy keeps none.
func chargesOf(charges []weir.Charge, n int, a weir.Answer) []weir.Charge {
	if len(charges) == 0 {
		return []weir.Charge{{N: n, For: a.ResetAfter}}
	}
	return charges
}

// hold returns how long events that were granted at the instant at may be held. The time is by this
// process's clock, which runs up to one part in a thousand faster or slower than the store's. The
// clock showed sent before the request. unused are the charges of a give-back, or nil if nothing
// can be given back. Until back, events can be given back.
func (t *terms) hold(at, sent int64, charges []weir.Charge) (h weir.Hold, unused []weir.Charge, back int64) {
	h = t.holder.Hold(at, charges)
	h.For -= h.For/1000 + 1
	h.Over -= (h.Over + 999) / 1000
	if h.For < leastHold {
		h.For = 0
	}
	for _, c := range charges {
		if c.N > 0 {
			unused, back = charges, max(back, later(sent, c.For))
		}
	}
	return h, unused, back
}
