package main

import "time"

// windowOf is the number of the window of the limit that t is in. A FixedWindow starts its windows at
// multiples of its length since the Unix epoch.
func windowOf(t time.Time, per time.Duration) int64 { return t.UnixNano() / int64(per) }

// windowStart is when a window starts.
func windowStart(window int64, per time.Duration) time.Time { return time.Unix(0, window*int64(per)) }

// grantedIn returns the window in which a request was granted. sent and answered are less than a
// window apart. If a window ended between them, resetAfter tells in which of the two windows the
// decision was made: that window ends resetAfter after the decision.
func grantedIn(sent, answered time.Time, resetAfter, per time.Duration) int64 {
	first, last := windowOf(sent, per), windowOf(answered, per)
	if first < last && windowOf(answered.Add(resetAfter), per) == last {
		return first
	}
	return last
}
