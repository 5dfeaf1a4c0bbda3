// Package lincheck checks that the steps of a store are linearizable: that the answers which
// concurrent callers got are those of some order of single steps, in which whatever had ended before
// another began comes first. It is all tests, and a module of its own for the sake of the checker
// that they use.
package lincheck
