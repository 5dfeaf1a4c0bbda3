package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/record"
)

// program is the start of a command line.
const program = "go run ./benchmarks/report"

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

// goBenchmarks are the single measurements in the format of Go benchmarks. readBack and command
// history read them, too. Lines that begin with # are for these two. Without the #, benchstat would
// not compare two files that differ in such a line.
func goBenchmarks(r results) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("# date: %s", r.Date)
	put("# go: %s", r.Go)
	put("# cores: %d", r.Cores)
	put("# weir: %s", r.Revision)
	put("# rounds: %s", r.rounds())
	put("# command: %s", r.Command)
	if r.Took > 0 {
		put("# took: %s", r.Took.Round(time.Second))
	}
	put("# exact: %s", strings.Join(exactPeers(r), " "))
	shown := []string{xsync} // modules of which the page shows the version
	for _, c := range benchmarks.Contenders() {
		if c.Peer() {
			shown = append(shown, c.Module)
		}
	}
	slices.Sort(shown)
	for _, module := range slices.Compact(shown) {
		if v := r.Versions[module]; v != "" {
			put("# %s: %s", module, v)
		}
	}
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
			lines[name] += fmt.Sprintf(" %v %s", s.Metrics[metric], unit) // all digits, so that they are rounded only once
		}
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			put("Benchmark%s/contender=%s-%d 1%s", name, record.Name(s.Contender), r.Cores, lines[name])
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
			names = append(names, record.Name(c.Name))
		}
	}
	return names
}

// commandLine returns the command line for some arguments, as in a shell. argumentsOf is the
// reverse.
func commandLine(args []string) string {
	line := program
	for _, arg := range args {
		if strings.Contains(arg, " ") { // as in the names of some contenders
			arg = "'" + arg + "'"
		}
		line += " " + arg
	}
	return line
}

func argumentsOf(line string) []string {
	quoted := false
	args := strings.FieldsFunc(strings.TrimPrefix(line, program), func(r rune) bool {
		if r == '\'' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for i := range args {
		args[i] = strings.Trim(args[i], "'")
	}
	return args
}

// readBack returns the results from which goBenchmarks wrote the file of run.
func readBack(run record.Run) (results, error) {
	about := run.About
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o, err := parse(flags, argumentsOf(about["command"]))
	if err != nil {
		return results{}, fmt.Errorf("%q: %w", about["command"], err)
	}
	cores, err := strconv.Atoi(about["cores"])
	if err != nil {
		return results{}, fmt.Errorf("cores: %w", err)
	}
	took, _ := time.ParseDuration(about["took"]) // zero if not known
	r := results{
		Environment: Environment{
			Date: about["date"], CPU: about["cpu"], Cores: cores, System: about["goos"] + "/" + about["goarch"],
			Go: about["go"], Revision: about["weir"], Versions: about, // it also has the versions, by module
		},
		Command: about["command"], Settings: o.settings, Rounds: o.rounds, Took: took,
	}
	for _, contender := range run.Contenders {
		for round := range r.Rounds {
			m := benchmarks.Metrics{}
			for s, values := range run.Values {
				if s.Contender == contender && round < len(values) {
					m[metricOf(s)] = values[round]
				}
			}
			r.Samples = append(r.Samples, sample{contender, round, m})
		}
	}
	return r, nil
}

// metricOf returns the metric that goBenchmarks wrote as the series s.
func metricOf(s record.Series) string {
	var keys, goroutines int
	if _, err := fmt.Sscanf(s.Workload, "Growth/keys=%d/goroutines=%d", &keys, &goroutines); err == nil {
		return benchmarks.GrowthMetric(keys, goroutines)
	}
	if method, ok := strings.CutPrefix(s.Workload, "M1/method="); ok {
		return benchmarks.MethodMetric(method)
	}
	workload := strings.Replace(s.Workload, "Populate", "populate", 1) // Go benchmarks begin with an upper case letter
	for figure, unit := range units {
		if unit == s.Unit {
			return workload + "." + figure
		}
	}
	return workload + "." + s.Unit
}
