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
	put("What a decision costs with weir, and with other limiters for Go, in time and in memory. Repeat it with\n")
	put("```sh\n%s\n```\n", r.Command)
	put("This file is written by that command; what stood here is overwritten.\n")
	put("%s", r.setting())
	put("%s", method(r))

	for _, s := range sections {
		if slices.ContainsFunc(s.metrics, func(m string) bool { return has(r, m) }) {
			put("%s", s.text(r))
		}
	}
	if wrong := r.wrongSection(); wrong != "" {
		put("%s", wrong)
	}
	put("%s", r.contendersSection())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// sections are the parts of the report with figures. Each stands there if one of its metrics was measured.
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
	{[]string{"H1.ns"}, httpSection},
}

func (r results) setting() string {
	t := table{head: []string{"", ""}, rows: [][]string{
		{"date", r.Date},
		{"machine", fmt.Sprintf("%s, %d cores used, %s", r.CPU, r.Cores, r.System)},
		{"Go", r.Go},
		{"weir", cmp.Or(r.Revision, "this tree")},
		{"rounds", fmt.Sprintf("%d, of %v a measurement", r.Rounds, r.Settings.Time)},
	}}
	if r.Took > 0 {
		t.rows = append(t.rows, []string{"took", r.Took.Round(time.Second).String()})
	}
	if r.Settings.Scale != 1 {
		t.rows = append(t.rows, []string{"**scale**", fmt.Sprintf("**%g of the keys: a try, no result**", r.Settings.Scale)})
	}
	return strings.ReplaceAll(t.String(), "---:", "---")
}

func method(r results) string {
	return fmt.Sprintf(`## How to read it

All contenders do the same work: the same keys in the same order, from as many goroutines, with the same quota of
100 million events at once and per century. It denies nothing (but in W3), and no limiter can forget a key
meanwhile. Where that is not possible the table at the end tells. Keys are 16 bytes.

The rounds are interleaved: each contender is measured once, in a fresh process, before any is measured again. A
figure is the median of its rounds. Behind it stands how many times that of %s it is: the median of the ratios
within a round. The best figure of a peer is bold. "(the loop alone)" is what the measurement
itself costs, with no limiter; all figures contain it.
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
	return "## † Wrong decisions\n\nDenied what the quota grants, or granted what it does not; the most of any round.\n\n" + t.String()
}

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
The xsync.Map is that of github.com/puzpuzpuz/xsync/v4 %s. A test checks first that each contender admits and refuses
what it should, alone and with goroutines that share a key.
`, r.Versions["github.com/puzpuzpuz/xsync/v4"])
}

func kindNote(k benchmarks.Kind) string {
	switch k {
	case benchmarks.Paces, benchmarks.Blocks:
		return "; with a rate of 10⁹ per second, but in W3, W6 and W7"
	case benchmarks.Logs:
		return "; in W1 and W2 with 100,000 per millisecond, since it remembers what it grants"
	}
	return ""
}
