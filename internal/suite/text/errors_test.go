package text_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
)

func TestText_ErrorsShowThePlace(t *testing.T) {
	const (
		kind     = "must be a rate such as 100/1m, token-bucket, leaky-bucket, fixed-window, sliding-window"
		rate     = "must be a rate such as 100/1m"
		duration = "must be a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w"
		tooLong  = "must be at most 106751d23h47m16.854775807s"
	)
	number := fmt.Sprintf("must be a whole number from 1 to %d", math.MaxInt)
	for _, test := range []struct{ text, want string }{
		{"", "at byte 0, the end: " + kind},
		{"  ", "at byte 2, the end: " + kind},
		{"100", `at byte 0, "100": ` + kind},
		{"token_bucket 100/1m", `at byte 0, "token_bucket": ` + kind},
		{"Token-Bucket 100/1m", `at byte 0, "Token-Bucket": ` + kind},
		{"(100/1m)", `at byte 0, "(": ` + kind},
		{"no\x00\xffne", `at byte 0, "no\x00\xffne": ` + kind},
		{"token-bucket", "at byte 12, the end: " + rate},
		{"token-bucket  ", "at byte 14, the end: " + rate},
		{"token-bucket burst=20 100/1m", `at byte 13, "burst=20": ` + rate},
		{"token-bucket(100/1m)", `at byte 12, "(": ` + rate},
		{"100 / 1m", `at byte 0, "100": ` + kind},

		{"/1m", `at byte 0, "": ` + number},
		{"1e3/1m", `at byte 0, "1e3": ` + number},
		{"-1/1m", `at byte 0, "-1": ` + number},
		{"+1/1m", `at byte 0, "+1": ` + number},
		{"1_000/1m", `at byte 0, "1_000": ` + number},
		{"sliding-log  9223372036854775808/1m", `at byte 13, "9223372036854775808": ` + number},

		{"100/", "at byte 4, the end: " + duration},
		{"100/ burst=2", `at byte 4, "": ` + duration},
		{"100/60", `at byte 4, "60": ` + duration},
		{"100/min", `at byte 4, "min": ` + duration},
		{"100/1month", `at byte 4, "1month": ` + duration},
		{"100/1m/1h", `at byte 4, "1m/1h": ` + duration},
		{"100/1d1w", `at byte 4, "1d1w": ` + duration},
		{"100/1d-1h", `at byte 4, "1d-1h": ` + duration},
		{"100/1d.5h", `at byte 4, "1d.5h": ` + duration},
		{"100/1.5d", `at byte 4, "1.5d": ` + duration},
		{"100/-1d", `at byte 4, "-1d": ` + duration},
		{"100/1h1d", `at byte 4, "1h1d": ` + duration},
		{"100/106752d", `at byte 4, "106752d": ` + tooLong},
		{"100/2562048h", `at byte 4, "2562048h": ` + tooLong},
		{"100/1d1.5h9999999999999999999999ms", `at byte 4, "1d1.5h9999999999999999999999ms": ` + tooLong},
		{"100/-106752d", `at byte 4, "-106752d": ` + duration},
		{"100/106752d5", `at byte 4, "106752d5": ` + duration},
		{"100/15251w", `at byte 4, "15251w": ` + tooLong},
		{"100/15250w2d", `at byte 4, "15250w2d": ` + tooLong},
		{"100/106751d23h47m16s854ms775us808ns", `at byte 4, "106751d23h47m16s854ms775us808ns": ` + tooLong},
		{"100/99999999999999999999w", `at byte 4, "99999999999999999999w": ` + tooLong},

		{"token-bucket 100/1m bur=20", `at byte 20, "bur=20": must be burst=N or the end`},
		{"100/1m burst", `at byte 7, "burst": must be burst=N or the end`},
		{"100/1m burst=", "at byte 13, the end: " + number},
		{"100/1m burst= x", `at byte 13, "": ` + number},
		{"100/1m burst=abc", `at byte 13, "abc": ` + number},
		{"100/1m burst=0", `at byte 13, "0": ` + number},
		{"100/1m burst=-1", `at byte 13, "-1": ` + number},
		{"100/1m burst=2=3", `at byte 13, "2=3": ` + number},
		{"100/1m burst=2 burst=3", `at byte 15, "burst=3": must be the end`},
		{"100/1m, 200/1h", `at byte 6, ",": must be burst=N or the end`},
		{"100/1m)", `at byte 6, ")": must be burst=N or the end`},
		{"leaky-bucket 10/1s burst=5", `at byte 19, "burst=5": must be capacity=N or the end`},
		{"fixed-window 10/1s from-first=true", `at byte 19, "from-first=true": must be from-first or the end`},
		{"sliding-window 10/1s from-first", `at byte 21, "from-first": must be buckets=N or the end`},
		{"sliding-log 10/1s buckets=1", `at byte 18, "buckets=1": must be the end`},

		{"calendar-window 10/1mo", `at byte 19, "1mo": must be minute, hour, day, week, month or year`},
		{"calendar-window 10/month start=x", `at byte 31, "x": must be a whole number: the day of a month, 0 to 6 for Sunday to Saturday, or the month of a year`},
		{"calendar-window 10/month location= start=1", `at byte 34, "": must be the name of a time zone, such as Europe/Berlin`},
		{"calendar-window 10/month zone=UTC", `at byte 25, "zone=UTC": must be location=ZONE, start=N or the end`},
		{"calendar-window 0/day", `at byte 0, "calendar-window 0/day": weir.CalendarWindow.Limit is 0, must be at least 1`},
		{"0/0s", `at byte 0, "0/0s": weir.TokenBucket.Limit is 0, must be at least 1; weir.TokenBucket.Per is 0s, must be at least 1ns`},
		{"sliding-log 5/-1m ", `at byte 0, "sliding-log 5/-1m": weir.SlidingLog.Per is -1m0s, must be at least 1ns`},
		{" sliding-window 0/1m  buckets=7", `at byte 1, "sliding-window 0/1m  buckets=7": weir.SlidingWindow.Limit is 0, must be at least 1; weir.SlidingWindow.Buckets is 7, must be a divisor of Per, 1m0s`},
		{"sliding-window 1/1h buckets=120000", `at byte 0, "sliding-window 1/1h buckets=120000": weir.SlidingWindow.Buckets is 120000, must be from 0 to 100000`},
	} {
		p, err := weir.ParsePolicy(test.text)
		assert.Nil(t, p, test.text)
		want := fmt.Sprintf("weir: policy %q: %s", test.text, test.want)
		if strings.HasSuffix(test.want, kind) {
			assert.ErrorContains(t, err, want) // and the kinds that are composed of others
		} else {
			assert.EqualError(t, err, want)
		}
	}
}

