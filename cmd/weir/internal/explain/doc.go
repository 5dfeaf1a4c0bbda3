// Package explain says what a policy does: in words, in the figures of its worst case, in what a
// client sees, and as Go code. The command explain prints this, and the playground shows parts of
// it.
package explain
