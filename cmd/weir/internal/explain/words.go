package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir"
)

// Words describes p in one line. The components of a policy follow, each indented by two spaces.
func Words(p weir.Policy) []string {
	switch p := p.(type) {
	case weir.TokenBucket:
		return []string{fmt.Sprintf("A token bucket: %s %s on average, and up to %s at once. A used event is back after %s.",
			events(p.Limit), a(p.Per), Count(orLimit(p.Burst, p.Limit)), Duration(each(p.Per, p.Limit)))}
	case weir.LeakyBucket:
		return []string{fmt.Sprintf("A leaky bucket: one event each %s, evenly spaced. Up to %s in its queue.",
			Duration(each(p.Per, p.Limit)), Plural(orLimit(p.Capacity, p.Limit), "event waits", "events wait"))}
	case weir.FixedWindow:
		if p.FromFirst {
			return []string{fmt.Sprintf("A fixed window: %s in %s that starts with the first event. All are back when it ends.",
				events(p.Limit), window(p.Per))}
		}
		return []string{fmt.Sprintf("A fixed window: %s in each window of %s, in UTC. All are back when it ends.",
			events(p.Limit), Exact(p.Per))}
	case weir.SlidingWindow:
		s := fmt.Sprintf("A sliding window: about %s in any %s, by an estimate", events(p.Limit), Exact(p.Per))
		if p.Buckets > 1 {
			return []string{s + fmt.Sprintf(" from %d sub-windows of %s.", p.Buckets, Exact(p.Per/time.Duration(p.Buckets)))}
		}
		return []string{s + " from this window and the one before it."}
	case weir.SlidingLog:
		return []string{fmt.Sprintf("A sliding log: at most %s in any %s, exactly.", events(p.Limit), Exact(p.Per))}
	case weir.CalendarWindow:
		return []string{calendarWords(p)}
	case weir.SingleRateMarker:
		return []string{fmt.Sprintf("A marker: %s %s on average. Up to %s at once are green, and %s more are yellow.",
			events(p.Committed.Limit), a(p.Committed.Per), Count(orLimit(p.Committed.Burst, p.Committed.Limit)), Count(p.Excess))}
	case weir.TwoRateMarker:
		return []string{
			"A marker: the second of these grants or denies. A grant is green if the first grants it, too, else yellow:",
			"  " + Words(p.Committed)[0],
			"  " + Words(p.Peak)[0],
		}
	}
	parts := weir.Components(p)
	if parts == nil {
		return []string{fmt.Sprintf("A policy of another package: %v.", p)}
	}
	lines := []string{"A request is granted if each of these grants it. A denial costs none of them:"}
	if IsTiers(p) {
		lines = []string{"A request counts in the first of these that grants it:"}
	}
	for _, part := range parts {
		for _, line := range Words(part) {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func calendarWords(p weir.CalendarWindow) string {
	zone := p.Location
	if zone == "" {
		zone = "UTC"
	}
	start := ""
	switch {
	case p.Unit == weir.Month && p.Start > 1:
		start = fmt.Sprintf(", from day %d", p.Start)
	case p.Unit == weir.Week:
		start = ", from " + time.Weekday(p.Start).String()
	case p.Unit == weir.Year && p.Start > 1:
		start = ", from " + time.Month(p.Start).String()
	}
	return fmt.Sprintf("A calendar window: %s in each %s of the calendar in %s%s. All are back when it ends.",
		events(p.Limit), p.Unit, zone, start)
}

// IsTiers reports whether p is composed by [weir.Tiers], whose text is the only thing that tells.
func IsTiers(p weir.Policy) bool {
	return weir.Components(p) != nil && strings.HasPrefix(fmt.Sprint(p), "tiers(")
}

func orLimit(n, limit int) int {
	if n == 0 {
		return limit
	}
	return n
}

// each is the time between two of n events in d, rounded up.
func each(d time.Duration, n int) time.Duration {
	e := d / time.Duration(n)
	if d%time.Duration(n) != 0 {
		e++
	}
	return e
}
