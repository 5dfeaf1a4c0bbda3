package weir

import (
	"math"
	"math/bits"
	"time"
)

// A Holder is for implementers of policies, and of stores that take events before they are used, as
// the Lease of package [github.com/weir-go/weir/fleet] does. It is a [Decider] whose granted events
// may be used some time after the grant. If a Decider is not a Holder, its events must be used at
// once.
//
// In this package, the Deciders of [TokenBucket], [FixedWindow], [CalendarWindow] and
// [SlidingWindow] are Holders. The Decider of [All] is one if the Deciders of all its components
// are.
type Holder interface {
	Decider

	// Hold returns how long the events of a grant may be held before they are used. at is the
	// instant of the grant, and charges are its charges. If the policy keeps no charges, there is
	// one Charge: all the events of the grant, until ResetAfter.
	//
	// Hold sets N to 0 in the charges that must stay as they are when events are given back unused.
	Hold(at int64, charges []Charge) Hold
}

// A Hold is for implementers of policies and stores. It says for how long granted events may be
// held before they are used. All its times start at the grant. A store that holds events counts
// these times from before its request, by a clock that runs as fast as the shared store's. The
// times then end early rather than late.
//
// The zero Hold is for events that must be used at once.
type Hold struct {
	For time.Duration // an event must be used before this has passed

	// If Over is above zero, the policy earns new events while the granted ones are held. At first,
	// at most Most events of the grant may then be unused. This bound falls evenly to zero until
	// Over has passed. Unused events above the bound are lost.
	Most int
	Over time.Duration

	// Span is the time in which the policy earns its whole allowance, such as the length of a
	// window. It helps a store that holds events to decide how many to take.
	Span time.Duration
}

// Left returns how many events may still be unused at the time passed after the grant. math.MaxInt
// stands for all of them.
func (h Hold) Left(passed time.Duration) int {
	switch passed = max(passed, 0); {
	case passed >= h.For:
		return 0
	case h.Over <= 0:
		return math.MaxInt
	case passed >= h.Over:
		return 0
	}
	hi, lo := bits.Mul64(uint64(max(h.Most, 0)), uint64(h.Over-passed))
	left, _ := bits.Div64(hi, lo, uint64(h.Over))
	return int(left)
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
	hi, lo := bits.Mul64(uint64(n), uint64(h.Over))
	used, rest := bits.Div64(hi, lo, uint64(h.Most))
	if rest > 0 {
		used++
	}
	return max(min(h.For, h.Over-time.Duration(used)), 0)
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
