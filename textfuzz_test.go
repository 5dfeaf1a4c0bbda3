package weir

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestText_Composed(t *testing.T) {
	minute, hour := TokenBucket{Limit: 300, Per: time.Minute}, TokenBucket{Limit: 15750, Per: time.Hour}
	log := SlidingLog{Limit: 5, Per: time.Minute}
	nested := All(minute, All(hour, log), FixedWindow{Limit: 1, Per: time.Second, FromFirst: true})
	for text, want := range map[string]Policy{
		"all(300/1m, 15750/1h)": All(minute, hour),
		"all(300/1m)":           All(minute),
		" all (\n300/1m ,all( 15750/1h,sliding-log 5/1m ) , fixed-window 1/1s from-first\n) ": nested,
		"all(300/1m, all(15750/1h, sliding-log 5/1m), fixed-window 1/1s from-first)":          nested,
	} {
		p, err := ParsePolicy(text)
		require.NoError(t, err)
		require.Equal(t, want, p, text)
	}
	require.Equal(t, "(300/1m, sliding-log 5/1m)", partsText([]Policy{minute, log}))

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
	} {
		_, err := ParsePolicy(text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := ParsePolicy(strings.Repeat("all(", 8) + "300/1m" + strings.Repeat(")", 8))
	require.NoError(t, err)
}

// FuzzParsePolicy reads any text. An error shows a place of it; a policy is one that New takes, and
// the same one when it is printed and read again.
func FuzzParsePolicy(f *testing.F) {
	for _, seed := range []string{
		"300/1m", "token-bucket 100/1m burst=20", "leaky-bucket 10/1s capacity=50", "fixed-window 1000/1h from-first",
		"sliding-window 100/1m buckets=6", "sliding-log 5/1w1d1h", "all(300/1m, all(1/s, sliding-log 5/d))",
		"sliding-window 0/1m buckets=7", "all(300/ burst=2", "fixed-window 1/µs from-first=", "1/1.5h burst=x",
		"9223372036854775807/15250w1d23h47m16s854ms775us807ns", strings.Repeat("all(", 9), "all(1/1m\xff)", "",
		"two-rate-marker(10/s, 20/s burst=40)", "two-rate-marker 1/s", "two-rate-marker(1/s)", "tiers(300/1m, sliding-log 9/1h)",
		"single-rate-marker 10/s burst=20 excess=40", "calendar-window 1000/month location=Europe/Berlin start=15",
	} {
		f.Add(seed)
	}
	place := regexp.MustCompile(`: at byte (\d+), (the end|"(?:[^"\\]|\\.)*"): \w`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy(text)
		switch {
		case err == nil:
			_, err = p.Decider()
			require.NoError(t, err)
			printed := policyText(p)
			again, err := ParsePolicy(printed)
			require.NoError(t, err)
			require.Equal(t, p, again, printed)
			require.Equal(t, printed, policyText(again))
		case len(text) > maxPolicyText:
			require.Nil(t, p)
		default:
			require.Nil(t, p)
			message, ok := strings.CutPrefix(err.Error(), "weir: policy "+strconv.Quote(text))
			require.True(t, ok, "%v", err)
			require.NotContains(t, message, "\n")
			require.NotContains(t, message, "weir: ")
			found := place.FindStringSubmatch(message)
			require.NotNil(t, found, "%v", err)
			at, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			if found[2] == "the end" {
				require.Len(t, text, at)
				return
			}
			part, err := strconv.Unquote(found[2])
			require.NoError(t, err)
			require.Less(t, at, len(text))
			require.True(t, strings.HasPrefix(text[at:], part), "%q at %d of %q", part, at, text)
		}
	})
}

// FuzzPolicyText prints any policy. It is written and read again as it was if New takes it, and else
// not written.
func FuzzPolicyText(f *testing.F) {
	for kind := range uint8(5) {
		f.Add(kind, 100, int64(time.Minute), 20, true)
		f.Add(kind, math.MaxInt, int64(math.MaxInt64), math.MaxInt, false)
		f.Add(kind, 1, int64(1), 0, false)
		f.Add(kind, 0, int64(0), -1, true)
		f.Add(kind, math.MinInt, int64(math.MinInt64), math.MinInt, true)
		f.Add(kind, 7, int64(8*24*time.Hour), 4, true)
	}
	f.Fuzz(func(t *testing.T, kind uint8, limit int, per int64, more int, from bool) {
		d := time.Duration(per)
		p := []Policy{
			TokenBucket{limit, d, more},
			LeakyBucket{limit, d, more},
			FixedWindow{limit, d, from},
			SlidingWindow{limit, d, more},
			SlidingLog{limit, d},
		}[kind%5]
		text, err := AnyPolicy{p}.MarshalText()
		if _, fault := p.Decider(); fault != nil {
			require.Error(t, err, policyText(p))
			return
		}
		require.NoError(t, err)
		require.Equal(t, policyText(p), string(text))
		again, err := ParsePolicy(string(text))
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
