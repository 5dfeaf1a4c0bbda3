package text

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

func TestDurations(t *testing.T) {
	for _, test := range []struct {
		length time.Duration
		text   string
		other  []string // ways to write the same
	}{
		{1, "1ns", []string{"ns", "0.001us", "+1ns"}},
		{time.Microsecond, "1us", []string{"us", "µs", "1000ns"}},
		{1500 * time.Microsecond, "1500us", []string{"1.5ms", "1ms500us"}},
		{time.Second, "1s", []string{"s", "1000ms", "01s"}},
		{90 * time.Second, "90s", []string{"1m30s", "1.5m"}},
		{time.Minute, "1m", []string{"m", "60s"}},
		{time.Hour, "1h", []string{"h", "60m"}},
		{day, "1d", []string{"d", "24h"}},
		{36 * time.Hour, "36h", []string{"1d12h", "d12h"}},
		{week, "1w", []string{"w", "7d", "168h", "0w7d", "0w0d168h"}},
		{10 * day, "10d", []string{"1w3d", "1w72h"}},
		{15 * week, "15w", []string{"015w", "105d"}},
		{math.MaxInt64, "9223372036854775807ns", []string{longest, "15250w1d23h47m16s854ms775us807ns"}},
	} {
		assert.Equal(t, test.text, formatDuration(test.length))
		for _, s := range append(test.other, test.text) {
			d, ok := parseDuration(s)
			assert.True(t, ok, s)
			assert.Equal(t, test.length, d, s)
		}
	}
	assert.Equal(t, "0ns", formatDuration(0))
	assert.Equal(t, "-9223372036854775808ns", formatDuration(math.MinInt64))
}

func TestNoDurations(t *testing.T) {
	for _, s := range []string{"", "60", "min", "1month", "1m/1h", "1d1w", "1h1d", "1d-1h", "1d.5h", "1.5d", "-1d", "1d5", "1_0s", "1d ", "dd", "wd", "-"} {
		_, ok := parseDuration(s)
		assert.False(t, ok, s)
		assert.False(t, tooLong(s), s)
	}
	for _, s := range []string{
		"106752d", "15251w", "15250w2d", "2562048h", "1d1.5h9999999999999999999999ms", "106751d23h47m16.854775808s", "99999999999999999999w",
	} {
		_, ok := parseDuration(s)
		assert.False(t, ok, s)
		assert.True(t, tooLong(s), s)
	}
}

// FuzzFormatDuration writes any duration. It is the same one when it is read, except for negative
// days, which parseDuration refuses.
func FuzzFormatDuration(f *testing.F) {
	for _, d := range []time.Duration{0, 1, 999, time.Second, 90 * time.Minute, day, week, 15250 * week, math.MaxInt64, math.MinInt64, -week} {
		f.Add(int64(d))
	}
	f.Fuzz(func(t *testing.T, ns int64) {
		s := formatDuration(time.Duration(ns))
		d, ok := parseDuration(s)
		if !ok {
			require.Negative(t, ns)
			require.True(t, strings.HasSuffix(s, "d") || strings.HasSuffix(s, "w"), s)
			return
		}
		require.Equal(t, time.Duration(ns), d, s)
	})
}

var weeksAndDays = regexp.MustCompile(`(?s)^(?:(\d+)w)?(?:(\d+)d)?(|\d.*)$`)

// bigDuration reads a duration in numbers of any size. It returns nil if s is none.
func bigDuration(s string) *big.Int {
	if s != "" && !strings.ContainsAny(s[:1], "0123456789.+-") {
		s = "1" + s
	}
	total := new(big.Int)
	if found := weeksAndDays.FindStringSubmatch(s); found != nil && s != found[3] {
		for i, unit := range []time.Duration{week, day} {
			n, _ := new(big.Int).SetString("0"+found[1+i], 10)
			total.Add(total, n.Mul(n, big.NewInt(int64(unit))))
		}
		if s = found[3]; s == "" {
			return total
		}
	}
	rest, err := time.ParseDuration(s)
	if err != nil {
		return nil
	}
	return total.Add(total, big.NewInt(int64(rest)))
}

// FuzzParseDuration reads any text, as bigDuration reads it.
func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{
		"1h30m", "w", "d12h", "1w1d1h1m1s1ms1us1ns", longest, "106752d", "15250w2d", "-1h", "1.5d", "0x1s", "1d-1h", "",
		"99999999999999999999w", "106751d23h47m16.854775808s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := parseDuration(s)
		want := bigDuration(s)
		require.Equal(t, want != nil && want.IsInt64(), ok, "%q", s)
		if ok {
			require.Equal(t, want.Int64(), int64(d), "%q", s)
			return
		}
		require.Zero(t, d, "%q", s)
		if want != nil && !strings.HasSuffix(s, "0") { // package time takes 0 without a unit, but not 1
			require.True(t, tooLong(s), "%q", s)
		}
	})
}
