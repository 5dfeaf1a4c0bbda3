package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-go/weir/benchmarks/median"
)

// A run is what one file holds.
type run struct {
	release    string
	about      map[string]string // where and with what it was made
	contenders []string          // in the order of the file
	values     map[series][]float64
}

// A series names what was measured of a contender in a workload. Each round adds one value.
type series struct{ workload, contender, unit string }

// unreleased is the name of what comes after all releases.
const unreleased = "unreleased"

// read reads all files, the newest first.
func read(files fs.FS) (runs []run, err error) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		r, err := parse(strings.TrimSuffix(path.Base(name), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b run) int {
		if a.release == unreleased || b.release == unreleased {
			return cmp.Compare(a.release, b.release) // the names of all others begin with v
		}
		return cmp.Or(cmp.Compare(b.about["date"], a.about["date"]), cmp.Compare(b.release, a.release))
	})
	return runs, nil
}

// parse reads a file in the format of Go benchmarks, as command report writes it.
func parse(release, text string) (run, error) {
	r := run{release: release, about: make(map[string]string), values: make(map[series][]float64)}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "Benchmark") {
			if key, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": "); ok {
				r.about[key] = value
			}
			continue
		}
		fields := strings.Fields(line)
		name, contender, ok := strings.Cut(fields[0], "/contender=")
		end := strings.LastIndex(contender, "-")
		if !ok || end < 0 || len(fields) < 4 || len(fields)%2 != 0 {
			return r, fmt.Errorf("%q must be a workload, a contender, and values with units", line)
		}
		contender = fromName(contender[:end])
		if !slices.Contains(r.contenders, contender) {
			r.contenders = append(r.contenders, contender)
		}
		for i := 2; i < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			s := series{strings.TrimPrefix(name, "Benchmark"), contender, fields[i+1]}
			r.values[s] = append(r.values[s], value)
		}
	}
	if len(r.values) == 0 {
		return r, errors.New("it has no benchmarks")
	}
	return r, nil
}

// fromName undoes what command report does to a contender's name.
func fromName(s string) string { return strings.NewReplacer("_", " ", ":", "/").Replace(s) }

// best is the exact peer with the least median, or empty if there is none. Those that decided
// wrongly in the workload are left out.
func (r run) best(f figure) (peer string) {
	least := math.Inf(1)
	for _, name := range strings.Fields(r.about["exact"]) {
		name = fromName(name)
		if len(r.values[series{f.workload, name, "wrong"}]) > 0 {
			continue
		}
		if v := median.Of(r.of(f, name)); v < least {
			peer, least = name, v
		}
	}
	return peer
}

// ratio is the median of the ratios within a round: what was measured in one is closest in time.
func ratio(a, b []float64) float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, a[i]/b[i])
	}
	return median.Of(ratios)
}
