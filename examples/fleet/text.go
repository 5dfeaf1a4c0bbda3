package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

const barColumns = 30 // as long as the limit

// line is a line of text about the window i.
func (w window) line(i, limit int) string {
	n := (w.granted*barColumns + limit/2) / limit
	bar := strings.Repeat("█", min(n, barColumns)) + strings.Repeat(" ", barColumns-min(n, barColumns)) +
		"│" + strings.Repeat("█", max(n-barColumns, 0))
	return fmt.Sprintf("%3d %-6s %-*s %4.0f %%  %5.3f calls  p50 %-6s p99 %-6s%s", i+1, phases[i/phaseWindows],
		barColumns+12, bar, percent(w.granted, limit), w.callsPerDecision(), short(w.p50()), short(w.p99()), w.faults())
}

// faults tells what was not decided.
func (w window) faults() string {
	s := ""
	if w.failed > 0 {
		s += fmt.Sprintf("  %d failed", w.failed)
	}
	if w.dropped > 0 {
		s += fmt.Sprintf("  %d came while %d waited", w.dropped, mostWaiting)
	}
	return s
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }

// short is a time with two digits.
func short(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 100*unit {
			return d.Round(unit).String()
		}
	}
}

// writeTable writes what all results say.
func writeTable(out io.Writer, results []result) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tof the limit:\t\t\tmost in\tcalls for\t\t\tnot\t")
	fmt.Fprintf(t, "\t%s\ta window\ta decision\tp50\tp99\tdecided\t\n", strings.Join(phases[:], "\t"))
	for _, r := range results {
		fmt.Fprintf(t, "%s\t", r.name)
		for phase := range phases {
			if share, ok := r.granted(phase); ok {
				fmt.Fprintf(t, "%.1f %%\t", 100*share)
			} else {
				fmt.Fprint(t, "-\t")
			}
		}
		all := r.all()
		undecided := all.failed + all.dropped
		fmt.Fprintf(t, "%.1f %%\t%.3f\t%s\t%s\t%.1f %%\t\n", percent(r.most(), r.limit), all.callsPerDecision(),
			short(all.p50()), short(all.p99()), percent(undecided, max(all.granted+all.denied+undecided, 1)))
	}
	return t.Flush()
}
