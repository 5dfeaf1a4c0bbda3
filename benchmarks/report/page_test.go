package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/benchmarks"
	"github.com/weir-go/weir/benchmarks/record"
)

// newest are the results of the newest file of benchmarks/history, the folder with the page and the
// plot that command writes of it, and the command.
func newest(t *testing.T) (r results, folder, command string) {
	t.Helper()
	runs, err := record.Read(os.DirFS("../history"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = readBack(runs[0]); err != nil {
		t.Fatal(err)
	}
	name, folder := runs[0].Release+".txt", t.TempDir()
	o := options{render: true, history: filepath.Join("../history", name), out: folder}
	if err := o.run(); err != nil {
		t.Fatal(err)
	}
	return r, folder, program + " -render -history benchmarks/history/" + name
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPageIsOfTheNewestRun(t *testing.T) {
	r, folder, command := newest(t)
	lines := func(folder string) []string {
		return strings.Split(readFile(t, filepath.Join(folder, "benchmarks.md")), "\n")
	}
	is, want := lines("../../docs"), lines(folder)
	for i := range min(len(is), len(want)) {
		if is[i] != want[i] {
			t.Fatalf("line %d of docs/benchmarks.md is %q, must be %q; run: %s", i+1, is[i], want[i], command)
		}
	}
	if len(is) != len(want) {
		t.Errorf("docs/benchmarks.md has %d lines, must have %d; run: %s", len(is), len(want), command)
	}
	if strings.Contains(r.Command, "-out") {
		t.Errorf("whoever repeats %q does not write the page where it is", r.Command)
	}
}

// The plot has the names and the figures of the run. Where it has them may differ a little between
// processors, which round otherwise.
func TestPlotIsOfTheNewestRun(t *testing.T) {
	_, folder, command := newest(t)
	texts := func(folder string) []string {
		return regexp.MustCompile(`>[^<>\n]+</text>`).FindAllString(readFile(t, filepath.Join(folder, "benchmarks.svg")), -1)
	}
	if is, want := texts("../../docs"), texts(folder); len(want) < 200 || !slices.Equal(is, want) {
		t.Errorf("docs/benchmarks.svg has the texts\n%s\nmust have\n%s\nrun: %s", is, want, command)
	}
}

// The front page tells figures of both reports.
func TestReadmeHasTheFiguresOfTheReports(t *testing.T) {
	r, _, _ := newest(t)
	span := func(metric string) string { // of x/time/rate
		var all []float64
		for _, c := range r.contenders(metric) {
			if strings.HasPrefix(c.Name, "x/time/rate") {
				all = append(all, r.median(c.Name, metric))
			}
		}
		return significant(slices.Min(all)) + " to " + significant(slices.Max(all))
	}
	_, redis, _ := strings.Cut(readFile(t, "../../docs/benchmarks-redis.md"), "## One hot key\n")
	rows := regexp.MustCompile(`\| weir, go-redis \|.*\|.*\| \d+ \(([\d.]+)×\) \|.*\|\n`).FindAllStringSubmatch(redis, 2)
	if len(rows) != 2 {
		t.Fatalf("rows of weir in docs/benchmarks-redis.md: %q", rows)
	}
	times := func(row []string) string {
		v, _ := strconv.ParseFloat(row[1], 64)
		return significant(v)
	}
	readme := strings.Join(strings.Fields(readFile(t, "../../README.md")), " ")
	for _, want := range []string{
		fmt.Sprintf("weir takes %s ns for a decision of one goroutine on one hot key, and %s bytes for a key.",
			significant(r.median(benchmarks.Leader, "W1.ns")), significant(r.median(benchmarks.Leader, "W7.bytes"))),
		fmt.Sprintf("`x/time/rate` in a map takes %s ns and %s bytes.", span("W1.ns"), span("W7.bytes")),
		fmt.Sprintf("weir makes %s times as many decisions a second as `redis_rate` on one hot key.", times(rows[0])),
		fmt.Sprintf("On 100,000 keys it makes %s times as many.", times(rows[1])),
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md must say: %s", want)
		}
	}
}

func TestReasonsHaveTheInstructionsOfTheCounts(t *testing.T) {
	counts := readFile(t, "../counts/counts.txt")
	instructions := func(row string) string {
		_, figures, _ := strings.Cut(counts, "\nTokenBucket, "+row+" ")
		return strings.Fields(figures)[0]
	}
	want := fmt.Sprintf("executes %s instructions, and Allow %s", instructions("Take"), instructions("Allow"))
	text := reasonsSection(made(t, 1, benchmarks.MethodMetric("Allow"), benchmarks.MethodMetric("Take")))
	if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, want) {
		t.Errorf("not as in counts.txt: Take %s in\n%s", want, text)
	}
}
