// Package choosing computes the tables of docs/choosing.md: what each policy grants, at worst and
// on average, to callers who choose their moments. The page must say what it finds, word for word.
package choosing
