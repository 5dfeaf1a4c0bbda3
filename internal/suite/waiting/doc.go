// Package waiting tests those who wait for their turn and those who book ahead: in which order they
// go, when, and what becomes of them when others leave, policies change or the store fails. It goes
// through the public API, in testing/synctest bubbles where time costs nothing. A test is a script:
// who comes when, and what became of each (crowd_test.go).
package waiting
