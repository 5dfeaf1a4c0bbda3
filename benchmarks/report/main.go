// Command report runs the benchmarks and writes docs/benchmarks.md and its plot, from the root of
// the repository:
//
//	go run ./benchmarks/report
//
// Each measurement is made in a process of its own. They are interleaved: all contenders are
// measured once before any is measured again, so that a change of the machine's pace in the
// meantime strikes all alike. The tables tell medians. With -history it also writes the single
// measurements to a file, for command history and for benchstat. With -render it measures nothing:
// it reads that file, and writes the page and the plot of that run again.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/record"
)

// options are what the flags say.
type options struct {
	settings   benchmarks.Settings
	rounds     int
	contenders []benchmarks.Contender
	out        string
	history    string
	render     bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("report: ")
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := serveJob(os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	o, err := parse(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = o.run()
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse(flags *flag.FlagSet, args []string) (options, error) {
	var (
		o          options
		workloads  = flags.String("workloads", "", "comma-separated `names` of the workloads to run, such as W1,W4p,growth (default all)")
		contenders = flags.String("contenders", "", "comma-separated `parts` of the names of the contenders to run (default all)")
		latency    = flags.Duration("latency", 10*time.Second, "time of W8 for each contender, all rounds together")
	)
	flags.IntVar(&o.rounds, "rounds", 6, "how often each contender is measured")
	flags.DurationVar(&o.settings.Time, "time", 300*time.Millisecond, "time of a measurement")
	flags.Float64Var(&o.settings.Scale, "scale", 1, "multiplies the numbers of keys, for a quick try")
	flags.StringVar(&o.out, "out", "docs", "`folder` that the report is written to")
	flags.StringVar(&o.history, "history", "", "`file` to write the single measurements to, as Go benchmarks, which benchstat reads")
	flags.BoolVar(&o.render, "render", false, "write the report from the -history of an earlier run, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}

	var err error
	if o.settings.Want, err = want(split(*workloads)); err != nil {
		return o, err
	}
	o.contenders = benchmarks.Select(split(*contenders))
	if len(o.contenders) == 0 {
		err = fmt.Errorf("no contender's name contains %q", *contenders)
	}
	if o.rounds < 1 {
		err = errors.Join(err, fmt.Errorf("%d rounds, must be at least 1", o.rounds))
	}
	if o.render && o.history == "" {
		err = errors.Join(err, errors.New("-render needs the file of -history"))
	}
	if flags.NArg() > 0 {
		err = errors.Join(err, fmt.Errorf("argument %q, must be none", flags.Arg(0)))
	}
	o.settings.Latency = *latency / time.Duration(max(o.rounds, 1))
	return o, err
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// want is the set of the workloads that are named, or nil for all.
func want(names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var known []string
	for _, g := range benchmarks.Groups() {
		known = append(known, g.Workloads...)
	}
	set := make(map[string]bool)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no workload %q; there are %s", name, strings.Join(known, ", "))
		}
		set[name] = true
	}
	return set, nil
}

func (o options) run() error {
	if err := os.MkdirAll(o.out, 0o755); err != nil { // now, and not when all is measured
		return err
	}
	r, err := o.results()
	if err != nil {
		return err
	}
	if err := drawPlot(filepath.Join(o.out, "benchmarks.svg"), r); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "benchmarks.md"), []byte(document(r)), 0o644)
}

// results measures, and writes the results to the file of -history, if there is one. With -render,
// it reads them from that file instead.
func (o options) results() (results, error) {
	if o.render {
		text, err := os.ReadFile(o.history)
		if err != nil {
			return results{}, err
		}
		run, err := record.Parse(o.history, string(text))
		if err != nil {
			return results{}, fmt.Errorf("%s: %w", o.history, err)
		}
		return readBack(run)
	}
	r, err := o.measure()
	if err == nil && o.history != "" {
		err = os.WriteFile(o.history, []byte(goBenchmarks(r)), 0o644)
	}
	return r, err
}

// measure runs everything.
func (o options) measure() (results, error) {
	start := time.Now()
	r := results{
		Environment: environment(start),
		Command:     commandLine(os.Args[1:]),
		Settings:    o.settings,
		Rounds:      o.rounds,
	}
	for _, g := range benchmarks.Groups() {
		wanted := o.settings.Want == nil ||
			slices.ContainsFunc(g.Workloads, func(w string) bool { return o.settings.Want[w] })
		if !wanted {
			continue
		}
		for round := range o.roundsOf(g) {
			for _, c := range inRound(o.contenders, round) {
				if !g.Fits(c) {
					continue
				}
				m, err := runJob(job{Group: g.Name, Contender: c.Name, Settings: o.settings})
				if err != nil {
					return r, fmt.Errorf("%s, %s: %w", g.Name, c.Name, err)
				}
				r.Samples = append(r.Samples, sample{c.Name, round, m})
			}
			log.Printf("%s: round %d of %d, after %v", strings.Join(g.Workloads, " "), round+1, o.roundsOf(g),
				time.Since(start).Round(time.Second))
		}
	}
	r.Took = time.Since(start)
	return r, nil
}

// roundsOf is the number of rounds for a group. The memory that a limiter takes varies little, and
// takes long to measure.
func (o options) roundsOf(g benchmarks.Group) int {
	if g.Name == "memory" {
		return cmp.Or(o.rounds/2, 1)
	}
	return o.rounds
}

// inRound is the order of a round. Every second one goes backwards, so that a steady drift of the
// machine cancels out.
func inRound(all []benchmarks.Contender, round int) []benchmarks.Contender {
	order := slices.Clone(all)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
