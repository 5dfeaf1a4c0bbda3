// Package runs decides how long tests run. By default, "go test ./..." ends within half a minute:
// the tests that gain from numbers, such as floods of keys, random sequences and concurrent
// goroutines, do fewer rounds. Left out are only the cases that are [Dear], or that [Short] and
// [Brief] skip, the tests that call [SkipDear], and some tests of the playground's page. With
// CI=true in the environment, most of these run, and others do more rounds, because CI runs some
// packages only without WEIR_LONG=1. With WEIR_LONG=1, which .ci/run sets for the other packages,
// all tests run, with all rounds.
//
// The package imports nothing of weir, so that every test can use it.
package runs

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// In runs that are not long, most tests have a heap of a few megabytes, which would be collected
// every few milliseconds.
func init() {
	if os.Getenv("GOGC") == "" && Long(false, true) {
		debug.SetGCPercent(400)
	}
}

// Long returns all in a long run, and else part of it. It reads the environment when it is called.
// go test does not notice variables that are read before the tests start, and would then show the
// cached result of a short run for a long one.
func Long[T any](all, part T) T {
	if os.Getenv("WEIR_LONG") != "" {
		return all
	}
	return part
}

// InCI returns there where CI=true, and else here. It is for the smaller numbers of [Long]: CI has
// no larger ones of some packages, and none under the race detector, on 32 bits, and on other
// numbers of processors. Where CI is not set, somebody waits for the result.
func InCI[T any](there, here T) T {
	if os.Getenv("CI") == "true" {
		return there
	}
	return here
}

// Keys returns n, how many keys a benchmark has. With -benchtime 1x, it returns a hundredth of n,
// although the names of benchmarks say n: that shows only whether a benchmark fails.
func Keys(n int) int {
	if flag.Lookup("test.benchtime").Value.String() == "1x" {
		return n / 100
	}
	return n
}

// Main is for TestMain of packages whose tests wait for servers, or run storetest. It runs more
// tests at once than there are processors, because most of them wait. storetest does not know this
// package. It is shorter with the flag -short, which Main sets in runs that are not long. One test
// of the package must also call Long, for the reason given there. Flags of the command line are
// read later, and take precedence.
func Main(m *testing.M) {
	set("test.parallel", "12")
	if Long(false, true) {
		set("test.short", "true")
	}
	m.Run()
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}
