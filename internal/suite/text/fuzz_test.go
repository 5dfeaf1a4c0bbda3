package text_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// FuzzParsePolicy reads any text. An error names a place of it. A policy is one that New takes, and
// the same one when it is written and read again.
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
		p, err := weir.ParsePolicy(text)
		switch {
		case err == nil:
			_, err = p.Decider()
			require.NoError(t, err)
			printed := p.(fmt.Stringer).String()
			again, err := weir.ParsePolicy(printed)
			require.NoError(t, err)
			require.Equal(t, p, again, printed)
			require.Equal(t, printed, again.(fmt.Stringer).String())
		case len(text) > 4096:
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

// FuzzPolicyText writes any policy. If New takes it, it is the same one when it is read. Else it is
// not written.
func FuzzPolicyText(f *testing.F) {
	for kind := range uint8(9) {
		f.Add(kind, 100, int64(time.Minute), 20, true)
		f.Add(kind, math.MaxInt, int64(math.MaxInt64), math.MaxInt, false)
		f.Add(kind, 1, int64(1), 0, false)
		f.Add(kind, 0, int64(0), -1, true)
		f.Add(kind, math.MinInt, int64(math.MinInt64), math.MinInt, true)
		f.Add(kind, 7, int64(8*24*time.Hour), 4, true)
		f.Add(kind, 7, int64(weir.Week), 4, true)
	}
	f.Fuzz(func(t *testing.T, kind uint8, limit int, per int64, more int, yes bool) {
		d, zone := time.Duration(per), ""
		if yes {
			zone = "Europe/Berlin"
		}
		bucket := weir.TokenBucket{Limit: limit, Per: d, Burst: more}
		p := []weir.Policy{
			bucket,
			weir.LeakyBucket{Limit: limit, Per: d, Capacity: more},
			weir.FixedWindow{Limit: limit, Per: d, FromFirst: yes},
			weir.SlidingWindow{Limit: limit, Per: d, Buckets: more},
			weir.SlidingLog{Limit: limit, Per: d},
			weir.CalendarWindow{Limit: limit, Unit: weir.Unit(per), Location: zone, Start: more},
			weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: limit, Per: d}, Excess: more},
			weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: limit, Per: d}, Peak: bucket},
			weir.Tiers(bucket, weir.All(weir.FixedWindow{Limit: limit, Per: d, FromFirst: yes})),
		}[kind%9]
		printed := p.(fmt.Stringer).String()
		text, err := weir.AnyPolicy{Policy: p}.MarshalText()
		if _, fault := p.Decider(); fault != nil {
			require.Error(t, err, printed)
			return
		}
		require.NoError(t, err)
		require.Equal(t, printed, string(text))
		again, err := weir.ParsePolicy(printed)
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
}
