// Package sliding counts the events of a window that moves with the present instant: exactly, by
// the instant of each event ([Log]), or by an estimate from the counts of sub-windows ([Counts]).
//
// It knows no policy, no request and no answer, nor how a store keeps states. It computes with the
// words of a state, and with instants in nanoseconds since the Unix epoch, from 0 to math.MaxInt64.
// Those words may come from outside. No words make it panic or loop without end, if its callers
// check them as its comments say.
//
// Its tests compare a log with a plain list of instants, and counts with sums in math/big, while
// events come, are given back and leave in random order, and the clock steps back.
package sliding
