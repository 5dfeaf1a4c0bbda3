package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weir-go/weir/benchmarks"
)

// units are those of figures in the format of Go benchmarks, which benchstat converts.
var units = map[string]string{
	"ns":      "ns/op",
	"allocs":  "allocs/op",
	"bytes":   "B/key",
	"longest": "longest-ns",
	"overMs":  "over-1ms",
	"peak":    "peak-B",
	"gc":      "gc-ns",
	"p50":     "p50-ns",
	"p99":     "p99-ns",
	"p999":    "p999-ns",
	"max":     "max-ns",
	"wrong":   "wrong",
}

// goBenchmarks are the single measurements in the format of Go benchmarks. Command history reads
// them, too. What stands behind # is for that command. benchstat would not compare two files that
// differ in it.
func goBenchmarks(r results) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("# date: %s", r.Date)
	put("# go: %s", r.Go)
	put("# cores: %d", r.Cores)
	put("# weir: %s", r.Revision)
	put("# rounds: %s", r.rounds())
	put("# command: %s", r.Command)
	put("# exact: %s", strings.Join(exactPeers(r), " "))
	goos, goarch, _ := strings.Cut(r.System, "/")
	put("goos: %s\ngoarch: %s\npkg: github.com/weir-go/weir/benchmarks\ncpu: %s", goos, goarch, r.CPU)
	for _, s := range r.Samples {
		lines := make(map[string]string) // by benchmark
		for _, metric := range slices.Sorted(maps.Keys(s.Metrics)) {
			workload, figure, _ := strings.Cut(metric, ".")
			name, unit := strings.ToUpper(workload[:1])+workload[1:], units[figure]
			if workload == "M1" {
				name, unit = "M1/method="+figure, units["ns"]
			}
			if keys, goroutines, ok := strings.Cut(figure, "/"); ok { // of growth
				name, unit = fmt.Sprintf("%s/keys=%s/goroutines=%s", name, keys, goroutines), units["ns"]
			}
			lines[name] += fmt.Sprintf(" %.6g %s", s.Metrics[metric], unit)
		}
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			put("Benchmark%s/contender=%s-%d 1%s", name, inName(s.Contender), r.Cores, lines[name])
		}
	}
	return b.String()
}

// exactPeers are the peers that weir is compared with, release by release: those that deny, and
// count each key for itself. Whether they decide wrongly, a run shows.
func exactPeers(r results) (names []string) {
	for _, c := range benchmarks.Contenders() {
		ran := slices.ContainsFunc(r.Samples, func(s sample) bool { return s.Contender == c.Name })
		if ran && c.Peer() && c.Kind != benchmarks.Blocks && !c.Hashes {
			names = append(names, inName(c.Name))
		}
	}
	return names
}

// inName writes a contender's name without what separates the parts of a benchmark's.
func inName(contender string) string {
	return strings.NewReplacer(" ", "_", "/", ":").Replace(contender)
}