// An error shows the bytes of a text in quotes only. A name from a stranger could otherwise end the
// line of a log, or send commands to a terminal.
func TestText_ErrorsAreOneLine(t *testing.T) {
	for _, c := range []string{"\v", "\f", "\x1b[2J", "\u0085", "\u2028", "\xff"} {
		_, err := weir.ParsePolicy("calendar-window 5/day location=Mars" + c)
		assert.ErrorContains(t, err, "time zone")
		assert.NotContains(t, err.Error(), c)
	}
}

func TestText_ErrorsInCompositions(t *testing.T) {
	const endOrMore = `must be "," or ")"`
	for text, want := range map[string]string{
		"all":                                `at byte 3, the end: must be "("`,
		"all 300/1m":                         `at byte 4, "300/1m": must be "("`,
		"all(":                               `at byte 4, the end: must be a rate such as 100/1m, `,
		"all()":                              `at byte 4, ")": must be a rate such as 100/1m, `,
		"all(300/1m":                         `at byte 10, the end: ` + endOrMore,
		"all(300/1m, ":                       `at byte 12, the end: must be a rate`,
		"all(300/1m,)":                       `at byte 11, ")": must be a rate`,
		"all(300/1m 5)":                      `at byte 11, "5": must be burst=N, "," or ")"`,
		"all(sliding-log 5/1m (":             `at byte 21, "(": must be "," or ")"`,
		"all(all(300/1m) 5/1m)":              `at byte 16, "5/1m": ` + endOrMore,
		"all(300/1m) burst=5":                `at byte 12, "burst=5": must be the end`,
		"all(300/1m))":                       `at byte 11, ")": must be the end`,
		"all(300/, 5/1m)":                    `at byte 8, "": must be a duration`,
		"all(300/1m, 0/1h)":                  `at byte 12, "0/1h": weir.TokenBucket.Limit is 0, must be at least 1`,
		"300/1m all(300/1m)":                 `at byte 7, "all": must be burst=N or the end`,
		strings.Repeat("all(", 9) + "300/1m": `at byte 35, "(": must be at most 8 deep in brackets`,
		strings.Repeat("all(", 1023):         `at byte 35, "(": must be at most 8 deep in brackets`,

		"tiers(300/1m, 0/1h)":                     `at byte 14, "0/1h": weir.TokenBucket.Limit is 0, must be at least 1`,
		"two-rate-marker 300/1m":                  `at byte 16, "300/1m": must be "("`,
		"two-rate-marker":                         `at byte 15, the end: must be "("`,
		"two-rate-marker(300/1m)":                 `at byte 15, "(300/1m)": must be two token-buckets, committed and peak`,
		"two-rate-marker(1/1m, sliding-log 1/1s)": `at byte 15, "(1/1m, sliding-log 1/1s)": must be two token-buckets, committed and peak`,
		"two-rate-marker(2/1s, 1/1s)":             `at byte 0, "two-rate-marker(2/1s, 1/1s)": weir.TwoRateMarker.Peak is 1/1s, must be at least as fast as Committed, 2/1s`,
		"single-rate-marker 300/1m excess=0":      `at byte 33, "0": must be a whole number from 1`,
	} {
		_, err := weir.ParsePolicy(text)
		assert.ErrorContains(t, err, want, text)
	}
}
