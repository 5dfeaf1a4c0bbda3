// Package choosing computes the tables of docs/choosing.md: the events that each policy grants, at
// worst and on average, to callers that choose their moments. The page must have the computed
// tables, word for word.
package choosing
