package main

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/median"
)

// results are all measurements of a run, and where it was made.
type results struct {
	Environment
	Command  string
	Settings benchmarks.Settings
	Rounds   int
	Took     time.Duration
	Samples  []sample
}

// A sample is what one process measured.
type sample struct {
	Contender string
	Round     int
	Metrics   benchmarks.Metrics
}

// series are the values of a metric, by round.
func (r results) series(contender, metric string) map[int]float64 {
	values := make(map[int]float64)
	for _, s := range r.Samples {
		if v, ok := s.Metrics[metric]; ok && s.Contender == contender {
			values[s.Round] = v
		}
	}
	return values
}

// median is the median of a metric over the rounds; NaN if it was not measured.
func (r results) median(contender, metric string) float64 {
	var values []float64
	for _, v := range r.series(contender, metric) {
		values = append(values, v)
	}
	return median.Of(values)
}

// ratio is how many times the leader's value the contender's is: the median of the
// rounds' ratios, since what is measured in one round is closest in time.
func (r results) ratio(contender, metric string) float64 {
	return ratio(r.series(contender, metric), r.series(leader(metric), metric))
}

// ratio is the median of the rounds' ratios.
func ratio(values, of map[int]float64) float64 {
	var ratios []float64
	for round, v := range values {
		if w, ok := of[round]; ok {
			ratios = append(ratios, v/w)
		}
	}
	return median.Of(ratios)
}

// leader is the contender that the others are compared with.
func leader(metric string) string {
	if strings.HasPrefix(metric, "H1.") {
		return benchmarks.MiddlewareLeader
	}
	return benchmarks.Leader
}

// most is the largest value of a metric, or zero.
func (r results) most(contender, metric string) float64 {
	most := 0.0
	for _, v := range r.series(contender, metric) {
		most = max(most, v)
	}
	return most
}

// spread tells how much the rounds differ: the middle half of a metric's values, as a share of the
// median. It is the median of that over all contenders.
func (r results) spread(metric string) float64 {
	var spreads []float64
	for _, c := range r.contenders(metric) {
		var values []float64
		for _, v := range r.series(c.Name, metric) {
			values = append(values, v)
		}
		slices.Sort(values)
		quarter := len(values) / 4
		spreads = append(spreads, (values[len(values)-1-quarter]-values[quarter])/median.Of(values))
	}
	return median.Of(spreads)
}

// contenders are those that a metric was measured of, in the order of the tables.
func (r results) contenders(metric string) []benchmarks.Contender {
	return slices.DeleteFunc(benchmarks.Contenders(), func(c benchmarks.Contender) bool {
		return len(r.series(c.Name, metric)) == 0
	})
}
