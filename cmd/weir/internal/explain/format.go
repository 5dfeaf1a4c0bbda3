package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Exact writes d for people without rounding, such as 1h10s, 1m30s or 1.5s.
func Exact(d time.Duration) string {
	s := ""
	if days := d / (24 * time.Hour); days > 0 {
		s, d = strconv.FormatInt(int64(days), 10)+"d", d%(24*time.Hour)
	}
	if hours := d / time.Hour; hours > 0 {
		s, d = s+strconv.FormatInt(int64(hours), 10)+"h", d%time.Hour
	}
	if minutes := d / time.Minute; minutes > 0 {
		s, d = s+strconv.FormatInt(int64(minutes), 10)+"m", d%time.Minute
	}
	if d > 0 || s == "" {
		s += d.String()
	}
	return s
}

// Duration writes d for people, rounded. From a minute on it uses at most two units, such as 1h30m.
// Below, it uses one unit with at most three decimals, such as 1.5s or 200ms.
func Duration(d time.Duration) string {
	units := []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}}
	for i, u := range units {
		if d < u.length {
			continue
		}
		step := u.length / 1000
		if u.length > time.Second { // such as 1h30m
			step = units[i+1].length
		}
		if rounded := d.Round(step); rounded != d {
			return Duration(rounded) // may be one of the unit above: 1m, not 60s
		}
		whole, rest := strconv.FormatInt(int64(d/u.length), 10)+u.name, d%u.length
		switch {
		case rest == 0:
			return whole
		case u.length > time.Second:
			return whole + strconv.FormatInt(int64(rest/step), 10) + units[i+1].name
		}
		s := strconv.FormatFloat(float64(d)/float64(u.length), 'f', 3, 64)
		return strings.TrimRight(s, "0") + u.name
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// Count writes n with commas, such as 6,000,000.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural is "1 event" or "5,000 events".
func Plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + more
}

func events(n int) string { return Plural(n, "event", "events") }

var names = map[time.Duration]string{
	time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day", 7 * 24 * time.Hour: "week",
}

// a is "a minute" or "each 90s".
func a(d time.Duration) string {
	switch name := names[d]; name {
	case "":
		return "each " + Exact(d)
	case "hour":
		return "an hour"
	default:
		return "a " + name
	}
}

func window(d time.Duration) string { return fmt.Sprintf("a window of %s", Exact(d)) }
