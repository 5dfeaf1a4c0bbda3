package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExplain(t *testing.T) {
	stdout, stderr, status := weirSays(t, "", "explain", "all(5/1s,", "sliding-log 60/1m)") // words of the shell are joined
	assert.Empty(t, stderr)
	assert.Zero(t, status)
	assert.Equal(t, `all(5/1s, sliding-log 60/1m)

In words
  A request is granted if each of these grants it. A denial costs none of them:
    A token bucket: 5 events a second on average, and up to 5 at once. A used event is back after 200ms.
    A sliding log: at most 60 events in any 1m, exactly.

Worst case: no client gets more events, one at a time, even if it chooses the moments
   at once, new key    5
          in any 1s    9
          in any 1m   60

A client that takes all at once is then refused
  Retry after: 200ms
  All is back after: 1m

  HTTP/1.1 429 Too Many Requests
  RateLimit: "5/1s";r=0;t=1
  RateLimit-Policy: "5/1s";q=5;w=1, "sliding-log 60/1m";q=60;w=60
  Retry-After: 1

Memory for a key
  3 to 63 words of 8 bytes, by the events that count. In a MemStore it takes 534 to 850 bytes in all.

Go
  limiter := weir.Must(weir.New(weir.All(
  	weir.TokenBucket{Limit: 5, Per: time.Second},
  	weir.SlidingLog{Limit: 60, Per: time.Minute},
  )))

JSON, for a field of type weir.AnyPolicy
  "all(5/1s, sliding-log 60/1m)"
`, stdout)
}

// Where windows end may be near, a wait has no least.
func TestExplainWaits(t *testing.T) {
	for policy, wait := range map[string]string{
		"fixed-window 9/1h": "Retry after: at most 1h",
		"calendar-window 9/month location=Europe/Berlin": "Retry after: at most 31d1h",
		"sliding-window 100/1s buckets=10":               "All is back after: 999ms to 1.099s",
		"fixed-window 9/1h from-first":                   "Retry after: 1h\n",
		"sliding-window 100/1m buckets=60000":            "All is back after: 1m\n", // from 59.9999s
	} {
		stdout, _, status := weirSays(t, "", "explain", policy)
		assert.Zero(t, status)
		assert.Contains(t, stdout, wait)
	}
}

// A period is told as exactly as it was written.
func TestExplainPeriodsExactly(t *testing.T) {
	for policy, says := range map[string][]string{
		"tiers(sliding-log 5/1h, sliding-log 5/1h10s)": {"at most 5 events in any 1h, ", "at most 5 events in any 1h10s, ", "   in any 1h   ", " in any 1h10s   "},
		"fixed-window 10/1d1s":                         {"10 events in each window of 1d1s, in UTC", "in any 1d1s   20", "Retry after: at most 1d1s\n"},
		"10/1h0.0000001s":                              {"10 events each 1h100ns on average", "in any 1h100ns "},
		"sliding-window 5/2h10s buckets=2":             {"5 events in any 2h10s, by an estimate from 2 sub-windows of 1h5s."},
		"fixed-window 5/61.0001s from-first":           {"in a window of 1m1.0001s that", "in any 1m1.0001s "},
		"sliding-log 5/8d1m":                           {"in any 8d1m, exactly"},
	} {
		stdout, _, status := weirSays(t, "", "explain", policy)
		assert.Zero(t, status)
		for _, s := range says {
			assert.Contains(t, stdout, s)
		}
	}
}

// The client has taken all, also if that is more than an int can count.
func TestExplainHugeTiers(t *testing.T) {
	stdout, _, status := weirSays(t, "", "explain", fmt.Sprintf("tiers(%[1]d/1s, %[1]d/1s)", math.MaxInt))
	assert.Zero(t, status)
	assert.Contains(t, stdout, "HTTP/1.1 429 Too Many Requests\n")
}
