package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// decisions are how many are counted in a row. The other work of the runtime, such as to look
// after its threads, is some thousand instructions a run, more on a busy machine. With so many
// decisions, ten runs of a row differ by less than 1 %, on two cores that have ten times the work.
const decisions = 50_000

// settings are those of the runtime with which runs differ least: without signals and collections,
// and with one thread for goroutines.
var settings = []string{"GODEBUG=asyncpreemptoff=1", "GOGC=off", "GOMAXPROCS=1"}

// unsupported tells why nothing can be counted here, if so.
func unsupported() string {
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != "linux/amd64" {
		return "the counts are of linux/amd64, this is " + here
	}
	return ""
}

// build makes the program that is measured, the same for the command and for the test. A test
// binary could have the race detector in it.
func build() (program string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "counts")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "counts")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "github.com/weir-go/weir/benchmarks/counts")
	cmd.Env = append(os.Environ(), "GOAMD64=v1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%v: %w: %s", cmd, err, out), os.RemoveAll(dir))
	}
	return program, func() { _ = os.RemoveAll(dir) }, nil
}

// measure counts all that a table has.
func measure(program string) (table, error) {
	t, err := allocations(program)
	if err != nil {
		return table{}, err
	}
	return t, instructions(program, t.counts)
}

// allocations returns a table of all rows without instructions.
func allocations(program string) (table, error) {
	cmd := exec.Command(program, childArg)
	cmd.Env = append(os.Environ(), settings...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return table{}, fmt.Errorf("%v: %w", cmd, err)
	}
	t := table{version: runtime.Version()}
	return t, json.Unmarshal(out, &t.counts)
}

// instructions sets those of the counts: what a process executes that decides, beyond one that does
// not, divided by the decisions.
func instructions(program string, counts []count) error {
	none := math.MaxInt
	for range min(len(counts), 3) { // the least, because all rows are compared with it
		n, err := executed(program, rows[0].name, 0)
		if err != nil {
			return err
		}
		none = min(none, n)
	}
	for i := range counts {
		row, before := counts[i].Row, none
		all, err := executed(program, row, decisions)
		if err == nil && strings.HasPrefix(row, middlewareRow) {
			before, err = executed(program, row, 0)
		}
		if err != nil {
			return err
		}
		counts[i].Instructions = float64(all-before) / decisions
	}
	return nil
}

// executed is the number of instructions of a process that makes n decisions.
func executed(program, name string, n int) (int, error) {
	cmd := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
		program, childArg, name, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), settings...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%v: %w: %s", cmd, err, said.String())
	}
	return parseExecuted(said.String())
}

var refs = regexp.MustCompile(`(?m)^==\d+== I +refs: +([0-9,]+)$`)

// parseExecuted finds the number in what cachegrind says.
func parseExecuted(said string) (int, error) {
	found := refs.FindStringSubmatch(said)
	if found == nil {
		return 0, fmt.Errorf("cachegrind told no number of instructions: %s", said)
	}
	return strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
}
