package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// shape is what is to be seen in a histogram of the experiment.
type shape struct {
	policy  string
	tenths  histogram
	took    time.Duration
	release []string // after each outage
}

func checkShapes(t *testing.T, args string, want []shape) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // it starts on a whole second all the same
		begin := time.Now()
		r := sendAll(t, args)
		assert.Len(t, r.policies, len(want))
		var longest time.Duration
		for i, w := range want {
			got := r.policies[i]
			assert.Equal(t, w.policy, got.policy)
			assert.Equal(t, 10_000, got.sent)
			assert.Equal(t, w.tenths, got.tenths, w.policy)
			assert.Equal(t, w.took, got.took, w.policy)
			longest = max(longest, w.took)
			var release []string
			for _, lines := range r.resumed(got) {
				release = append(release, r.release(lines))
			}
			assert.Equal(t, w.release, release, w.policy)
		}
		assert.Equal(t, 700*time.Millisecond+longest, time.Since(begin), "they run at the same time")
	})
}

// The input has a line whenever one is asked for, but pauses from 4 s to 5 s and from 6 s to 7 s. A
// line that was taken before a pause goes in it, at its turn: hence the tenths of a single line.
//
// The leaky bucket spreads all it sends, and so never makes up for a pause. The token bucket sends
// what it has saved up, a second's worth, at once, and is then as even; so it is done first. The
// sliding window does nearly the same, but waits for a second after each burst. The other two
// send all of a second at once in any case.
func TestOutagesOfAGreedyInput(t *testing.T) {
	const ms = time.Millisecond
	bothAtOnce := []string{atOnce, atOnce}
	eachSecond := spans(1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1, 9, 0,
		1, 1000, 9, 0, 1, 1, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 998)
	checkShapes(t, "-policy all -lines 10000 -rate 1000 -outage 4s,6s", []shape{
		{
			"token-bucket",
			spans(1, 1099, 39, 100, 1, 1, 9, 0, 1, 1099, 9, 100, 1, 1, 9, 0, 1, 1099, 19, 100, 1, 1),
			9000 * ms, bothAtOnce,
		},
		{
			"leaky-bucket",
			spans(40, 100, 1, 1, 9, 0, 10, 100, 1, 1, 9, 0, 49, 100, 1, 98),
			11_997 * ms,
			[]string{spread, spread},
		},
		{"fixed-window", eachSecond, 11_000 * ms, bothAtOnce},
		{
			"sliding-window",
			spans(1, 1000, 9, 0, 30, 100, 1, 1, 9, 0, 1, 1000, 9, 0, 1, 1, 9, 0, 1, 1000, 9, 0, 39, 100, 1, 98),
			11_997*ms + 1, bothAtOnce,
		},
		{"sliding-log", eachSecond, 11_000 * ms, bothAtOnce},
	})
}

// The input offers a line each millisecond, as many as the rate allows. Those that come due in a
// pause are there at its end, a second's load. All policies let an even load pass evenly; here
// one sees what a pause does to it.
//
// The token bucket lets the load go at once and is even again. After the windows have let it go
// they are used up for a second, in which another load piles up. The sliding window then spreads
// it; the fixed window and the log send second by second from then on: they never become even
// again. The leaky bucket stays even, and late.
func TestOutagesOfASteadyInput(t *testing.T) {
	const ms = time.Millisecond
	bothAtOnce := []string{atOnce, atOnce}
	secondBySecond := spans(40, 100, 10, 0, 1, 1000, 9, 0, 1, 1, 9, 0,
		1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 1000, 9, 0, 1, 999)
	checkShapes(t, "-policy all -lines 10000 -offer 1000 -rate 1000 -outage 4s,6s", []shape{
		{
			"token-bucket",
			spans(40, 100, 10, 0, 1, 1099, 9, 100, 1, 1, 9, 0, 1, 1099, 29, 100, 1, 1),
			10_000 * ms, bothAtOnce,
		},
		{
			"leaky-bucket",
			spans(40, 100, 10, 0, 10, 100, 1, 1, 9, 0, 49, 100, 1, 99),
			11_998 * ms,
			[]string{spread, spread},
		},
		{"fixed-window", secondBySecond, 11_000 * ms, bothAtOnce},
		{
			"sliding-window",
			spans(40, 100, 10, 0, 1, 1000, 9, 0, 1, 1, 9, 0, 1, 1000, 9, 0, 39, 100, 1, 99),
			11_998*ms + 1, bothAtOnce,
		},
		{"sliding-log", secondBySecond, 11_000 * ms, bothAtOnce},
	})
}
