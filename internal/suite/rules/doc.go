// Package rules tests the rules that all policies keep, one table for all of them: R is the number
// of a rule, as in TestR4_RetryAfterIsTight. Policies are asked as pure functions at instants, and
// through the public API. That they also keep them to the nanosecond, for any numbers, is the
// matter of the suite oracle.
package rules
