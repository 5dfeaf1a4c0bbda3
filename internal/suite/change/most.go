package change

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weir-go/weir"
)

// plenty stands for any larger number of events.
const plenty = 1 << 29

// most returns the largest number that the policy grants, by SEMANTICS, in a span from s to t, both
// included. The last grant in it is of last events. Booked instants are rounded up, so two of them
// may be nearer by slack than they are.
func (p tree) most(s, t int64, last int, slack int64) int {
	switch p.form {
	case all: // the least of its parts: each counts all
		n := plenty
		for _, part := range p.parts {
			n = min(n, part.most(s, t, last, slack))
		}
		return n
	case tiers: // the sum: each event is paid by one
		n := 0
		for _, part := range p.parts {
			n = min(n+part.most(s, t, plenty, slack), plenty)
		}
		return n
	}
	d := t - s
	switch p := p.leaf.(type) {
	case weir.TokenBucket: // full, and what is earned
		return burst(p) + earned(p.Limit, p.Per, d+slack)
	case weir.LeakyBucket: // the outlet is occupied by all but the last
		return min(last, room(p)) + earned(p.Limit, p.Per, d+slack)
	case weir.FixedWindow:
		if p.FromFirst { // the first window may end right after s
			return timesOf(p.Limit, 1+ceil(d, int64(p.Per)))
		}
		return timesOf(p.Limit, t/int64(p.Per)-s/int64(p.Per)+1)
	case weir.SlidingWindow:
		return mostSliding(p, s, t)
	case weir.SlidingLog: // events that are W apart do not meet
		return timesOf(p.Limit, d/int64(p.Per)+1)
	case weir.CalendarWindow:
		return timesOf(p.Limit, int64(calendarIndex(p, t)-calendarIndex(p, s)+1))
	case weir.SingleRateMarker: // both buckets, which share one rate
		return burst(p.Committed) + p.Excess + earned(p.Committed.Limit, p.Committed.Per, d)
	case weir.TwoRateMarker: // what exceeds the peak is red
		return burst(p.Peak) + earned(p.Peak.Limit, p.Peak.Per, d)
	}
	panic(unknown(p.leaf))
}

// unknown is for a policy that the test has to learn.
func unknown(p weir.Policy) string { return fmt.Sprintf("package change does not know %#v", p) }

// mostSliding returns the smaller of two bounds. k sub-windows in a row never count more than the
// limit. Up to a whole window it is never fast.
func mostSliding(p weir.SlidingWindow, s, t int64) int {
	k := int64(or(p.Buckets, 1))
	w := int64(p.Per) / k
	n := timesOf(p.Limit, ceil(t/w-s/w+1, k))
	if d := t - s; d <= int64(p.Per) {
		n = min(n, p.Limit+earned(p.Limit, p.Per, d)+1)
	}
	return n
}

// earned returns the number of whole events that a rate grants in d.
func earned(limit int, per time.Duration, d int64) int {
	hi, lo := bits.Mul64(uint64(limit), uint64(d))
	if hi >= uint64(per) {
		return plenty
	}
	n, _ := bits.Div64(hi, lo, uint64(per))
	return int(min(n, uint64(plenty)))
}

// timesOf returns limit times n, or plenty.
func timesOf(limit int, n int64) int {
	if n > int64(plenty/max(limit, 1)) {
		return plenty
	}
	return limit * int(n)
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }

// calendarIndex numbers the windows of a calendar. Trials are in UTC.
func calendarIndex(p weir.CalendarWindow, at int64) int64 {
	sec := at / int64(time.Second)
	switch p.Unit {
	case weir.Minute:
		return sec / 60
	case weir.Hour:
		return sec / 3600
	case weir.Day:
		return sec / 86400
	case weir.Week: // the first day of the epoch was a Thursday
		return (sec/86400 + int64(time.Thursday) + 7 - int64(p.Start)) / 7
	case weir.Month:
		t := time.Unix(sec, 0).UTC()
		month, lastDay := int64(t.Year())*12+int64(t.Month()), time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if t.Day() < min(p.Start, lastDay) {
			month--
		}
		return month
	}
	panic(unknown(p))
}

// span returns the longest ResetAfter of a state that the policy leaves without debts, and without
// bookings beyond a queue's room. It is also the "own span" of R14, as an upper bound.
func (p tree) span() int64 {
	longest := int64(0)
	for _, part := range p.parts {
		longest = max(longest, part.span())
	}
	fill := func(n int, limit int, per time.Duration) int64 {
		return max(int64(per), int64(math.Ceil(float64(n)*float64(per)/float64(limit)))+1)
	}
	switch p := p.leaf.(type) {
	case weir.TokenBucket:
		return fill(burst(p), p.Limit, p.Per)
	case weir.LeakyBucket:
		return fill(2*room(p), p.Limit, p.Per)
	case weir.FixedWindow:
		return int64(p.Per)
	case weir.SlidingWindow:
		return int64(p.Per) + int64(p.Per)/int64(or(p.Buckets, 1))
	case weir.SlidingLog:
		return int64(p.Per)
	case weir.CalendarWindow:
		return int64(map[weir.Unit]time.Duration{
			weir.Minute: time.Minute, weir.Hour: time.Hour, weir.Day: 24 * time.Hour,
			weir.Week: 7 * 24 * time.Hour, weir.Month: 31 * 24 * time.Hour,
		}[p.Unit])
	case weir.SingleRateMarker:
		return fill(burst(p.Committed)+p.Excess, p.Committed.Limit, p.Committed.Per)
	case weir.TwoRateMarker:
		return max(fill(burst(p.Peak), p.Peak.Limit, p.Peak.Per), fill(burst(p.Committed), p.Committed.Limit, p.Committed.Per))
	case nil: // it is composed
		return longest
	}
	panic(unknown(p.leaf))
}
