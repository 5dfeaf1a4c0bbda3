package explain

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir"
)

// A Client is what a new key gets that takes all it can at one instant, one event at a time, and
// then asks once more. The times depend on where in a window that instant is. Each pair has the
// shortest and the longest time over the instants that are tried: each eighth of a window, and its
// last nanosecond. Of policies composed of several windows, several of each are tried.
type Client struct {
	AtOnce     int // the events that it is granted, the most over these instants
	RetryAfter [2]time.Duration
	ResetAfter [2]time.Duration
}

// ClientOf returns the Client of p. An error is that of p's method Decider.
func ClientOf(p weir.Policy) (Client, error) {
	d, err := p.Decider()
	if err != nil {
		return Client{}, err
	}
	chunks := Chunks(p)
	c := Client{RetryAfter: [2]time.Duration{math.MaxInt64}, ResetAfter: [2]time.Duration{math.MaxInt64}}
	for _, now := range instants(p) {
		granted, denial := flood(d, now, chunks)
		c.AtOnce = max(c.AtOnce, granted)
		extend(&c.RetryAfter, denial.RetryAfter)
		extend(&c.ResetAfter, denial.ResetAfter)
	}
	return c, nil
}

func extend(r *[2]time.Duration, d time.Duration) {
	r[0], r[1] = min(r[0], d), max(r[1], d)
}

// flood takes all events there are at an instant: the chunks of the policy.
func flood(d weir.Decider, now int64, chunks []int) (granted int, denial weir.Result) {
	state := make([]uint64, d.Words())
	for _, n := range chunks {
		state, _ = d.Decide(state, now, weir.Ask{N: n})
		granted = sum(granted, n)
	}
	for { // a policy that is not known may have more
		var a weir.Answer
		if state, a = d.Decide(state, now, weir.Ask{N: math.MaxInt, Mode: weir.UpTo}); !a.Allowed {
			return granted, a.Result
		}
		granted = sum(granted, a.Granted)
	}
}

// instants are where windows of the policies in p start, end, and have parts of themselves behind
// them.
func instants(p weir.Policy) []int64 {
	var aligned []weir.Policy // to the clock; all others start with a request
	for _, leaf := range leaves(p) {
		switch l := leaf.(type) {
		case weir.FixedWindow:
			if !l.FromFirst {
				aligned = append(aligned, l)
			}
		case weir.SlidingWindow, weir.CalendarWindow:
			aligned = append(aligned, l)
		}
	}
	at := []int64{calendarFrom.UnixNano()}
	windows := 1
	if len(aligned) > 1 { // which may lie in any way to each other
		windows = max(64/len(aligned), 1)
	}
	for _, leaf := range aligned {
		start, length := int64(0), period(leaf)
		if c, ok := leaf.(weir.CalendarWindow); ok {
			start, length = longestWindow(c)
		} else {
			start = calendarFrom.UnixNano() - calendarFrom.UnixNano()%int64(length)
		}
		for i := 0; i < windows && start <= math.MaxInt64-int64(length); i++ {
			for eighth := range time.Duration(8) {
				at = append(at, start+int64(length/8*eighth))
			}
			at = append(at, start+int64(length)-1)
			start += int64(length)
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

func longestWindow(p weir.CalendarWindow) (start int64, length time.Duration) {
	if p.Unit == weir.Minute {
		return calendarFrom.UnixNano(), time.Minute
	}
	at := starts(p)
	for i := range at[1:] {
		if l := time.Duration(at[i+1] - at[i]); l > length {
			start, length = at[i], l
		}
	}
	return start, length
}

// period is the Per of a policy, or the shortest length of its unit in UTC. It is 0 for a policy of
// another package.
func period(p weir.Policy) time.Duration {
	switch p := p.(type) {
	case weir.TokenBucket:
		return p.Per
	case weir.LeakyBucket:
		return p.Per
	case weir.FixedWindow:
		return p.Per
	case weir.SlidingWindow:
		return p.Per
	case weir.SlidingLog:
		return p.Per
	case weir.SingleRateMarker:
		return p.Committed.Per
	case weir.TwoRateMarker:
		return p.Peak.Per
	case weir.CalendarWindow:
		const day = 24 * time.Hour
		return map[weir.Unit]time.Duration{
			weir.Minute: time.Minute, weir.Hour: time.Hour, weir.Day: day,
			weir.Week: 7 * day, weir.Month: 28 * day, weir.Year: 365 * day,
		}[p.Unit]
	}
	return 0
}
