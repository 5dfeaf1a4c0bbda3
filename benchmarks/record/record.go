// Package record reads the files of benchmarks/history. Each holds the single measurements of a
// run, as Go benchmarks. It is a package of its own so that command history, which uses it, is not
// linked with all contenders.
package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Run is the content of one file.
type Run struct {
	Release    string
	About      map[string]string // where and with what it was measured
	Contenders []string          // in the order of the file
	Values     map[Series][]float64
}

// A Series names what was measured of a contender in a workload. Each round adds one value.
type Series struct{ Workload, Contender, Unit string }

// unreleased is the name of the run that comes after all releases.
const unreleased = "unreleased"

// Read reads all files, the newest first.
func Read(files fs.FS) (runs []Run, err error) {
	names, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no file of measurements")
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		r, err := Parse(strings.TrimSuffix(path.Base(name), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b Run) int {
		if a.Release == unreleased || b.Release == unreleased {
			return cmp.Compare(a.Release, b.Release) // the names of all others begin with v
		}
		return cmp.Or(cmp.Compare(b.About["date"], a.About["date"]), cmp.Compare(b.Release, a.Release))
	})
	return runs, nil
}

// Parse reads a file in the format of Go benchmarks, as command report writes it.
func Parse(release, text string) (Run, error) {
	r := Run{Release: release, About: make(map[string]string), Values: make(map[Series][]float64)}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "Benchmark") {
			if key, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": "); ok {
				r.About[key] = value
			}
			continue
		}
		fields := strings.Fields(line)
		name, contender, ok := strings.Cut(fields[0], "/contender=")
		end := strings.LastIndex(contender, "-")
		if !ok || end < 0 || len(fields) < 4 || len(fields)%2 != 0 {
			return r, fmt.Errorf("%q must be a workload, a contender, and values with units", line)
		}
		contender = FromName(contender[:end])
		if !slices.Contains(r.Contenders, contender) {
			r.Contenders = append(r.Contenders, contender)
		}
		for i := 2; i < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return r, fmt.Errorf("%q: %w", line, err)
			}
			s := Series{strings.TrimPrefix(name, "Benchmark"), contender, fields[i+1]}
			r.Values[s] = append(r.Values[s], value)
		}
	}
	if len(r.Values) == 0 {
		return r, errors.New("it has no benchmarks")
	}
	return r, nil
}

// Name returns a contender's name without the characters that separate the parts of a benchmark's
// name.
func Name(contender string) string {
	return strings.NewReplacer(" ", "_", "/", ":").Replace(contender)
}

// FromName returns the contender whose Name is s.
func FromName(s string) string { return strings.NewReplacer("_", " ", ":", "/").Replace(s) }
