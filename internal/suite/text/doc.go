// Package text reads and writes the text form of every policy, through the public API alone: which
// text is written, which is refused and with which error, and how a program reads it. The tests of
// internal/text read words and durations.
package text
