package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-go/weir/benchmarks/median"
	"github.com/weir-go/weir/benchmarks/record"
)

const intro = `# Benchmarks by release

The time and the memory that each release of weir takes, beside the best other limiter ("peer") of
the same run. The figures are medians. All workloads are described in
[benchmarks.md](benchmarks.md).

The number in brackets is the ratio to the best peer: the median of the ratios within a round. Below
1, weir takes less. Compare these ratios between releases. The figures themselves depend on the
machine, too.

The best peer has the lowest figure of the peers that deny, keep whole keys, and made no wrong
decision in that workload.

All measurements are in [benchmarks/history](../benchmarks/history). benchstat reads them, and
compares two files of the same machine:

` + "```sh" + `
go run golang.org/x/perf/cmd/benchstat@latest %s/%s.txt
` + "```" + `

This page is written by ` + "`go run ./benchmarks/history -write`" + `.

`

// A figure is a part of the table.
type figure struct{ workload, unit, title string }

var figures = []figure{
	{"W1", "ns/op", "W1: one hot key, ns"},
	{"W2", "ns/op", "W2: one hot key, 16 goroutines per core, ns"},
	{"W3", "ns/op", "W3: the same, denied, ns"},
	{"W4", "ns/op", "W4: a million keys, ns"},
	{"W4p", "ns/op", "W4p: the same, parallel, ns"},
	{"W5", "ns/op", "W5: a million keys by Zipf's law, parallel, ns"},
	{"W6", "ns/op", "W6: new keys, ns"},
	{"W7", "B/key", "W7: bytes per key"},
	{"W8", "p50-ns", "W8: calls under load, p50, ns"},
	{"W8", "p99-ns", "W8: calls under load, p99, ns"},
	{"H1", "ns/op", "H1: middleware, ns"},
}

// page is the document.
func page(runs []record.Run) string {
	var b strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row := func(title, name string, cell func(r run) string) {
		cells := []string{title, name}
		for _, r := range runs {
			cells = append(cells, cell(run{r}))
		}
		line(cells...)
	}
	fmt.Fprintf(&b, intro, folder, runs[0].Release)
	row("", "", func(r run) string { return r.Release })
	line(append([]string{"---", "---"}, slices.Repeat([]string{"---:"}, len(runs))...)...)
	row("", "machine", func(r run) string {
		a := r.About
		return fmt.Sprintf("%s, %s cores, %s/%s", a["cpu"], a["cores"], a["goos"], a["goarch"])
	})
	row("", "Go", func(r run) string { return r.About["go"] })
	row("", "weir", func(r run) string { return r.About["weir"] })
	row("", "measured", func(r run) string { return r.About["date"] })
	row("", "rounds", func(r run) string { return r.About["rounds"] })

	for _, f := range figures {
		title := f.title // before the first row only
		for _, name := range weirs(runs) {
			if slices.ContainsFunc(runs, func(r record.Run) bool { return run{r}.of(f, name) != nil }) {
				row(title, name, func(r run) string { return r.weirs(f, name) })
				title = ""
			}
		}
		if title == "" {
			row("", "best peer", func(r run) string { return r.peers(f) })
		}
	}
	return b.String()
}

// weirs is the cell of a contender that is weir's.
func (r run) weirs(f figure, contender string) string {
	own := r.of(f, contender)
	if own == nil {
		return "–"
	}
	text := number(median.Of(own))
	if best := r.best(f); best != "" {
		text += fmt.Sprintf(" (%.2f)", ratio(own, r.of(f, best)))
	}
	return text
}

// peers is the cell of the best peer.
func (r run) peers(f figure) string {
	best := r.best(f)
	if best == "" {
		return "–"
	}
	return best + ": " + number(median.Of(r.of(f, best)))
}

// weirs are the contenders of all runs that are weir's.
func weirs(runs []record.Run) (names []string) {
	for _, r := range runs {
		for _, name := range r.Contenders {
			if strings.HasPrefix(name, "weir/") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// number is v with as many digits as mean anything.
func number(v float64) string {
	if math.Abs(v) < 9.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
