package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/cmd/weir/internal/explain"
)

// Headers returns the status line and the rate limit fields with which package httplimit answers a
// request on which policy p has decided. The record must be an answer: granted, held back or denied.
// Headers writes them itself, because net/http would make the page three times as large. A test
// compares both.
func Headers(p weir.Policy, r *Record) string {
	told := r.Told
	if told == nil {
		told = []weir.Result{r.Result}
	}
	answer, parts := told[0], together(p)
	var quotas, states []string
	if parts == nil {
		quotas, states = []string{quota("default", p)}, []string{state("default", answer)}
	}
	for i, part := range parts {
		name := strings.TrimPrefix(fmt.Sprint(part), "token-bucket ")
		quotas = append(quotas, quota(name, part))
		switch {
		case answer.Allowed:
			states = append(states, state(name, told[1+i]))
		case i == answer.DecidedBy: // nothing remains of it, and its time is that of the answer
			states = append(states, state(name, answer))
		}
	}
	status, retryAfter := "200 OK", ""
	if !answer.Allowed {
		status = "429 Too Many Requests"
		if answer.RetryAfter != weir.Never {
			retryAfter = fmt.Sprintf("Retry-After: %d\n", seconds(effective(answer)))
		}
	}
	return fmt.Sprintf("HTTP/1.1 %s\nRateLimit-Policy: %s\nRateLimit: %s\n%s",
		status, strings.Join(quotas, ", "), strings.Join(states, ", "), retryAfter)
}

// together returns the parts of a policy that all hold at once: those of [weir.All], and the only
// one of [weir.Tiers]. For other policies it returns nil.
func together(p weir.Policy) []weir.Policy {
	parts := weir.Components(p)
	if len(parts) > 1 && explain.IsTiers(p) {
		return nil
	}
	return parts
}

// quota is the member of RateLimit-Policy for a policy.
func quota(name string, p weir.Policy) string {
	d, err := p.Decider()
	if err != nil {
		return ""
	}
	_, look := d.Decide(make([]uint64, d.Words()), 0, weir.Ask{})
	return fmt.Sprintf("%q;q=%d;w=%d", name, integer(look.Limit), max(seconds(comesBack(p, look.Limit)), 1))
}

// state is the member of RateLimit for a result.
func state(name string, r weir.Result) string {
	return fmt.Sprintf("%q;r=%d;t=%d", name, integer(r.Remaining), seconds(effective(r)))
}

// integer is n, or the largest number that a field may have.
func integer(n int) int { return min(n, 999_999_999_999_999) }

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
