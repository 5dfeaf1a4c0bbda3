package explain

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// These are the rows of the table "How much over the limit" in docs/choosing.md, which a test of
// package weir computes from what an attacker gets.
func TestMostIsAsInChoosing(t *testing.T) {
	for _, tt := range []struct {
		policy string
		most   [4]int // at once, in 10ms, in 900ms, in 1s
	}{
		{"100/1s", [4]int{100, 100, 189, 199}},
		{"token-bucket 100/1s burst=10", [4]int{10, 10, 99, 109}},
		{"leaky-bucket 100/1s", [4]int{1, 1, 90, 100}},
		{"fixed-window 100/1s", [4]int{100, 200, 200, 200}},
		{"fixed-window 100/1s from-first", [4]int{100, 199, 199, 199}},
		{"sliding-window 100/1s", [4]int{100, 101, 190, 200}},
		{"sliding-window 100/1s buckets=10", [4]int{100, 100, 100, 200}},
		{"sliding-log 100/1s", [4]int{100, 100, 100, 100}},
	} {
		p, err := Parse(tt.policy)
		require.NoError(t, err)
		c, err := ClientOf(p)
		require.NoError(t, err)
		assert.Equal(t, tt.most, [4]int{c.AtOnce, Most(p, 10*ms), Most(p, 900*ms), Most(p, s)}, tt.policy)
	}
}

// A walker asks a policy for single events at instants of its choice.
type walker struct {
	decider weir.Decider
	state   []uint64
	wait    time.Duration // books so far ahead, as callers of Wait do
	granted []time.Duration
}

func (w *walker) take(at time.Duration) (retryAfter time.Duration) {
	var a weir.Answer
	w.state, a = w.decider.Decide(w.state, calendarFrom.UnixNano()+int64(at), weir.Ask{N: 1, MaxWait: w.wait})
	if a.Allowed {
		w.granted = append(w.granted, at+a.Delay)
	}
	return a.RetryAfter
}

func (w *walker) takeAll(from, to time.Duration) {
	for at := from; at < to; {
		at += w.take(at)
	}
}

func (w *walker) busiest(span time.Duration) int {
	most, first := 0, 0
	for i, at := range w.granted {
		for w.granted[first] <= at-span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

var walked = []weir.Policy{
	weir.TokenBucket{Limit: 7, Per: s},
	weir.TokenBucket{Limit: 7, Per: s, Burst: 3},
	weir.LeakyBucket{Limit: 7, Per: s},
	weir.FixedWindow{Limit: 7, Per: s},
	weir.FixedWindow{Limit: 7, Per: s, FromFirst: true},
	weir.FixedWindow{Limit: 1, Per: s, FromFirst: true},
	weir.SlidingWindow{Limit: 7, Per: s},
	weir.SlidingWindow{Limit: 7, Per: s, Buckets: 5},
	weir.SlidingLog{Limit: 7, Per: s},
	weir.CalendarWindow{Limit: 7, Unit: weir.Minute},
	weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 7, Per: s, Burst: 4}, Excess: 2},
	weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 3, Per: s}, Peak: weir.TokenBucket{Limit: 7, Per: s, Burst: 5}},
	weir.All(weir.TokenBucket{Limit: 3, Per: s}, weir.TokenBucket{Limit: 60, Per: time.Minute, Burst: 7}),
	weir.Tiers(weir.TokenBucket{Limit: 3, Per: s}, weir.SlidingLog{Limit: 4, Per: 2 * s}),
}

var walkedSpans = []time.Duration{1, 2, 3, 300 * ms, 800 * ms, 801 * ms, s - 1, s, s + 1, s + 2, s + 300*ms, 2 * s, 2*s + 2, 2*s + 900*ms}

// The worst case is reached, and not exceeded, by clients that save up, open a window before, and
// then take all there is from an instant near a boundary on.
func TestMostIsWhatAnAttackerGets(t *testing.T) {
	for _, p := range walked {
		d, err := p.Decider()
		require.NoError(t, err)
		got := map[time.Duration]int{}
		for _, opener := range []int{0, 1} {
			for _, at := range []time.Duration{0, 1, s / 5, s/5 - 1, s / 2, s - 1, s, 60*s - 1} {
				for _, wait := range []time.Duration{0, s} {
					w := walker{decider: d, state: make([]uint64, d.Words()), wait: wait}
					for range opener {
						w.take(0)
					}
					w.takeAll(at, at+5*s)
					for _, span := range walkedSpans {
						got[span] = max(got[span], w.busiest(span))
					}
				}
			}
		}
		for _, span := range walkedSpans {
			assert.Equal(t, Most(p, span), got[span], "%v in %v", p, span)
		}
	}
}

func TestMostIsNeverExceeded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, p := range walked {
		d, err := p.Decider()
		require.NoError(t, err)
		for range 100 {
			w := walker{decider: d, state: make([]uint64, d.Words()), wait: time.Duration(rnd.IntN(2)) * s}
			for at := time.Duration(0); at < 6*s; {
				if rnd.IntN(3) == 0 {
					w.takeAll(at, at+1)
				} else {
					w.take(at)
				}
				switch rnd.IntN(3) {
				case 0:
					at += time.Duration(rnd.Int64N(int64(s)))
				case 1:
					at = at.Truncate(s/5) + s/5 - time.Duration(rnd.IntN(2))
				case 2:
					at += time.Duration(rnd.IntN(3))
				}
			}
			for _, span := range walkedSpans {
				require.LessOrEqual(t, w.busiest(span), Most(p, span), "%v in %v", p, span)
			}
		}
	}
}

func TestMostOfTheCalendar(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		policy string
		span   time.Duration
		most   int
	}{
		{"calendar-window 1/month", 1, 1},
		{"calendar-window 1/month", day, 2},
		{"calendar-window 1/month", 28*day + 1, 2},
		{"calendar-window 1/month", 28*day + 2, 3}, // the last instant of January, February, the first of March
		{"calendar-window 1/month", 365 * day, 13},
		{"calendar-window 1/month", 365*day + 2, 14}, // from the last instant of a year to the first after the next
		{"calendar-window 1/day location=Europe/Berlin", 23*time.Hour + 2, 3},
		{"calendar-window 1/day", 23*time.Hour + 2, 2},
		{"calendar-window 1/hour", time.Hour + 2, 3},
		{"calendar-window 1/hour location=Australia/Lord_Howe", time.Hour/2 + 2, 3},
		{"calendar-window 1/minute", time.Minute, 2},
		{"calendar-window 1/year", 365*day + 2, 3},
		{"calendar-window 1/week", 7*day + 2, 3},
		{"calendar-window 1/hour", 10 * 365 * day, 87602},
	} {
		p, err := weir.ParsePolicy(tt.policy)
		require.NoError(t, err)
		assert.Equal(t, tt.most, Most(p, tt.span), "%s in %v", tt.policy, tt.span)
	}
}

func TestMostOfHugeLimits(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: math.MaxInt, Per: s},
		weir.FixedWindow{Limit: math.MaxInt, Per: s},
		weir.FixedWindow{Limit: math.MaxInt, Per: s, FromFirst: true},
		weir.SlidingWindow{Limit: math.MaxInt, Per: s},
		weir.Tiers(weir.SlidingLog{Limit: math.MaxInt, Per: s}, weir.SlidingLog{Limit: 1, Per: s}),
	} {
		assert.Equal(t, math.MaxInt, Most(p, math.MaxInt64), "%v", p)
	}
	assert.Equal(t, 0, Most(weir.SlidingLog{Limit: 1, Per: s}, 0))
}
