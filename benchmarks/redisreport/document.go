package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// document is the report in Markdown.
func (r report) document() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	put("# Benchmarks with Redis\n")
	put("The cost of a decision with the count in Redis, with weir and with other limiters for Go. To repeat\nthis, run\n")
	put("```sh\n%s\n```\n", r.command)
	put("The command starts a redis-server of its own. It overwrites this file.\n")
	put("%s", table([]string{"", ""}, [][]string{
		{"date", r.date},
		{"machine", fmt.Sprintf("%s, %d cores for clients and server, %s/%s, loopback", r.cpu, runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)},
		{"load by others", cmp.Or(r.load, "unknown") + " in the minute before"},
		{"Redis", r.redis},
		{"Go", runtime.Version()},
		{"go-redis, rueidis", r.versions["github.com/redis/go-redis/v9"] + ", " + r.versions["github.com/redis/rueidis"]},
		{"weir", cmp.Or(r.revision, "this tree")},
		{"rounds", fmt.Sprintf("%d, of %v a measurement", r.rounds, r.time)},
		{"took", r.took.Round(time.Second).String()},
	}))
	put(`## How to read it

Clients and server share the cores. The ratios are therefore better evidence than the figures. All
contenders are asked for one event at a time, with keys of 16 bytes. Requests are denied only in
sections that say so. Each contender has a database and connections of its own. With go-redis there
are %d connections, its default. rueidis sends the commands of all goroutines on at most four
connections, its default: on two with 2 cores.

The rounds are interleaved: each contender is measured once before any is measured again. A figure
is the median of its rounds. The ratio behind it is the speed relative to %s: it is the
median of the ratios within a round. %q is no limiter. It is the cost of one command by
go-redis.
`, connections(), leader, floor)

	put("## One hot key\n\nThousands of decisions a second. Each column is a number of goroutines that ask at once.\n\n%s", r.rates(1))
	put("## %s keys\n\nThe same with random keys. Redis has to remember all of them.\n\n%s", thousands(r.keys), r.rates(r.keys))
	put(`## How long a caller waits

Microseconds: the median and the 99th percentile, for one hot key.

%s
A caller of weir gives its command to another goroutine, which waits for the client. The caller can
therefore return when its context ends, even if the client still waits for a connection. The
column of one goroutine shows what that costs.
`, r.waits())
	put(`## What a decision costs

With %d goroutines and %s keys. Times are in microseconds.

- CPU and Redis CPU: processor time of the process and of Redis.
- of it executing: the time that INFO commandstats counts for executing the command. It is the time
  that passes. On a machine with other work, that is more than processor time.
- both: the sum of CPU and Redis CPU. The ratio is how many times less it is than that of
  %s.
- allocations: those of the process.
- bytes a key: MEMORY USAGE, with the name of the key, for 100 events an hour, of which one was
  granted.
- granted of 100, errors: 16 goroutines make 320 requests together for a limit of 100. The columns
  count the granted events, and the requests that end in an error.

%s
weir's allocations with go-redis are the name of the key, the interface that go-redis needs around
it, the reply, and a share of those of the pipeline.
`, some, thousands(r.keys), leader, r.costs())
	put(`## A hot key that is denied

%d goroutines ask for a used-up key.

%s`, some, r.denials())
	put(`## The policies of weir

Microseconds for one execution of the script in Redis, by INFO commandstats. There are %d goroutines
and as many keys. Bytes of a key are as above. If callers ask for one key at
the same time, one execution can decide for many of them.

%s
A SlidingLog that holds 10,000 events takes %s bytes.
`, some, r.scripts(), thousands(int(r.fullLog)))
	put("## The contenders\n\nBefore the measurement, each is checked: it grants a limit of three events exactly.\n\n%s", r.list())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func perSecond(f figure) float64 { return 1 / f.seconds / 1e3 }

func (r report) leader() *entrant {
	return r.entrants[slices.IndexFunc(r.entrants, func(e *entrant) bool { return e.name == leader })]
}

// rows has one for each entrant that takes part in a workload.
func (r report) rows(w workload, cells func(*entrant) []string) (rows [][]string) {
	for _, e := range r.entrants {
		if e.takesPart(w) {
			rows = append(rows, append([]string{e.name}, cells(e)...))
		}
	}
	return rows
}

