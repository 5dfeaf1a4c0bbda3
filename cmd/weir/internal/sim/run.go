package sim

import (
	"time"
)

// Start is the instant at which every simulation starts. It is the start of a year. Windows that
// are aligned to the Unix epoch also start then, if a day is a multiple of their length.
var Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// looks is the number of parts into which the looks of a Run divide the Span.
const looks = 400

// maxRecords bounds the records of a lane, about 25 MB.
const maxRecords = 200_000

// maxTold bounds Told of the records of a lane in the same way: a policy may have many components.
const maxTold = 2 * maxRecords

// A Run is a simulation of a Scenario. It is not safe for concurrent use.
type Run struct {
	scenario Scenario
	lanes    []*lane
}

// New prepares a simulation.
func New(s Scenario) (*Run, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r := &Run{scenario: s}
	arrivals := s.arrivals()
	for _, l := range s.Lanes {
		sim, err := newLane(&r.scenario, l, arrivals)
		if err != nil {
			return nil, err
		}
		r.lanes = append(r.lanes, sim)
	}
	return r, nil
}

// Advance simulates all that happens until an instant, counted from the start, if it has not been
// simulated yet.
func (r *Run) Advance(to time.Duration) error {
	for _, l := range r.lanes {
		if err := l.advance(min(int64(to), int64(r.scenario.Span))); err != nil {
			return err
		}
	}
	return nil
}

// Records returns what has happened in a lane so far, in order. The slice must not be changed.
func (r *Run) Records(lane int) []Record { return r.lanes[lane].records }

// Full reports whether a lane has stopped, because it has as many records as a lane can have.
func (r *Run) Full(lane int) bool { return r.lanes[lane].full() }

// Figures returns the figures of a lane at an instant that has been simulated.
func (r *Run) Figures(lane int, at time.Duration) Figures {
	l := r.lanes[lane]
	return l.meter.read(l.records, int64(at), r.scenario.Measure)
}
