package main

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/record"
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
			t.Errorf("the name %s cannot be read back: it is written %s", c.Name, record.Name(c.Name))
		}
	}
}

// A page can be written anew from the file of its run.
func TestGoBenchmarksAreReadBack(t *testing.T) {
	metrics := []string{"populate" + benchmarks.Wrong, "W1" + benchmarks.Wrong, "W6.longest", "W6.overMs", "W6.allocs", "W6.peak", "W7.gc", "W8.p99", "W8.p999", "W8.max", "H1.allocs"}
	for _, s := range sections {
		metrics = append(metrics, s.metrics...)
	}
	for _, n := range benchmarks.GrowthKeys {
		for _, g := range benchmarks.GrowthGoroutines {
			metrics = append(metrics, benchmarks.GrowthMetric(n, g))
		}
	}
	for _, name := range benchmarks.MethodNames {
		metrics = append(metrics, benchmarks.MethodMetric(name))
	}
	r := made(t, 3, metrics...)
	r.Took, r.Settings.Latency, r.Settings.Scale = time.Hour, 2*time.Second, .5
	r.Command = commandLine([]string{"-rounds", "3", "-time", "1s", "-latency", "6s", "-scale", "0.5", "-contenders", "map + mutex"})
	r.Versions[xsync] = "v4.5.6"
	run, err := record.Parse("v0.1.0", goBenchmarks(r))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readBack(run)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := document(got), document(r); got != want {
		t.Errorf("the page is\n%s\nmust be\n%s", got, want)
	}
	for about, value := range map[string]string{"command": "go run ./benchmarks/report W1", "cores": "many"} {
		broken := record.Run{About: maps.Clone(run.About)}
		broken.About[about] = value
		if _, err := readBack(broken); err == nil {
			t.Errorf("%s %s is accepted", about, value)
		}
	}
}