// rate is how fast an entrant is, and how many times as fast as the leader.
func (r report) rate(e *entrant, w workload) string {
	text := number(e.median(w, perSecond))
	if e.name != leader {
		seconds := func(f figure) float64 { return f.seconds }
		text += fmt.Sprintf(" (%.2f×)", e.ratio(r.leader(), w, seconds))
	}
	return text + mark(e, w)
}

// mark tells of failures in a workload.
func mark(e *entrant, w workload) string {
	if failed := e.median(w, func(f figure) float64 { return f.failed }); failed > 0.00005 {
		return fmt.Sprintf(", %.2g %% errors", 100*failed)
	}
	return ""
}

func (r report) rates(keys int) string {
	head := []string{""}
	for _, g := range goroutines {
		head = append(head, fmt.Sprint(g))
	}
	return table(head, r.rows(workload{keys, some, false}, func(e *entrant) (cells []string) {
		for _, g := range goroutines {
			cells = append(cells, r.rate(e, workload{keys, g, false}))
		}
		return cells
	}))
}

func (r report) waits() string {
	head := []string{""}
	for _, g := range goroutines {
		head = append(head, fmt.Sprintf("%d", g))
	}
	return table(head, r.rows(workload{1, some, false}, func(e *entrant) (cells []string) {
		for _, g := range goroutines {
			w := workload{1, g, false}
			p50 := e.median(w, func(f figure) float64 { return f.p50 * 1e6 })
			p99 := e.median(w, func(f figure) float64 { return f.p99 * 1e6 })
			cells = append(cells, number(p50)+" / "+number(p99))
		}
		return cells
	}))
}

func (r report) costs() string {
	w := workload{r.keys, some, false}
	head := []string{"", "CPU", "Redis CPU", "of it executing", "both", "allocations", "bytes a key", "granted of 100", "errors"}
	return table(head, r.rows(w, func(e *entrant) []string {
		executing := "–" // sends scripts and other commands as well, which the statistics don't tell apart
		if e.name != "throttled" {
			executing = number(e.median(w, executed))
		}
		together, failed := "–", "–"
		if e.name != floor {
			together, failed = fmt.Sprint(e.granted), fmt.Sprint(e.failed)
		}
		return []string{
			number(e.median(w, func(f figure) float64 { return f.own * 1e6 })),
			number(e.median(w, func(f figure) float64 { return f.cpu * 1e6 })),
			executing,
			r.sum(e, w),
			fmt.Sprintf("%.0f", e.median(w, func(f figure) float64 { return f.allocs })),
			fmt.Sprint(e.bytes), together, failed,
		}
	}))
}

// sum is the processor time on both sides, and how many times less than the leader's it is.
func (r report) sum(e *entrant, w workload) string {
	both := func(f figure) float64 { return (f.own + f.cpu) * 1e6 }
	text := number(e.median(w, both))
	if e.name != leader {
		text += fmt.Sprintf(" (%.2f×)", e.ratio(r.leader(), w, both))
	}
	return text
}

func executed(f figure) float64 { return f.executed * 1e6 }

func (r report) denials() string {
	head := []string{"", "k decisions/s", "median wait, µs", "Redis CPU, µs"}
	return table(head, r.rows(denied, func(e *entrant) []string {
		return []string{
			r.rate(e, denied),
			number(e.median(denied, func(f figure) float64 { return f.p50 * 1e6 })),
			number(e.median(denied, func(f figure) float64 { return f.cpu * 1e6 })),
		}
	}))
}

func (r report) scripts() string {
	var rows [][]string
	for _, p := range r.policies {
		rows = append(rows, []string{p.policy, number(p.granted * 1e6), number(p.denied * 1e6), fmt.Sprint(p.bytes)})
	}
	return table([]string{"", "granted", "denied", "bytes a key"}, rows)
}

func (r report) list() string {
	var rows [][]string
	for _, e := range r.entrants {
		module := e.module
		if v := r.versions[e.module]; v != "" && !strings.Contains(e.module, "weir-go") {
			module += " " + v
		}
		rows = append(rows, []string{e.name, module, e.how})
	}
	return strings.ReplaceAll(table([]string{"", "module", "used as"}, rows), "---:", "---")
}

// table is one of Markdown. Its columns but the first are aligned to the right.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	line(append([]string{"---"}, slices.Repeat([]string{"---:"}, len(head)-1)...))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// number has as many digits as mean anything.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case size < 0.095:
		return fmt.Sprintf("%.2f", v)
	case size < 9.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// thousands is n with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
