package httplimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is the default of Transport.Hold. It returns how long Retry-After asks to wait, if the
// status is 429 or 503. It returns 0 if the status is another, or if the field is missing,
// malformed or in the past.
func RetryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		return retryAfter(resp.Header, time.Now())
	}
	return 0
}

// UsedUp is for Transport.Hold. It returns the longest of these times, or 0 if there is none:
//
//   - Retry-After and Retry-After-Ms, if the status is 429, 503 or 403. GitHub uses 403.
//   - In the field RateLimit: the parameter t of a member whose r is 0. In its older form (revision
//     7 of the draft): reset, if remaining is 0.
//   - The reset of a limit that is used up, in RateLimit-Reset, X-RateLimit-Reset,
//     X-Rate-Limit-Reset, the fields of OpenAI for requests and tokens, and those of Anthropic.
//     These kinds of reset are understood: seconds, a Unix time in seconds or milliseconds, a
//     duration such as 6m0s, a time such as 2027-03-04T12:00:00Z, and a date as in Retry-After.
//     Numbers may have decimals.
//
// With UsedUp, the Transport holds back requests that the server would probably deny. If the fields
// of a server mean something else, UsedUp misreads them: look at the server's documentation first.
// Malformed values are ignored.
func UsedUp(resp *http.Response) time.Duration {
	h, now := resp.Header, time.Now()
	longest := time.Duration(0)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden:
		longest = max(retryAfter(h, now), inUnits(h.Get("Retry-After-Ms"), time.Millisecond))
	}
	for _, line := range h[rateLimitField] {
		var remaining, reset string // of revision 7
		for rest, more := line, true; more; {
			var member string
			member, rest, more = cutLastElement(rest)
			if r, t := limitParams(member); r == "0" {
				longest = max(longest, inUnits(t, time.Second))
			}
			switch name, value, _ := strings.Cut(strings.Trim(member, " \t"), "="); name {
			case "remaining":
				remaining = value
			case "reset":
				reset = value
			}
		}
		if remaining == "0" {
			longest = max(longest, inUnits(reset, time.Second))
		}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil { // the resets are times of the server's clock
		now = date
	}
	for _, f := range resets {
		if isZero(strings.Trim(h.Get(f.remaining), " \t")) {
			longest = max(longest, untilReset(strings.Trim(h.Get(f.reset), " \t"), now))
		}
	}
	return longest
}

// resets are the fields of limits of which nothing may remain.
var resets = [...]struct{ remaining, reset string }{
	{"Ratelimit-Remaining", "Ratelimit-Reset"},
	{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"},
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
}

// retryAfter returns how long after now the Retry-After of an answer is, or 0 if it has none. The
// field contains seconds or a date. Some servers send decimals, which the standard does not allow.
// A date is a time of the server's clock, and is compared with the Date of the answer, if it has
// one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.Trim(h.Get("Retry-After"), " \t")
	if after := inUnits(value, time.Second); after > 0 {
		return after
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}

// inUnits returns a number of units, which may have decimals. It returns 0 if value is no such
// number. The result is rounded up to a nanosecond; decimals after the ninth are ignored.
func inUnits(value string, unit time.Duration) time.Duration {
	whole, decimals, _ := strings.Cut(strings.Trim(value, " \t"), ".")
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(decimals, "0123456789") != "" {
		return 0
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) { // more than an int64 holds
		return math.MaxInt64
	}
	billionths, _ := strconv.ParseInt((decimals + "000000000")[:9], 10, 64) // digits alone
	after, rest := n*int64(unit), (billionths*int64(unit)+999_999_999)/1_000_000_000
	return time.Duration(after + min(rest, math.MaxInt64-after))
}

// isZero reports whether value is the number 0, which may have decimals.
func isZero(value string) bool {
	whole, decimals, _ := strings.Cut(value, ".")
	return whole != "" && strings.Trim(whole+decimals, "0") == ""
}

// sinceEpoch is the least number that is a Unix time. It cannot be a number of seconds to wait,
// because that would be over 28 years. A number that is one in milliseconds cannot be one in
// seconds, because that would be after the year 30000. Bubbles of testing/synctest begin in 2000,
// which is after it.
const sinceEpoch = 900_000_000 * time.Second

// untilReset returns how long after now a reset is, or 0 if it has passed or is malformed.
func untilReset(value string, now time.Time) time.Duration {
	for _, unit := range [...]time.Duration{time.Millisecond, time.Second} {
		if d := inUnits(value, unit); d >= sinceEpoch {
			return max(time.Unix(0, int64(d)).Sub(now), 0)
		}
	}
	if d := inUnits(value, time.Second); d > 0 {
		return d
	}
	if d, err := time.ParseDuration(value); err == nil {
		return max(d, 0)
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		at, err = http.ParseTime(value)
	}
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// limitParams returns the parameters r and t of a member of RateLimit, such as "default";r=50;t=1.
func limitParams(member string) (r, t string) {
	_, rest := cutParam(member) // the name
	for rest != "" {
		var param string
		param, rest = cutParam(rest)
		switch name, value, _ := strings.Cut(strings.Trim(param, " \t"), "="); name {
		case "r":
			r = value
		case "t":
			t = value
		}
	}
	return r, t
}

// cutParam cuts s at the first semicolon that is not in a quoted string. A quote that is never
// closed ends the search: to look for others behind it would take time that grows with the square
// of the length, which a server chooses.
func cutParam(s string) (param, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			end := closingQuote(s[i:])
			if end < 0 {
				return s, ""
			}
			i += end
		case ';':
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
