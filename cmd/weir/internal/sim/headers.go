package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// Headers returns the status line and the fields that package httplimit answers a request with. It
// writes them itself, because net/http would make the page three times as large. A test compares
// both. A policy composed by [weir.All] is written as one limit: a record does not have the results
// of its parts.
func Headers(p weir.Policy, r weir.Result) string {
	var b strings.Builder
	if r.Allowed {
		b.WriteString("HTTP/1.1 200 OK\n")
	} else {
		b.WriteString("HTTP/1.1 429 Too Many Requests\n")
	}
	fmt.Fprintf(&b, "RateLimit-Policy: \"default\";q=%d", r.Limit)
	if w := window(p); w > 0 {
		fmt.Fprintf(&b, ";w=%d", max(seconds(w), 1))
	}
	fmt.Fprintf(&b, "\nRateLimit: \"default\";r=%d;t=%d\n", r.Remaining, seconds(effective(r)))
	if !r.Allowed && r.RetryAfter != weir.Never {
		fmt.Fprintf(&b, "Retry-After: %d\n", seconds(effective(r)))
	}
	return b.String()
}

// window is the time in which a used-up key has its allowance back, or 0 for a policy composed by
// [weir.All], of which httplimit tells each part.
func window(p weir.Policy) time.Duration {
	d, err := p.Decider()
	if err != nil || weir.Components(p) != nil && !explain.IsTiers(p) {
		return 0
	}
	_, look := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{})
	return comesBack(p, look.Limit)
}

// comesBack is the time in which a key that used n events of p has them back.
func comesBack(p weir.Policy, n int) (back time.Duration) {
	switch p := p.(type) {
	case weir.SlidingWindow:
		return p.Per
	case weir.CalendarWindow:
		return longest(p.Unit)
	}
	d, err := p.Decider()
	if err != nil {
		return 0
	}
	var results []weir.Result
	_, all := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{N: n, ByComponent: &results})
	parts := weir.Components(p)
	if parts == nil {
		return all.ResetAfter
	}
	for i, part := range parts {
		if results[i].ResetAfter > 0 { // else no event was charged to it
			back = max(back, comesBack(part, n))
		}
	}
	return back
}

// longest is the length of the longest unit of its kind.
func longest(u weir.Unit) time.Duration {
	const day = 24 * time.Hour
	return map[weir.Unit]time.Duration{
		weir.Minute: time.Minute, weir.Hour: time.Hour, weir.Day: day,
		weir.Week: 7 * day, weir.Month: 31 * day, weir.Year: 366 * day,
	}[u]
}

// effective is the effective window of an answer.
func effective(r weir.Result) time.Duration {
	switch {
	case !r.Allowed && r.RetryAfter != weir.Never:
		return max(r.RetryAfter, 1)
	case r.Allowed && r.MoreAfter > 0:
		return r.MoreAfter
	case r.Allowed && r.Remaining >= r.Limit:
		return 0
	}
	return max(r.ResetAfter, 0)
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}
