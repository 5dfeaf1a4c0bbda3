// Package sim runs policies side by side on the same traffic, in virtual time. It asks real
// limiters of package weir, so that it shows what a service would see. It is the engine of
// "weir play".
package sim

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A Scenario is all that a simulation depends on. The same Scenario always gives the same results,
// on every machine. [Parse] and [Scenario.Query] read and write it as text.
type Scenario struct {
	Span    time.Duration // of the simulation; 1ms to 366 days
	Lanes   []Lane        // 1 to 6, each with the same traffic
	Rates   []int64       // 1 to 120; thousandths of a request a second, each for an equal part of Span
	Poisson bool          // requests come at random, else evenly
	Bursts  []Burst       // at most 100
	Outages []Outage      // at most 20
	Clients Clients
	Measure time.Duration // the span of Figures.Busiest; 1ns to 366 days
}

// A Lane is a policy, and perhaps another one that replaces it in use.
type Lane struct {
	Policy weir.Policy
	Then   weir.Policy   // nil if the policy never changes
	At     time.Duration // when Then replaces Policy
}

// A Burst is N requests at one instant.
type Burst struct {
	At time.Duration
	N  int
}

// In an Outage no new request arrives. All that are due arrive at its end, or at the end of another
// Outage that lasts then. Clients that ask again do so during an Outage, too.
type Outage struct{ From, To time.Duration }

// Clients says how clients ask. A client whose denial has the RetryAfter Never does not ask again.
type Clients int

// The kinds of clients.
const (
	Once   Clients = iota // gives up after a denial
	Obey                  // asks again after RetryAfter
	Hammer                // asks again after a 200th of the Span, before RetryAfter or later
	Mixed                 // every second client obeys, the others hammer
	Wait                  // calls Wait, and is denied only if the queue is full, or for ever
)

var clientNames = [...]string{"once", "obey", "hammer", "mixed", "wait"}

// String returns the name of c in the text of a [Scenario].
func (c Clients) String() string { return clientNames[c] }

// Bounds of a Scenario. They keep the work of a browser to about a second.
const (
	maxSpan     = 366 * 24 * time.Hour
	maxLanes    = 6
	maxRates    = 120
	maxRate     = 1_000_000_000 // thousandths
	maxBursts   = 100
	maxOutages  = 20
	maxArrivals = 50_000
)

// check returns an error that names every fault of s.
func (s *Scenario) check() error {
	var errs []error
	within := func(what string, value, least, most any, ok bool) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, must be %v to %v", what, value, least, most))
		}
	}
	spanOK := time.Millisecond <= s.Span && s.Span <= maxSpan
	within("the span", s.Span, time.Millisecond, maxSpan, spanOK)
	within("the measured span", s.Measure, time.Duration(1), maxSpan, 1 <= s.Measure && s.Measure <= maxSpan)
	within("the number of policies", len(s.Lanes), 1, maxLanes, 1 <= len(s.Lanes) && len(s.Lanes) <= maxLanes)
	within("the number of rates", len(s.Rates), 1, maxRates, 1 <= len(s.Rates) && len(s.Rates) <= maxRates)
	within("the number of bursts", len(s.Bursts), 0, maxBursts, len(s.Bursts) <= maxBursts)
	within("the number of outages", len(s.Outages), 0, maxOutages, len(s.Outages) <= maxOutages)
	for _, r := range s.Rates {
		within("a rate", formatRate(r), 0, maxRate/1000, 0 <= r && r <= maxRate)
	}
	for _, b := range s.Bursts {
		within("a burst", b.N, 1, maxArrivals, 1 <= b.N && b.N <= maxArrivals)
	}
	if spanOK { // else no instant is right
		s.checkInstants(within)
	}
	if errs == nil {
		n := s.requests()
		within("the number of requests", n, 0, maxArrivals, n <= maxArrivals)
	}
	return errors.Join(errs...)
}

func (s *Scenario) checkInstants(within func(what string, value, least, most any, ok bool)) {
	for _, b := range s.Bursts {
		within("the instant of a burst", b.At, 0, s.Span, 0 <= b.At && b.At <= s.Span)
	}
	for _, o := range s.Outages {
		within("the start of an outage", o.From, 0, s.Span, 0 <= o.From && o.From <= s.Span)
		within("the end of an outage", o.To, o.From, s.Span, o.From < o.To && o.To <= s.Span)
	}
	for _, l := range s.Lanes {
		if l.Then != nil {
			within("the instant of a change", l.At, 0, s.Span, 0 <= l.At && l.At <= s.Span)
		}
	}
}

// requests is the number of requests in the traffic, or more than maxArrivals.
func (s *Scenario) requests() int {
	n := 0
	for _, b := range s.Bursts {
		n = min(n+b.N, maxArrivals+1)
	}
	var total uint64
	for i, r := range s.Rates {
		hi, lo := bits.Mul64(uint64(r), uint64(s.edge(i+1)-s.edge(i)))
		if hi > 0 || lo > maxArrivals*request {
			return maxArrivals + 1
		}
		total += lo
	}
	return n + int(min(ceilDiv(total, request), maxArrivals+1))
}

// edge is where rate i starts.
func (s *Scenario) edge(i int) int64 {
	return int64(s.Span) / int64(len(s.Rates)) * int64(i)
}

// arrivals returns the instants of all requests, in nanoseconds from the start, in order.
func (s *Scenario) arrivals() []int64 {
	all := s.flow()
	for _, b := range s.Bursts {
		all = append(all, slices.Repeat([]int64{int64(b.At)}, b.N)...)
	}
	slices.Sort(all)
	for i, at := range all {
		all[i] = s.afterOutages(at)
	}
	return all
}

// afterOutages returns when a request comes that is due at an instant.
func (s *Scenario) afterOutages(due int64) int64 {
	at := due
	for _, o := range s.Outages {
		if int64(o.From) <= at && at < int64(o.To) {
			at = int64(o.To)
		}
	}
	if at > due { // which may be in another outage
		return s.afterOutages(at)
	}
	return at
}

// PolicyAt returns the policy of the lane at an instant.
func (l Lane) PolicyAt(at time.Duration) weir.Policy {
	if l.Then != nil && at >= l.At {
		return l.Then
	}
	return l.Policy
}
