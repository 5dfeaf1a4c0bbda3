// Package peers tests that weir is free of faults that other rate limiters have or had. P is the
// number of such a fault, as in TestP7_AFlood. The tests go through the public API. Tests of faults
// in waiting, memory or give-backs are in the suites of these.
package peers
