package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks"
)

// document is the report in Markdown.
func document(r results) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	put("# Benchmarks\n")
	put("The time and memory that a decision takes, with weir and with other limiters for Go. To\nrepeat this, run\n")
	put("```sh\n%s\n```\n", r.Command)
	put("The command overwrites this file. [benchmarks-history.md](benchmarks-history.md) shows the figures\nrelease by release.\n")
	put("%s", r.setting())
	put("%s", method(r))

	for _, s := range sections {
		if slices.ContainsFunc(s.metrics, func(m string) bool { return has(r, m) }) {
			put("%s", s.text(r))
		}
	}
	if reasons := reasonsSection(r); reasons != "" {
		put("%s", reasons)
	}
	if wrong := r.wrongSection(); wrong != "" {
		put("%s", wrong)
	}
	put("%s", r.contendersSection())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// sections are the parts of the report with figures. Each stands there if one of its metrics was
// measured.
var sections = []struct {
	metrics []string
	text    func(results) string
}{
	{[]string{"W1.ns", "W2.ns", "W3.ns"}, hotSection},
	{[]string{"W4.ns", "W4p.ns", "W5.ns"}, manySection},
	{[]string{"W6.ns"}, floodSection},
	{[]string{"W7.bytes"}, memorySection},
	{[]string{"W8.p50"}, latencySection},
	{[]string{benchmarks.GrowthMetric(benchmarks.GrowthKeys[0], benchmarks.GrowthGoroutines[0])}, growthSection},
	{[]string{benchmarks.MethodMetric("Allow")}, methodsSection},
	{[]string{"H1.ns"}, httpSection},
}

func (r results) setting() string {
	t := table{head: []string{"", ""}, rows: [][]string{
		{"date", r.Date},
		{"machine", fmt.Sprintf("%s, %d cores used, %s", r.CPU, r.Cores, r.System)},
		{"Go", r.Go},
		{"weir", cmp.Or(r.Revision, "this tree")},
		{"rounds", r.rounds()},
	}}
	if r.Took > 0 {
		t.rows = append(t.rows, []string{"took", r.Took.Round(time.Second).String()})
	}
	if r.Settings.Scale != 1 {
		t.rows = append(t.rows, []string{"**scale**", fmt.Sprintf("**%g of the keys: a try, no result**", r.Settings.Scale)})
	}
	return strings.ReplaceAll(t.String(), "---:", "---")
}

func (r results) rounds() string {
	return fmt.Sprintf("%d, of %v a measurement", r.Rounds, r.Settings.Time)
}

func method(r results) string {
	return fmt.Sprintf(`## How to read it

All contenders do the same work: the same keys, in the same order, from as many goroutines. They
have the same quota: 100 million events at once, and as many per century, which denies nothing. In
W3, it is one event an hour. During a measurement, no limiter can forget a key. The table at the
end lists exceptions. Keys are 16 bytes.

The rounds are interleaved: each contender is measured once, in a fresh process, before any is
measured again. A figure is the median of its rounds. The ratio behind it is to %s:
the median of the ratios within a round. A peer is a limiter other than weir. The best figure of a
peer is bold. "(the loop alone)" is the cost of the measurement itself, without a limiter. All times
of calls contain it.
`, benchmarks.Leader)
}

// wrongSection tells of decisions that were not as they must be.
func (r results) wrongSection() string {
	t := table{head: []string{"", "workload", "wrong decisions"}}
	for _, c := range benchmarks.Contenders() {
		wrong := make(map[string]float64)
		for _, s := range r.Samples {
			for name, share := range s.Metrics {
				if workload, ok := strings.CutSuffix(name, benchmarks.Wrong); ok && s.Contender == c.Name {
					wrong[workload] = max(wrong[workload], share)
				}
			}
		}
		for workload, share := range wrong {
			t.rows = append(t.rows, []string{c.Name, workload, fmt.Sprintf("%.2g %%", share*100)})
		}
	}
	if len(t.rows) == 0 {
		return ""
	}
	slices.SortStableFunc(t.rows, slices.Compare)
	return "## † Wrong decisions\n\nRequests that were denied within the quota, or granted beyond it. The figure is the most of any\nround.\n\n" + t.String()
}

// xsync is the module of the map in which several contenders keep their limiters.
const xsync = "github.com/puzpuzpuz/xsync/v4"

func (r results) contendersSection() string {
	t := table{head: []string{"", "module", "used as"}}
	for _, c := range benchmarks.Contenders() {
		if !slices.ContainsFunc(r.Samples, func(s sample) bool { return s.Contender == c.Name }) {
			continue
		}
		module := c.Module
		if v := r.Versions[c.Module]; v != "" && !c.Weir() {
			module += " " + v
		}
		t.rows = append(t.rows, []string{c.Name, module, c.How + kindNote(c.Kind)})
	}
	return "## The contenders\n\n" + strings.ReplaceAll(t.String(), "---:", "---") + fmt.Sprintf(`
The xsync.Map is that of %s %s. A test of package benchmarks checks
that each contender grants and denies the right requests, alone and with goroutines that share a
key.
`, xsync, r.Versions[xsync])
}

func kindNote(k benchmarks.Kind) string {
	switch k {
	case benchmarks.Paces, benchmarks.Blocks:
		return ". The rate is 10⁹ per second, except in W3, W6 and W7"
	case benchmarks.Logs:
		return ". In W1 and W2 the limit is 100,000 per millisecond, because it remembers each event"
	}
	return ""
}
