// Package change is a random test of the rules R13 to R20. They hold when policies change, events
// are given back, and callers wait. The test uses only the public API, and runs on any
// [weir.Store].
//
// A [Trial] is a short list of policies and of steps, drawn from a seed. A world plays it, and
// keeps a ledger of all events that were granted. Functions named after the rules read the ledger,
// or play the trial once more with an additional step. A trial that breaks a rule is shrunk, and
// printed as a script.
//
// Rules R3 to R6 hold for single policies, too. They are checked during a trial, on a twin: the
// same trial on another store, stopped at the step in question.
//
// Beside it stand single cases of the same rules, as tests of limiters (changed_test.go) and of
// [weir.Ledger] alone (ledger_*_test.go).
//
// A test of a store runs the trials for 2 s with WEIR_LONG=1, and otherwise for 0.2 s, always with
// the same seeds. A test can set another time. These variables of the environment change this:
//
//	WEIR_MODEL_TIME=1h    runs for that time, half of it with new seeds
//	WEIR_MODEL_SEED=7     runs that seed only
//	WEIR_MODEL_ITEMS=10s  reports how soon the faults behind the rules are found, if they are not fixed
package change
