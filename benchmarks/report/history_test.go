package main

import (
	"strings"
	"testing"

	"github.com/weir-go/weir/benchmarks"
)

func TestGoBenchmarks(t *testing.T) {
	r := made(t, 2, "W1.ns", "W7.bytes", "W8.p999", benchmarks.GrowthMetric(1000, 2))
	r.Samples[1].Metrics["W7"+benchmarks.Wrong] = .015
	got := goBenchmarks(r)
	for _, line := range []string{
		"# date: 2026-01-02",
		"# go: go1",
		"# cores: 1",
		"# rounds: 2, of 1s a measurement",
		"goos: cp",
		"goarch: m",
		"cpu: Z80",
		"BenchmarkW1/contender=weir:TokenBucket-1 1 20 ns/op",
		"BenchmarkW1/contender=weir:TokenBucket-1 1 40 ns/op",
		"BenchmarkW7/contender=(the_loop_alone)-1 1 20 B/key 0.015 wrong",
		"BenchmarkW8/contender=weir:TokenBucket-1 1 20 p999-ns",
		"BenchmarkGrowth/keys=1000/goroutines=2/contender=weir:TokenBucket-1 1 20 ns/op",
		"BenchmarkW1/contender=x:time:rate,_map_+_mutex-1 1 90 ns/op",
	} {
		if strings.Count("\n"+got, "\n"+line+"\n") != 1 {
			t.Errorf("it must have the line %q once", line)
		}
	}
	_, exact, _ := strings.Cut(got, "# exact: ")
	exact, _, _ = strings.Cut(exact, "\n")
	for name, want := range map[string]bool{
		"x:time:rate,_sync.Map": true, "sethvargo": true,
		"weir:TokenBucket": false, "(the_loop_alone)": false, "uber,_sync.Map": false, "httprate": false,
	} {
		if strings.Contains(" "+exact+" ", " "+name+" ") != want {
			t.Errorf("%s is an exact peer: not %v", name, want)
		}
	}
}

// A figure without a unit would spoil the file.
func TestGoBenchmarksHaveUnits(t *testing.T) {
	for _, figure := range []string{"ns", "allocs", "bytes", "longest", "overMs", "peak", "gc", "p50", "p99", "p999", "max", "wrong"} {
		if units[figure] == "" {
			t.Errorf("no unit for %s", figure)
		}
	}
	for _, c := range benchmarks.Contenders() {
		if strings.ContainsAny(c.Name, "_:") {
			t.Errorf("the name %s cannot be read back: it is written %s", c.Name, inName(c.Name))
		}
	}
}
