// Package oracle holds policies against models: a few lines of math/big each, which follow the
// rules and know nothing of speed. Fuzz targets read policies, instants and asks from their bytes,
// and put the same asks to the policy as a pure function, to limiters on stores, and to the model.
// All must agree, to the nanosecond and the event.
//
// A new policy gets a model here (model_*_test.go), a line that reads it from a tape
// (tape_policies_test.go) and a fuzz target.
package oracle
