package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weir-go/weir/benchmarks/record"
)

// TestPageIsUpToDate compares the page with the files beside this one.
func TestPageIsUpToDate(t *testing.T) {
	runs, err := record.Read(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile("../../" + doc)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != page(runs) {
		t.Errorf("%s does not show the files of %s; run: go run ./benchmarks/history -write", doc, folder)
	}
}

const older = `# date: 2026-01-02
# go: go1.25.1
# cores: 1
# weir: abc
# rounds: 2, of 1s a measurement
# exact: sethvargo x:time:rate,_sync.Map juju,_xsync
goos: linux
goarch: amd64
pkg: github.com/weir-go/weir/benchmarks
cpu: Z80
BenchmarkW1/contender=weir:TokenBucket-1 1 40 ns/op
BenchmarkW1/contender=sethvargo-1 1 90 ns/op
BenchmarkW1/contender=x:time:rate,_sync.Map-1 1 100 ns/op
BenchmarkW1/contender=httprate-1 1 10 ns/op
BenchmarkW1/contender=juju,_xsync-1 1 20 ns/op 0.5 wrong
BenchmarkW1/contender=x:time:rate,_sync.Map-1 1 60 ns/op
BenchmarkW1/contender=sethvargo-1 1 90 ns/op
BenchmarkW1/contender=juju,_xsync-1 1 20 ns/op
BenchmarkW1/contender=weir:TokenBucket-1 1 60 ns/op
`

const newer = `# date: 2026-02-03
# go: go1.26.1
# cores: 2
# weir: def
# rounds: 1, of 1s a measurement
# exact: sethvargo
goos: linux
goarch: arm64
cpu: Z81
BenchmarkW1/contender=weir:TokenBucket-2 1 30.4 ns/op
BenchmarkW1/contender=weir:SlidingLog-2 1 1.2345e+06 ns/op
BenchmarkW8/contender=weir:TokenBucket-2 1 120 p50-ns 5 p99-ns
`

func TestPage(t *testing.T) {
	runs, err := record.Read(fstest.MapFS{
		"v0.1.0.txt":     {Data: []byte(older)},
		"v0.2.0.txt":     {Data: []byte(newer)},
		"unreleased.txt": {Data: []byte(strings.Replace(older, "2026", "2025", 1))},
		"page.go":        {Data: []byte("package main")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(page(runs), "-write`.\n\n")
	want := `|  |  | unreleased | v0.2.0 | v0.1.0 |
| --- | --- | ---: | ---: | ---: |
|  | machine | Z80, 1 cores, linux/amd64 | Z81, 2 cores, linux/arm64 | Z80, 1 cores, linux/amd64 |
|  | Go | go1.25.1 | go1.26.1 | go1.25.1 |
|  | weir | abc | def | abc |
|  | measured | 2025-01-02 | 2026-02-03 | 2026-01-02 |
|  | rounds | 2, of 1s a measurement | 1, of 1s a measurement | 2, of 1s a measurement |
| W1: one hot key, ns | weir/TokenBucket | 50 (0.70) | 30 | 50 (0.70) |
|  | weir/SlidingLog | – | 1234500 | – |
|  | best peer | x/time/rate, sync.Map: 80 | – | x/time/rate, sync.Map: 80 |
| W8: calls under load, p50, ns | weir/TokenBucket | – | 120 | – |
|  | best peer | – | – | – |
| W8: calls under load, p99, ns | weir/TokenBucket | – | 5.0 | – |
|  | best peer | – | – | – |
`
	if table != want {
		t.Errorf("the table is\n%s\nmust be\n%s", table, want)
	}
	for i, name := range []string{"unreleased", "v0.2.0"} { // after a release nothing is unreleased
		if got := page(runs[i:]); !strings.Contains(got, "benchstat@latest benchmarks/history/"+name+".txt\n") {
			t.Errorf("with %s as the newest file, it shows another to benchstat:\n%s", name, got)
		}
	}
}
