package main

import (
	"math"
	"strings"

	"github.com/weir-go/weir/benchmarks/median"
	"github.com/weir-go/weir/benchmarks/record"
)

// A run is what one file holds.
type run struct{ record.Run }

// of returns the values of a figure, one for each round.
func (r run) of(f figure, contender string) []float64 {
	return r.Values[record.Series{Workload: f.workload, Contender: contender, Unit: f.unit}]
}

// best is the exact peer with the least median, or empty if there is none. Those that decided
// wrongly in the workload are left out.
func (r run) best(f figure) (peer string) {
	least := math.Inf(1)
	for _, name := range strings.Fields(r.About["exact"]) {
		name = record.FromName(name)
		if len(r.of(figure{workload: f.workload, unit: "wrong"}, name)) > 0 {
			continue
		}
		if v := median.Of(r.of(f, name)); v < least {
			peer, least = name, v
		}
	}
	return peer
}

// ratio is the median of the ratios within a round: what was measured in one is closest in time.
func ratio(a, b []float64) float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, a[i]/b[i])
	}
	return median.Of(ratios)
}
