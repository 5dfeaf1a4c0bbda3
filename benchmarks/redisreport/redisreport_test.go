package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/suite/runs"
)

func needServer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("with CI=true no test may be skipped: install redis-server")
	}
	t.Skip("needs a real Redis: install redis-server")
}

// Before it is measured each contender is checked to limit, so this does, too.
func TestReport(t *testing.T) {
	runs.SkipDear(t)
	needServer(t)
	defer func(all []int) { goroutines = all }(goroutines)
	goroutines = runs.Long(goroutines, []int{1, some}) // with 256, some contenders take a second to agree
	s := settings{
		rounds: runs.Long(2, 1), time: runs.Long(3*time.Millisecond, time.Millisecond),
		keys: 20, command: "go test",
	}
	r, err := s.run()
	if err != nil {
		t.Fatal(err)
	}
	text := r.document()
	for _, c := range contenders() {
		if !strings.Contains(text, "| "+c.name+" | ") {
			t.Errorf("the report has nothing about %s", c.name)
		}
	}
	for _, wrong := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the report has a %s in it", wrong)
		}
	}
	for _, e := range r.entrants {
		for _, w := range s.workloads() {
			if n := len(e.figures[w]); e.takesPart(w) && n != s.rounds {
				t.Errorf("%s was measured %d times with %v", e.name, n, w)
			}
		}
		if w := (workload{1, 1, false}); e.takesPart(w) && e.median(w, func(f figure) float64 { return f.allowed }) != 1 {
			t.Errorf("%s denies what the quota grants", e.name)
		}
		if e.takesPart(denied) && e.median(denied, func(f figure) float64 { return f.allowed }) != 0 {
			t.Errorf("%s grants what the quota denies", e.name)
		}
		if strings.HasPrefix(e.name, "weir") && (e.granted != 100 || e.failed != 0) {
			t.Errorf("%s grants %d of 100, with %d errors", e.name, e.granted, e.failed)
		}
	}
	if r.fullLog < 10_000 || r.fullLog > 90_000 {
		t.Errorf("a log of 10,000 events takes %d bytes", r.fullLog)
	}
	for _, p := range r.policies {
		if p.granted <= 0 || p.denied <= 0 || p.bytes <= 0 {
			t.Errorf("of %s was measured: %+v", p.policy, p)
		}
	}
}

func TestWithoutAServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := settings{rounds: 1, time: time.Millisecond, keys: 1}.run()
	if err == nil || !strings.Contains(err.Error(), "install redis-server") {
		t.Errorf("it does not tell what is missing: %v", err)
	}
}

func TestRatioIsThatOfRounds(t *testing.T) {
	w := workload{1, 1, false}
	made := func(seconds ...float64) *entrant {
		e := &entrant{figures: map[workload][]figure{}}
		for _, s := range seconds {
			e.figures[w] = append(e.figures[w], figure{seconds: s})
		}
		return e
	}
	// The machine has three speeds, and one is twice as fast as the other at each.
	slow, fast := made(4, 40, 400), made(2, 200, 20)
	seconds := func(f figure) float64 { return f.seconds }
	if got := fast.ratio(slow, w, seconds); got != 2 {
		t.Errorf("the median of 2, 0.2 and 20 is %v", got)
	}
	if got := slow.median(w, seconds); got != 40 {
		t.Errorf("the median of 4, 40 and 400 is %v", got)
	}
}

func TestStat(t *testing.T) {
	for name, want := range map[string]float64{"calls=": 3, "usec=": 1500000, "failed_calls=": 7} {
		if got := stat("calls=3,usec=1500000,usec_per_call=500000.00,failed_calls=7", name); got != want {
			t.Errorf("%s%v, must be %v", name, got, want)
		}
	}
}

func TestKeysAreApart(t *testing.T) {
	all := keys(1000)
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != 1000 || len(all[999]) != 16 {
		t.Errorf("keys such as %q", all[999])
	}
}
