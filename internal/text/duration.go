package text

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the units of a duration, the longest first. Package time does not have the first two.
var units = [...]struct {
	name   string
	length time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
}

// formatDuration returns d in the largest unit in which it is a whole number.
func formatDuration(d time.Duration) string {
	for _, u := range units {
		if d != 0 && d%u.length == 0 {
			return strconv.FormatInt(int64(d/u.length), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// parseDuration reads a duration as time.ParseDuration does, and also weeks and days. If there is
// no number before the first unit, it stands for one of that unit.
func parseDuration(s string) (time.Duration, bool) {
	if s != "" && !strings.ContainsRune("0123456789.+-", rune(s[0])) {
		s = "1" + s
	}
	var total time.Duration
	for _, u := range units[:2] {
		digits, rest, ok := strings.Cut(s, u.name)
		if !ok {
			continue
		}
		n, ok := parseCount(digits)
		if !ok || int64(n) > int64((math.MaxInt64-total)/u.length) {
			return 0, false
		}
		if total += time.Duration(n) * u.length; rest == "" {
			return total, true
		}
		if rest[0] < '0' || rest[0] > '9' {
			return 0, false
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > math.MaxInt64-total {
		return 0, false
	}
	return total + d, true
}

// longest is the longest duration that parseDuration reads.
const longest = "106751d23h47m16.854775807s"

// tooLong reports whether s, which parseDuration does not read, would be a duration if its numbers
// were small.
func tooLong(s string) bool {
	isDigit := func(i int) bool { return '0' <= s[i] && s[i] <= '9' }
	var small []byte
	for i := range len(s) {
		switch {
		case !isDigit(i):
			small = append(small, s[i])
		case i == 0 || !isDigit(i-1):
			small = append(small, '1')
		}
	}
	_, ok := parseDuration(string(small))
	return ok && !strings.HasPrefix(s, "-")
}
