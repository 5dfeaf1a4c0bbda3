// Package text reads and writes the text form of every policy, through the public API alone:
// what is written, what is refused and with which error, and what reads it in a program. How words
// and durations are read is tested in internal/text.
package text
