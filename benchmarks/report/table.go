package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-go/weir/benchmarks"
)

// A column is a metric of all contenders.
type column struct {
	head   string
	metric string
	format func(float64) string
	ratio  bool // whether the ratio to the leader stands behind it
}

// comparison is a table with a row per contender. The best figure of a peer is bold.
func (r results) comparison(columns ...column) string {
	t := table{head: []string{""}}
	for _, c := range columns {
		t.head = append(t.head, c.head)
	}
	for _, c := range r.contenders(columns[0].metric) {
		row := []string{c.Name}
		for _, col := range columns {
			row = append(row, r.cell(c, col))
		}
		t.rows = append(t.rows, row)
	}
	return t.String()
}

func (r results) cell(c benchmarks.Contender, col column) string {
	v := r.median(c.Name, col.metric)
	if math.IsNaN(v) {
		return "–"
	}
	text := col.format(v)
	if col.ratio && c.Name != leader(col.metric) && c.Kind != benchmarks.Idle {
		if ratio := r.ratio(c.Name, col.metric); !math.IsNaN(ratio) {
			text += fmt.Sprintf(" (%s×)", significant(ratio))
		}
	}
	if col.ratio && c.Peer() && v == r.bestOfPeers(col.metric) {
		text = "**" + text + "**"
	}
	workload, _, _ := strings.Cut(col.metric, ".")
	if r.most(c.Name, workload+benchmarks.Wrong) > 0 {
		text += " †"
	}
	return text
}

// bestOfPeers is the least median of those that are not weir.
func (r results) bestOfPeers(metric string) float64 {
	best := math.Inf(1)
	for _, c := range benchmarks.Contenders() {
		if c.Peer() {
			if v := r.median(c.Name, metric); v < best {
				best = v
			}
		}
	}
	return best
}

func has(r results, metric string) bool { return len(r.contenders(metric)) > 0 }

// A table is one of Markdown; its columns but the first are aligned to the right.
type table struct {
	head []string
	rows [][]string
}

func (t table) String() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := []string{"---"}
	for range t.head[1:] {
		rule = append(rule, "---:")
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// significant is a number with as many digits as mean anything.
func significant(v float64) string {
	switch size := math.Abs(v); {
	case size < 0.0005:
		return "0"
	case size < 0.1:
		return fmt.Sprintf("%.1g", v)
	case size < 9.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

func milliseconds(ns float64) string { return significant(ns / 1e6) }

func megabytes(bytes float64) string { return significant(bytes / 1e6) }
