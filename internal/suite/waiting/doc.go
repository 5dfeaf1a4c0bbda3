// Package waiting tests callers that wait for their turn or book ahead: in which order they go,
// when, and what becomes of them when others leave, policies change or the store fails. It goes
// through the public API, in testing/synctest bubbles where time costs nothing. A test is a script:
// which callers come when, and what becomes of each (crowd_test.go).
package waiting
