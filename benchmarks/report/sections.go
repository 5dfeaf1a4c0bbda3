package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/benchmarks"
)

// ns formats nanoseconds per decision.
var ns = significant

func hotSection(r results) string {
	return `## One hot key

Nanoseconds per decision: the time that passed, divided by the decisions of all goroutines.

- W1: allowed, one goroutine.
- W2: allowed, 16 goroutines per core.
- W3: denied, 16 goroutines per core.

The state of a SlidingLog has several words, and a decision locks the key for them, also to deny.
The other policies of weir exchange one word, and only read it to deny.

` + r.comparison(r.measured(
		column{"W1", "W1.ns", ns, true},
		column{"W2", "W2.ns", ns, true},
		column{"W3", "W3.ns", ns, true},
	)...) + r.spreads("W1.ns", "W2.ns", "W3.ns") + plotNote(r)
}

func manySection(r results) string {
	return `## A million keys

Nanoseconds per decision: the time that passed, divided by the decisions of all goroutines. Every
key was seen before.

- W4: keys in a random order, each as often as the others, one goroutine.
- W4p: the same, one goroutine per core.
- W5: by Zipf's law with the exponent 1.1, one goroutine per core.

` + r.comparison(r.measured(
		column{"W4", "W4.ns", ns, true},
		column{"W4p", "W4p.ns", ns, true},
		column{"W5", "W5.ns", ns, true},
	)...) + r.spreads("W4.ns", "W4p.ns", "W5.ns")
}

func floodSection(r results) string {
	return `## W6: a flood of new keys

Two million keys never seen before, one goroutine. The time contains one reading of the clock for
each call, to find the longest call. The system may cause a long call, as the loop alone shows. Peak
heap does not include the keys themselves (32 MB), which were made before.

` + r.comparison(
		column{"ns per call", "W6.ns", ns, true},
		column{"longest call, ms", "W6.longest", milliseconds, true},
		column{"calls over 1 ms", "W6.overMs", significant, false},
		column{"allocations per call", "W6.allocs", significant, false},
		column{"peak heap, MB", "W6.peak", megabytes, true},
	) + r.spreads("W6.ns")
}

func memorySection(r results) string {
	return `## W7: memory

A million keys, each seen once. Bytes per key are bytes of heap. They include the part of the key
that the limiter keeps. The last column is the time that a garbage collection (` + "`runtime.GC()`" + `) takes
in addition, because of the keys. If that is too short to measure, the figure may be negative.

` + r.comparison(
		column{"bytes per key", "W7.bytes", significant, true},
		column{"longer GC, ms", "W7.gc", milliseconds, false},
	)
}

func latencySection(r results) string {
	return fmt.Sprintf(`## W8: single calls under load

64 goroutines ask for 100,000 keys, drawn at random, for %v in all for each contender. Nanoseconds
of a call. They contain the reading of the clock that times the call. The last column is the median
of the longest calls of each round, in milliseconds.

`, (r.Settings.Latency*time.Duration(r.Rounds)).Round(time.Millisecond)) + r.comparison(
		column{"p50", "W8.p50", ns, true},
		column{"p99", "W8.p99", ns, true},
		column{"p99.9", "W8.p999", ns, true},
		column{"longest, ms", "W8.max", milliseconds, true},
	) + r.spreads("W8.p50", "W8.p999", "W8.max")
}

func growthSection(r results) string {
	t := table{head: []string{"keys \\ goroutines"}}
	for _, g := range benchmarks.GrowthGoroutines {
		t.head = append(t.head, fmt.Sprint(g))
	}
	for _, n := range benchmarks.GrowthKeys {
		row := []string{thousands(n)}
		for _, g := range benchmarks.GrowthGoroutines {
			row = append(row, ns(r.median(benchmarks.Leader, benchmarks.GrowthMetric(n, g))))
		}
		t.rows = append(t.rows, row)
	}
	return "## Growth\n\n" + benchmarks.Leader + ` with more keys and more goroutines, in nanoseconds per decision, as in W4.
[benchmarks-16-cores.md](benchmarks-16-cores.md) has it on a machine with 16 processors.

` + t.String()
}

func methodsSection(r results) string {
	t := table{head: append([]string{""}, benchmarks.MethodNames...)}
	allow := benchmarks.MethodMetric("Allow")
	for _, c := range r.contenders(allow) {
		row := []string{c.Name}
		for _, name := range benchmarks.MethodNames {
			metric := benchmarks.MethodMetric(name)
			cell := ns(r.median(c.Name, metric))
			switch {
			case len(r.series(c.Name, metric)) == 0:
				cell = "–"
			case metric != allow:
				cell += fmt.Sprintf(" (%s×)", significant(ratio(r.series(c.Name, metric), r.series(c.Name, allow))))
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	text := `## M1: the methods

One event of a known key by each method, one goroutine, all granted at once. Nanoseconds of the
call, or of the two calls that a column names. The ratio is to Allow of the same limiter.

` + t.String()
	take := benchmarks.MethodMetric("Take")
	if five := r.ratio(benchmarks.AllOfFive, take); !math.IsNaN(five) {
		text += fmt.Sprintf("\nWith Allow, five TokenBuckets at once take %s times as long as one, and with Take %s times.\n",
			significant(r.ratio(benchmarks.AllOfFive, allow)), significant(five))
	}
	return text + r.spreads(allow, take)
}

func httpSection(r results) string {
	return `## H1: middleware

Each figure is for one request that passes through the limiter's middleware for net/http to a
handler. The answer has the headers of the rate limit. There is one client and one goroutine, and
all requests are allowed. The ratio is to ` + benchmarks.MiddlewareLeader + `. "(the loop alone)" is the
handler without middleware.

` + r.comparison(
		column{"ns per request", "H1.ns", ns, true},
		column{"allocations", "H1.allocs", significant, false},
	) + r.spreads("H1.ns")
}

// measured are those of the columns that there are figures for.
func (r results) measured(columns ...column) []column {
	return slices.DeleteFunc(columns, func(c column) bool { return !has(r, c.metric) })
}

// headOf are the heads of columns that are not the names of their workloads.
var headOf = strings.NewReplacer("W6.ns", "ns per call", "W8.p50", "p50", "W8.p999", "p99.9", "W8.max", "longest",
	"M1.", "", "H1.ns", "ns per request", ".ns", "")

// spreads tells how much the rounds differ.
func (r results) spreads(metrics ...string) string {
	if r.Rounds < 4 {
		return "" // there is no middle half
	}
	var parts []string
	for _, m := range metrics {
		if s := r.spread(m); !math.IsNaN(s) {
			parts = append(parts, fmt.Sprintf("%s ±%.0f %%", headOf.Replace(m), s*50))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "\nIn a typical row, half of the rounds are within about this much of the median:\n" + strings.Join(parts, ", ") + ".\n"
}

// thousands is n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
