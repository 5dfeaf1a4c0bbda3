// Package change is a random test of the rules R13 to R20: they hold when policies change, events are given
// back, and callers wait. It uses the public API alone, and runs on any [weir.Store].
//
// A [Trial] is a short list of policies and of steps, drawn from a seed. A world plays it and keeps a
// ledger of all that went ahead. Functions named after the rules read the ledger, or play the trial once
// more with something added. A trial that breaks a rule is shrunk, and printed as a script.
//
// Some rules hold for single policies, too (R3 to R6). They are asked on the way, of a twin: the same trial
// on another store, stopped at the step in question.
//
// A test of a store runs the trials for 2 s, of seeds that are always the same. In the environment,
//
//	WEIR_MODEL_TIME=1h    says for how long instead, half of it with new seeds
//	WEIR_MODEL_SEED=7     runs that one alone
//	WEIR_MODEL_ITEMS=10s  tells how soon the faults that made the rules are found, where they are not mended
package change
