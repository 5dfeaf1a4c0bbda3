package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-go/weir/internal/suite/runs"
)

// TestCounts compares what a decision takes with counts.txt.
func TestCounts(t *testing.T) {
	runs.SkipDear(t) // it builds and runs a program
	if fault := unsupported(); fault != "" {
		t.Skip(fault)
	}
	text, err := os.ReadFile(filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	was, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	program, remove, err := build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	is, err := allocations(program)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("allocations", func(t *testing.T) {
		report(t, changes(was.counts, is.counts, allocationsFigure, bytesFigure))
	})
	t.Run("instructions", func(t *testing.T) {
		if _, err := exec.LookPath("valgrind"); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal("with CI=true no test may be skipped: install valgrind")
			}
			t.Skip("needs valgrind: install valgrind")
		}
		if !sameMinor(was.version, is.version) {
			t.Skipf("%s is of %s, this is %s: only allocations and bytes are compared. To renew it: %s",
				file, was.version, is.version, renew)
		}
		// Valgrind takes half a second for each row.
		first := min(runs.Long(len(is.counts), 1), len(is.counts), len(was.counts))
		if err := instructions(program, is.counts[:first]); err != nil {
			t.Fatal(err)
		}
		report(t, changes(was.counts[:first], is.counts[:first], instructionsFigure))
	})
}

func report(t *testing.T, lines []string) {
	t.Helper()
	if len(lines) > 0 {
		t.Errorf("not as in %s:\n%s", file, strings.Join(lines, "\n"))
	}
}
