package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// An entrant is a contender that was found to limit, and what was measured of it.
type entrant struct {
	contender
	client  io.Closer
	granted int   // of 100 events, to goroutines that ask at once
	failed  int   // of their asks
	bytes   int64 // of a key
	figures map[workload][]figure

	roomy, slow, tight limiter // for the quotas of that name
}

// takesPart tells whether the entrant is measured in a workload.
func (e *entrant) takesPart(w workload) bool {
	return w.denied && e.name != floor || !w.denied && !e.only
}

// enter connects a contender to its database, and checks that it limits. It leaves the server
// empty.
func enter(s *server, number int, c contender) (*entrant, error) {
	db := database{s.addr, number}
	client, limit, err := c.open(db)
	if err != nil {
		return nil, err
	}
	e := &entrant{contender: c, client: client, figures: map[workload][]figure{}}
	few, err1 := limit(quota{3, time.Hour})
	hundred, err2 := limit(quota{100, time.Hour})
	var err3, err4, err5 error
	e.roomy, err3 = limit(roomy)
	e.slow, err4 = limit(slow)
	e.tight, err5 = limit(tight)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	if c.name != floor {
		if err := check(few); err != nil {
			return nil, err
		}
		e.granted, e.failed = together(hundred, "together")
	}
	if e.bytes, err = bytesPerKey(s, db, hundred); err != nil {
		return nil, err
	}
	return e, nil
}

// bytesPerKey is the memory that Redis has for each key that the limiter was asked for once.
func bytesPerKey(s *server, db database, l limiter) (int64, error) {
	if err := s.flush(); err != nil {
		return 0, err
	}
	const n = 1000
	if err := populate(l, keys(n)); err != nil {
		return 0, err
	}
	all, err := s.bytes(db)
	return all / n, errors.Join(err, s.flush())
}

// check tells whether a limiter for three events grants just these, for each of two keys.
func check(l limiter) error {
	for _, key := range []string{"check 1", "check 2"} {
		for i := range 6 {
			ok, err := l(context.Background(), key)
			if err != nil {
				return err
			}
			if ok != (i < 3) {
				return fmt.Errorf("it does not limit: event %d of 3 is granted: %v", i+1, ok)
			}
		}
	}
	return nil
}

// median is that of a figure over the rounds; NaN if it was not measured.
func (e *entrant) median(w workload, of func(figure) float64) float64 {
	var values []float64
	for _, f := range e.figures[w] {
		values = append(values, of(f))
	}
	return median(values)
}

// ratio is how many times as much a figure of other is: the median of the rounds' ratios, since
// what is measured in one round is closest in time.
func (e *entrant) ratio(other *entrant, w workload, of func(figure) float64) float64 {
	var ratios []float64
	for round, f := range e.figures[w] {
		if round < len(other.figures[w]) {
			ratios = append(ratios, of(other.figures[w][round])/of(f))
		}
	}
	return median(ratios)
}

// median is the middle of the values, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
