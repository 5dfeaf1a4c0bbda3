// Package kit is what the suites beside it, and the tests of other packages here, have in common:
// policies to test, a policy as a pure function, clocks that are set by hand, and stores that fail.
// It knows weir's public API alone. Only tests import it.
package kit
