package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A table is what counts.txt holds.
type table struct {
	version string // of Go
	counts  []count
}

// A count is what one decision takes.
type count struct {
	Row                              string
	Instructions, Allocations, Bytes float64
}

const head = "What a decision takes, on linux/amd64 with "

func (t table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s. To renew: %s\n\n", head, t.version, renew)
	fmt.Fprintf(&b, "%-34s%14s%14s%9s\n", "", "instructions", "allocations", "bytes")
	for _, c := range t.counts {
		fmt.Fprintf(&b, "%-34s%14.0f%14.2f%9.1f\n", c.Row, c.Instructions, c.Allocations, c.Bytes)
	}
	return b.String()
}

// parse reads what String writes.
func parse(text string) (t table, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	told, ok := strings.CutPrefix(lines[0], head)
	version, _, of := strings.Cut(told, ". To renew")
	if !ok || !of || len(lines) < 4 {
		return t, fmt.Errorf("must begin with %q and the version of Go", head)
	}
	t.version = version
	for _, line := range lines[3:] {
		fields := strings.Fields(line)
		n := len(fields) - 3
		if n < 1 {
			return t, fmt.Errorf("%q must be a name and three numbers", line)
		}
		c := count{Row: strings.Join(fields[:n], " ")}
		for i, to := range []*float64{&c.Instructions, &c.Allocations, &c.Bytes} {
			if *to, err = strconv.ParseFloat(fields[n+i], 64); err != nil {
				return t, fmt.Errorf("%q: %w", line, err)
			}
		}
		t.counts = append(t.counts, c)
	}
	return t, nil
}

var minor = regexp.MustCompile(`^go\d+\.\d+`)

// sameMinor tells whether two versions of Go are of the same minor version, such as go1.26.8 and
// go1.26.9. With another one, the same code has other instructions.
func sameMinor(a, b string) bool {
	m := minor.FindString(a)
	return m != "" && m == minor.FindString(b)
}

// steadied has the counts of was where they differ from those of t by no more than two runs do. A
// diff of counts.txt then shows the rows that have changed.
func (t table) steadied(was []count) table {
	counts := slices.Clone(t.counts)
	for i, c := range counts {
		j := slices.IndexFunc(was, func(w count) bool { return w.Row == c.Row })
		if j >= 0 && !slices.ContainsFunc(figures, func(f figure) bool { return f.differ(was[j], c, noise) }) {
			counts[i] = was[j]
		}
	}
	return table{t.version, counts}
}

// A figure is a column of the table.
type figure struct {
	name  string
	of    func(c count) float64
	least float64 // a smaller change means nothing, however large it is beside the figure
}

var (
	instructionsFigure = figure{"instructions", func(c count) float64 { return c.Instructions }, 1}
	allocationsFigure  = figure{"allocations", func(c count) float64 { return c.Allocations }, 0.05}
	bytesFigure        = figure{"bytes", func(c count) float64 { return c.Bytes }, 1}
)

var figures = []figure{instructionsFigure, allocationsFigure, bytesFigure}

const (
	tolerance = 0.05 // by how much a figure may change
	noise     = 0.01 // by how much two runs may differ
)

// differ tells whether the figure has changed by more than a share of what it was.
func (f figure) differ(was, is count, share float64) bool {
	return math.Abs(f.of(is)-f.of(was)) > max(f.least, f.of(was)*share)
}

// changes are the figures that are not as they were, a line for each.
func changes(was, is []count, figures ...figure) (lines []string) {
	for _, c := range is {
		i := slices.IndexFunc(was, func(w count) bool { return w.Row == c.Row })
		if i < 0 {
			lines = append(lines, fmt.Sprintf("%s: is not in %s. To add it: %s", c.Row, file, renew))
			continue
		}
		for _, f := range figures {
			if f.differ(was[i], c, tolerance) {
				lines = append(lines, f.change(was[i], c))
			}
		}
	}
	for _, w := range was {
		if !slices.ContainsFunc(is, func(c count) bool { return c.Row == w.Row }) {
			lines = append(lines, fmt.Sprintf("%s: is in %s only. To remove it: %s", w.Row, file, renew))
		}
	}
	return lines
}

func (f figure) change(was, is count) string {
	why := "If it must be so: "
	if f.of(is) < f.of(was) {
		why = "It is better now. To keep it so: "
	}
	return fmt.Sprintf("%s: %.5g %s, was %.5g. %s%s", is.Row, f.of(is), f.name, f.of(was), why, renew)
}
