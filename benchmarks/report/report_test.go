package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/median"
)

// made are results in which a contender's figure is 10 times its place, and each round twice the
// one before.
func made(t *testing.T, rounds int, metrics ...string) results {
	t.Helper()
	r := results{
		Environment: Environment{Date: "2026-01-02", CPU: "Z80", Cores: 1, System: "cp/m", Go: "go1", Versions: map[string]string{"golang.org/x/time": "v9.8.7"}},
		Command:     "go run ./benchmarks/report -rounds 3",
		Settings:    benchmarks.Settings{Scale: 1, Time: time.Second},
		Rounds:      rounds,
	}
	for i, c := range benchmarks.Contenders() {
		for round := range rounds {
			m := benchmarks.Metrics{}
			for _, metric := range metrics {
				m[metric] = float64(10 * (i + 1) << round)
			}
			r.Samples = append(r.Samples, sample{c.Name, round, m})
		}
	}
	return r
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 9, 2}, 3},
	} {
		if got := median.Of(c.values); got != c.want {
			t.Errorf("the median of %v is %g, not %g", c.values, got, c.want)
		}
	}
	if got := median.Of(nil); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %g", got)
	}
}

func TestRatio(t *testing.T) {
	r := results{Samples: []sample{
		{benchmarks.Leader, 0, benchmarks.Metrics{"m": 10}},
		{benchmarks.Leader, 1, benchmarks.Metrics{"m": 100}},
		{benchmarks.Leader, 2, benchmarks.Metrics{"m": 20}},
		{"ulule", 0, benchmarks.Metrics{"m": 30}},
		{"ulule", 1, benchmarks.Metrics{"m": 200}},
		{"ulule", 2, benchmarks.Metrics{"m": 100}},
		{"sethvargo", 1, benchmarks.Metrics{"m": 400}},
	}}
	for name, want := range map[string]float64{benchmarks.Leader: 1, "ulule": 3, "sethvargo": 4} {
		if got := r.ratio(name, "m"); got != want {
			t.Errorf("the ratio of %s is %g, not %g", name, got, want)
		}
	}
	if got := r.ratio("throttled", "m"); !math.IsNaN(got) {
		t.Errorf("the ratio of what was not measured is %g", got)
	}
}

func TestSpread(t *testing.T) {
	r := results{}
	for round, v := range []float64{90, 100, 100, 100, 110, 500} {
		r.Samples = append(r.Samples, sample{"ulule", round, benchmarks.Metrics{"m": v}})
	}
	if got := r.spread("m"); got != .1 {
		t.Errorf("the middle of the rounds is %g of the median wide, not 0.1", got)
	}
}

func TestRounds(t *testing.T) {
	all := benchmarks.Contenders()
	first, second := inRound(all, 0), inRound(all, 1)
	for i := range all {
		if first[i].Name != all[i].Name || second[i].Name != all[len(all)-1-i].Name {
			t.Fatalf("the first rounds have %s and %s in place %d", first[i].Name, second[i].Name, i)
		}
	}
}

