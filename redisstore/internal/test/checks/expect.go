package checks

import (
	"cmp"
	"fmt"
	"testing"
)

// These stand for testify, which only files of tests may import.

// must ends the test unless ok.
func must(tb testing.TB, ok bool, format string, args ...any) {
	tb.Helper()
	if !ok {
		tb.Fatalf(format, args...)
	}
}

func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil { // must would allocate, which is counted
		tb.Fatal(err)
	}
}

// check fails the test unless ok, and lets it go on.
func check(tb testing.TB, ok bool, format string, args ...any) {
	tb.Helper()
	if !ok {
		tb.Errorf(format, args...)
	}
}

func equal[T comparable](tb testing.TB, want, got T, format string, args ...any) {
	tb.Helper()
	check(tb, got == want, "%s: got %v, want %v", fmt.Sprintf(format, args...), got, want)
}

func atMost[T cmp.Ordered](tb testing.TB, most, got T, format string, args ...any) {
	tb.Helper()
	check(tb, got <= most, "%s: got %v, want at most %v", fmt.Sprintf(format, args...), got, most)
}
