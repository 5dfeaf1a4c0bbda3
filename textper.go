package weir

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// perUnits are the units of a duration, the longest first. The first two are those that package time
// does not have.
var perUnits = [...]struct {
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

// perText is d in the largest unit in which it is a whole number.
func perText(d time.Duration) string {
	for _, u := range perUnits {
		if d != 0 && d%u.length == 0 {
			return strconv.FormatInt(int64(d/u.length), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// parsePer reads a duration as time.ParseDuration does, with weeks and days before its units. A unit
// alone is one of it.
func parsePer(s string) (time.Duration, bool) {
	if s != "" && !strings.ContainsRune("0123456789.+-", rune(s[0])) {
		s = "1" + s
	}
	var total time.Duration
	for _, u := range perUnits[:2] {
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

// longestPer is the longest duration that parsePer reads.
const longestPer = "106751d23h47m16.854775807s"

// tooLong reports whether s, which parsePer does not read, would be a duration if its numbers were small.
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
	_, ok := parsePer(string(small))
	return ok && !strings.HasPrefix(s, "-")
}