func TestParse(t *testing.T) {
	parse := func(args ...string) (options, error) {
		flags := flag.NewFlagSet("report", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		return parse(flags, args)
	}
	o, err := parse("-workloads", "W1,W5", "-contenders", "TokenBucket,uber", "-latency", "6s")
	if err != nil {
		t.Fatal(err)
	}
	if w := o.settings.Want; !w["W1"] || !w["W5"] || len(w) != 2 {
		t.Errorf("W1,W5 wants %v", w)
	}
	if len(o.contenders) != 4 || o.settings.Latency != time.Second {
		t.Errorf("%d contenders and %v a round of W8", len(o.contenders), o.settings.Latency)
	}
	for _, args := range []string{"-workloads W9", "-contenders nobody", "-rounds 0", "-render", "-time soon", "W1"} {
		if _, err := parse(strings.Fields(args)...); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

func TestJob(t *testing.T) {
	small := benchmarks.Settings{Time: time.Millisecond, Want: map[string]bool{"W1": true}}
	ask := func(j job) (benchmarks.Metrics, error) {
		in, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := serveJob(bytes.NewReader(in), &out); err != nil {
			return nil, err
		}
		var m benchmarks.Metrics
		return m, json.Unmarshal(out.Bytes(), &m)
	}
	if m, err := ask(job{"hot", benchmarks.Leader, small}); err != nil || m["W1.ns"] <= 0 || len(m) != 1 {
		t.Errorf("W1 of %s yields %v and %v", benchmarks.Leader, m, err)
	}
	for _, j := range []job{{"hot", "nobody", small}, {"no group", benchmarks.Leader, small}} {
		if _, err := ask(j); err == nil {
			t.Errorf("%+v is accepted", j)
		}
	}
}

func TestDocument(t *testing.T) {
	r := made(t, 3, "W1.ns", "W2.ns", "W3.ns")
	r.Samples[3].Metrics["W2"+benchmarks.Wrong] = .015
	got := document(r)
	for _, line := range []string{
		"go run ./benchmarks/report -rounds 3",
		"| date | 2026-01-02 |",
		"| machine | Z80, 1 cores used, cp/m |",
		"| weir/TokenBucket | 40 | 40 † | 40 |",
		"| weir/LeakyBucket | 60 (1.5×) | 60 (1.5×) | 60 (1.5×) |",
		"| x/time/rate, map + mutex | **180 (4.5×)** | **180 (4.5×)** | **180 (4.5×)** |",
		"| weir/TokenBucket | W2 | 1.5 % |",
		"| x/time/rate, sync.Map | golang.org/x/time v9.8.7 | *rate.Limiter in a sync.Map |",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("the report does not have the line %q", line)
		}
	}
	for _, part := range []string{"A million keys", "W6", "NaN", "Inf", "%!"} {
		if strings.Contains(strings.ReplaceAll(got, "W3, W6 and W7", ""), part) {
			t.Errorf("the report contains %q", part)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// Each section shows all contenders, or the growth of one.
func TestSections(t *testing.T) {
	for _, s := range sections {
		metrics := s.metrics
		for _, n := range benchmarks.GrowthKeys {
			for _, g := range benchmarks.GrowthGoroutines {
				metrics = append(metrics, benchmarks.GrowthMetric(n, g))
			}
		}
		text := s.text(made(t, 2, metrics...))
		rows := strings.Count(text, "\n| ") - 2 // without the head and the rule
		if all := len(benchmarks.Contenders()); rows != all && rows != len(benchmarks.GrowthKeys) {
			t.Errorf("%d rows for %d contenders:\n%s", rows, all, text)
		}
		if strings.Contains(text, "NaN") {
			t.Errorf("NaN in\n%s", text)
		}
	}
}

// All reasons stand in a report with all figures, and none in one without.
func TestReasons(t *testing.T) {
	var metrics []string
	for _, reason := range reasons {
		metrics = append(metrics, reason.metrics...)
	}
	r := made(t, 2, metrics...)
	faster := reasonsSection(r)
	for i := range r.Samples { // the leader, which is the fastest, also becomes slower than its peers in W8
		if s := &r.Samples[i]; s.Contender == benchmarks.Leader {
			s.Metrics["W8.p999"] *= 1e6
		}
	}
	if text := reasonsSection(r); strings.Count(text, "\n- **") != strings.Count(faster, "\n- **")+1 {
		t.Errorf("in W8 the leader is faster:\n%s\nand slower:\n%s", faster, text)
	}
	text := document(r)
	_, text, found := strings.Cut(text, "## What is not faster, and why\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if got := strings.Count(text, "\n- **"); !found || got != len(reasons) || strings.Contains(text, "NaN") {
		t.Errorf("%d of %d reasons in\n%s", got, len(reasons), text)
	}
	if text := reasonsSection(made(t, 2, "W6.ns")); text != "" {
		t.Errorf("without their figures:\n%s", text)
	}
}

func TestPlot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plot.svg")
	if err := drawPlot(file, made(t, 1, "W1.ns")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("W1 alone is plotted")
	}

	r := made(t, 1, "W1.ns", "W2.ns", "W3.ns", "W4.ns", "W4p.ns", "W5.ns")
	if err := drawPlot(file, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, new(struct{})); err != nil {
		t.Errorf("the plot is no XML: %v", err)
	}
	if bytes.Contains(data, []byte("font-family:Liberation Sans;")) {
		t.Error("the plot names a font alone that few viewers have")
	}
	for _, name := range []string{benchmarks.Leader, "sethvargo"} {
		if got := bytes.Count(data, []byte(">"+name+"<")); got != 6 {
			t.Errorf("%s stands %d times in the plot", name, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.004", 0.012: "0.01", 0.44: "0.4", 9.96: "10", 12.4: "12", 1234: "1234", -4.2: "-4.2",
	} {
		if got := significant(v); got != want {
			t.Errorf("%g is written %s, not %s", v, got, want)
		}
	}
	if got := fmt.Sprint(thousands(1), " ", thousands(1000), " ", thousands(10_000_000)); got != "1 1,000 10,000,000" {
		t.Errorf("numbers are written %s", got)
	}
}
