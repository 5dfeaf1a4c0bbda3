// Package runs tells tests how long they are to run. Without more ado "go test ./..." ends within half
// a minute: the tests that gain from numbers, such as floods of keys, random sequences and concurrent
// goroutines, do fewer rounds. None of them is skipped. With WEIR_LONG=1 in the environment, which
// .ci/run sets, they do all of them.
//
// It imports nothing of weir, so that every test can use it.
package runs

import "os"

var long = os.Getenv("WEIR_LONG") != ""

// Long returns all in a long run, and else part of it.
func Long[T any](all, part T) T {
	if long {
		return all
	}
	return part
}
