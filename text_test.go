package weir_test

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// texts are policies and the one way in which they are written.
var texts = []struct {
	policy weir.Policy
	text   string
}{
	{weir.TokenBucket{Limit: 300, Per: time.Minute}, "300/1m"},
	{weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 20}, "token-bucket 100/1m burst=20"},
	{weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 100}, "token-bucket 100/1m burst=100"},
	{weir.LeakyBucket{Limit: 10, Per: time.Second}, "leaky-bucket 10/1s"},
	{weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}, "leaky-bucket 10/1s capacity=50"},
	{weir.FixedWindow{Limit: 1000, Per: time.Hour}, "fixed-window 1000/1h"},
	{weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true}, "fixed-window 1000/1h from-first"},
	{weir.SlidingWindow{Limit: 100, Per: time.Minute}, "sliding-window 100/1m"},
	{weir.SlidingWindow{Limit: 100, Per: time.Minute, Buckets: 6}, "sliding-window 100/1m buckets=6"},
	{weir.SlidingWindow{Limit: 1, Per: 100 * time.Microsecond, Buckets: 100_000}, "sliding-window 1/100us buckets=100000"},
	{weir.SlidingLog{Limit: 5, Per: time.Minute}, "sliding-log 5/1m"},
	{weir.CalendarWindow{Limit: 1000, Unit: weir.Month}, "calendar-window 1000/month"},
	{weir.CalendarWindow{Limit: 1000, Unit: weir.Month, Location: "Europe/Berlin", Start: 15}, "calendar-window 1000/month location=Europe/Berlin start=15"},
	{weir.CalendarWindow{Limit: 1, Unit: weir.Minute, Location: "Etc/GMT+5"}, "calendar-window 1/minute location=Etc/GMT+5"},
	{weir.CalendarWindow{Limit: 1, Unit: weir.Week, Start: 1}, "calendar-window 1/week start=1"},

	{weir.TokenBucket{Limit: 1, Per: 1}, "1/1ns"},
	{weir.TokenBucket{Limit: math.MaxInt32, Per: math.MaxInt64, Burst: math.MaxInt32}, "token-bucket 2147483647/9223372036854775807ns burst=2147483647"},
	{weir.TokenBucket{Limit: 1, Per: 1500 * time.Microsecond}, "1/1500us"},
	{weir.TokenBucket{Limit: 1, Per: 1500 * time.Millisecond}, "1/1500ms"},
	{weir.TokenBucket{Limit: 1, Per: 90 * time.Second}, "1/90s"},
	{weir.TokenBucket{Limit: 1, Per: 90 * time.Minute}, "1/90m"},
	{weir.TokenBucket{Limit: 1, Per: 36 * time.Hour}, "1/36h"},
	{weir.TokenBucket{Limit: 1, Per: 24 * time.Hour}, "1/1d"},
	{weir.TokenBucket{Limit: 1, Per: 30 * 24 * time.Hour}, "1/30d"},
	{weir.TokenBucket{Limit: 1, Per: 336 * time.Hour}, "1/2w"},
	{weir.TokenBucket{Limit: 1, Per: 365 * 24 * time.Hour}, "1/365d"},
}

func TestText_ThereAndBack(t *testing.T) {
	for _, test := range texts {
		assert.Equal(t, test.text, fmt.Sprint(test.policy))
		p, err := weir.ParsePolicy(test.text)
		require.NoError(t, err)
		assert.Equal(t, test.policy, p, test.text)
		text, err := test.policy.(encoding.TextMarshaler).MarshalText()
		require.NoError(t, err)
		assert.Equal(t, test.text, string(text))

		holder := weir.AnyPolicy{Policy: test.policy}
		assert.Equal(t, test.text, holder.String())
		text, err = holder.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, test.text, string(text))
		holder = weir.AnyPolicy{}
		require.NoError(t, holder.UnmarshalText(text))
		assert.Equal(t, test.policy, holder.Policy, test.text)
	}
	assert.Empty(t, weir.AnyPolicy{}.String())
}

// What people write, beside what is printed.
func TestText_OtherWays(t *testing.T) {
	for text, want := range map[string]weir.Policy{
		"token-bucket 100/1m":                   weir.TokenBucket{Limit: 100, Per: time.Minute},
		"100/1m burst=20":                       weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 20},
		" \tsliding-log\r\n 5/1m \n":            weir.SlidingLog{Limit: 5, Per: time.Minute},
		"sliding-window 0100/60s buckets=006":   weir.SlidingWindow{Limit: 100, Per: time.Minute, Buckets: 6},
		"10/s":                                  weir.TokenBucket{Limit: 10, Per: time.Second},
		"10/m":                                  weir.TokenBucket{Limit: 10, Per: time.Minute},
		"10/d":                                  weir.TokenBucket{Limit: 10, Per: 24 * time.Hour},
		"10/w":                                  weir.TokenBucket{Limit: 10, Per: 168 * time.Hour},
		"10/us":                                 weir.TokenBucket{Limit: 10, Per: time.Microsecond},
		"10/µs":                                 weir.TokenBucket{Limit: 10, Per: time.Microsecond},
		"10/1h30m":                              weir.TokenBucket{Limit: 10, Per: 90 * time.Minute},
		"10/1.5h":                               weir.TokenBucket{Limit: 10, Per: 90 * time.Minute},
		"10/.5s":                                weir.TokenBucket{Limit: 10, Per: 500 * time.Millisecond},
		"10/1d12h":                              weir.TokenBucket{Limit: 10, Per: 36 * time.Hour},
		"10/1w1d1h1m1s1ms1us1ns":                weir.TokenBucket{Limit: 10, Per: 193*time.Hour + time.Minute + time.Second + 1_001_001},
		"10/15250w1d23h47m16s854ms775us807ns":   weir.TokenBucket{Limit: 10, Per: math.MaxInt64},
		"10/106751d23h47m16s854ms775us807ns":    weir.TokenBucket{Limit: 10, Per: math.MaxInt64},
		"10/106751d23h47m16.854775807s":         weir.TokenBucket{Limit: 10, Per: math.MaxInt64},
		"10/2562047h47m16s854ms775us807ns":      weir.TokenBucket{Limit: 10, Per: math.MaxInt64},
		"fixed-window    1000/1h    from-first": weir.FixedWindow{Limit: 1000, Per: time.Hour, FromFirst: true},
	} {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		assert.Equal(t, want, p, text)
	}
}

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

func TestText_IsBounded(t *testing.T) {
	longest := "100/1m" + strings.Repeat(" ", 4096-6)
	_, err := weir.ParsePolicy(longest)
	require.NoError(t, err)
	_, err = weir.ParsePolicy(longest + " ")
	require.EqualError(t, err, "weir: policy of 4097 bytes, must be at most 4096")
}

// The type of a field says which kind may stand there. What was there stays if the text is refused.
func TestText_OneKind(t *testing.T) {
	const refused = `weir: policy "leaky-bucket 1/1s" is a weir.LeakyBucket, must be a `
	tb := weir.TokenBucket{Limit: 7, Per: 7, Burst: 7}
	require.EqualError(t, tb.UnmarshalText([]byte("leaky-bucket 1/1s")), refused+"weir.TokenBucket")
	require.ErrorContains(t, tb.UnmarshalText([]byte("0/1s")), "weir.TokenBucket.Limit is 0")
	require.ErrorContains(t, tb.UnmarshalText(nil), "at byte 0, the end")
	require.Equal(t, weir.TokenBucket{Limit: 7, Per: 7, Burst: 7}, tb)
	require.NoError(t, tb.UnmarshalText([]byte("1/1s")))
	require.Equal(t, weir.TokenBucket{Limit: 1, Per: time.Second}, tb)

	var (
		lb weir.LeakyBucket
		fw weir.FixedWindow
		sw weir.SlidingWindow
		sl weir.SlidingLog
	)
	require.EqualError(t, lb.UnmarshalText([]byte("1/1s")), `weir: policy "1/1s" is a weir.TokenBucket, must be a weir.LeakyBucket`)
	require.EqualError(t, fw.UnmarshalText([]byte("leaky-bucket 1/1s")), refused+"weir.FixedWindow")
	require.EqualError(t, sw.UnmarshalText([]byte("leaky-bucket 1/1s")), refused+"weir.SlidingWindow")
	require.EqualError(t, sl.UnmarshalText([]byte("leaky-bucket 1/1s")), refused+"weir.SlidingLog")
	require.NoError(t, lb.UnmarshalText([]byte("leaky-bucket 1/1s")))
	require.NoError(t, fw.UnmarshalText([]byte("fixed-window 1/1s")))
	require.NoError(t, sw.UnmarshalText([]byte("sliding-window 1/1s")))
	require.NoError(t, sl.UnmarshalText([]byte("sliding-log 1/1s")))

	held := weir.AnyPolicy{Policy: lb}
	require.Error(t, held.UnmarshalText([]byte("leaky-bucket")))
	require.Equal(t, weir.AnyPolicy{Policy: weir.LeakyBucket{Limit: 1, Per: time.Second}}, held)
}

// foreignPolicy is a policy of another package. It even prints like one of this package.
type foreignPolicy struct{ name string }

func (foreignPolicy) Decider() (weir.Decider, error) {
	return weir.TokenBucket{Limit: 1, Per: 1}.Decider()
}
func (f foreignPolicy) String() string { return f.name }

var monthly = weir.CalendarWindow{Limit: 9, Unit: weir.Month}

// doubled is a policy of another package that embeds one of this package, and so has its methods for texts.
type doubled struct{ weir.CalendarWindow }

func (d doubled) Decider() (weir.Decider, error) {
	d.Limit *= 2
	return d.CalendarWindow.Decider()
}

// nested is a policy within so many others.
func nested(depth int) weir.Policy {
	p := weir.Policy(monthly)
	for range depth {
		p = weir.All(p)
	}
	return p
}

// A pointer to a policy has its text, alone and as a part.
func TestText_Pointers(t *testing.T) {
	committed := weir.TokenBucket{Limit: 300, Per: time.Minute}
	for _, test := range []struct {
		policy weir.Policy
		text   string
	}{
		{&weir.TokenBucket{Limit: 1, Per: time.Second}, "1/1s"},
		{&weir.LeakyBucket{Limit: 1, Per: time.Second}, "leaky-bucket 1/1s"},
		{&weir.FixedWindow{Limit: 1, Per: time.Second}, "fixed-window 1/1s"},
		{&weir.SlidingWindow{Limit: 1, Per: time.Second}, "sliding-window 1/1s"},
		{&weir.SlidingLog{Limit: 1, Per: time.Second}, "sliding-log 1/1s"},
		{&monthly, "calendar-window 9/month"},
		{&weir.SingleRateMarker{Committed: committed, Excess: 2}, "single-rate-marker 300/1m excess=2"},
		{&weir.TwoRateMarker{Committed: committed, Peak: committed}, "two-rate-marker(300/1m, 300/1m)"},
		{weir.All(&committed, weir.Tiers(&monthly, committed)), "all(300/1m, tiers(calendar-window 9/month, 300/1m))"},
		{(*weir.TokenBucket)(nil), ""},
		{(*weir.CalendarWindow)(nil), ""},
		{nested(8), "all(all(all(all(all(all(all(all(calendar-window 9/month))))))))"},
	} {
		holder := weir.AnyPolicy{Policy: test.policy}
		assert.Equal(t, test.text, holder.String())
		text, err := holder.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, test.text, string(text))
	}
}

// What would not be read again is not written.
func TestText_MarshalRefuses(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.TokenBucket{}, `weir: policy "0/0ns": at byte 0, "0/0ns": weir.TokenBucket.Limit is 0, must be at least 1; weir.TokenBucket.Per is 0s, must be at least 1ns`},
		{weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: -1}, `weir: policy "leaky-bucket 1/1s capacity=-1": at byte 27, "-1": must be a whole number`},
		{weir.FixedWindow{Limit: 1, Per: -168 * time.Hour}, `weir: policy "fixed-window 1/-1w": at byte 15, "-1w": must be a duration`},
		{weir.SlidingLog{Limit: math.MinInt32, Per: math.MinInt64}, `weir: policy "sliding-log -2147483648/-9223372036854775808ns": at byte 12, "-2147483648": must be a whole number`},
		{foreignPolicy{"100/1m"}, `weir: policy "weir_test.foreignPolicy": at byte 0, "weir_test.foreignPolicy": must be a rate`},
		{&foreignPolicy{"100/1m"}, `weir: policy "*weir_test.foreignPolicy": at byte 0, "*weir_test.foreignPolicy": must be a rate`},
		{&weir.TokenBucket{Limit: 1}, `weir: policy "1/0ns": at byte 0, "1/0ns": weir.TokenBucket.Per is 0s, must be at least 1ns`},
		{weir.All((*weir.TokenBucket)(nil)), `weir: policy "all(*weir.TokenBucket)": at byte 4, "*weir.TokenBucket": must be a rate`},
		{doubled{monthly}, `weir: policy "weir_test.doubled": at byte 0`},
		{&doubled{monthly}, `weir: policy "*weir_test.doubled": at byte 0`},
		{weir.All(monthly, doubled{monthly}), `at byte 29, "weir_test.doubled": must be a rate`},
		{
			weir.CalendarWindow{Limit: 9, Unit: weir.Month, Location: "UTC start=15"},
			`weir: weir.CalendarWindow has no text form, since "calendar-window 9/month location=UTC start=15" says another policy`,
		},
		{nested(9), `must be at most 8 deep in brackets`},
		{weir.All(slices.Repeat([]weir.Policy{monthly}, 200)...), `must be at most 4096`},
	} {
		text, err := weir.AnyPolicy{Policy: test.policy}.MarshalText()
		assert.Nil(t, text)
		assert.ErrorContains(t, err, test.want)
	}
}

type textConfig struct {
	Limit weir.AnyPolicy              `json:"limit"`
	Login weir.SlidingLog             `json:"login"`
	Plans map[string]weir.AnyPolicy   `json:"plans"`
	More  []weir.FixedWindow          `json:"more"`
	Keys  map[weir.TokenBucket]string `json:"keys"`
}

func TestText_JSON(t *testing.T) {
	const text = `{"limit":"leaky-bucket 10/1s capacity=50","login":"sliding-log 5/1m",` +
		`"plans":{"free":"fixed-window 1000/1d","none":"","pro":"100/1m"},` +
		`"more":["fixed-window 1/1s from-first"],"keys":{"1/1ns":"x"}}`
	var c textConfig
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	require.Equal(t, textConfig{
		Limit: weir.AnyPolicy{Policy: weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}},
		Login: weir.SlidingLog{Limit: 5, Per: time.Minute},
		Plans: map[string]weir.AnyPolicy{
			"free": {Policy: weir.FixedWindow{Limit: 1000, Per: 24 * time.Hour}},
			"none": {},
			"pro":  {Policy: weir.TokenBucket{Limit: 100, Per: time.Minute}},
		},
		More: []weir.FixedWindow{{Limit: 1, Per: time.Second, FromFirst: true}},
		Keys: map[weir.TokenBucket]string{{Limit: 1, Per: 1}: "x"},
	}, c)
	again, err := json.Marshal(c)
	require.NoError(t, err)
	require.Equal(t, text, string(again))

	err = json.Unmarshal([]byte(`{"login": "sliding-log 5 per 1m"}`), &c)
	require.ErrorContains(t, err, `weir: policy "sliding-log 5 per 1m": at byte 12, "5": must be a rate such as 100/1m`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"login": "100/1m"}`), &c), "must be a weir.SlidingLog")
	require.Error(t, json.Unmarshal([]byte(`{"login": {"Limit": 5, "Per": 60}}`), &c), "a number of what?")
}

func TestText_Flag(t *testing.T) {
	limit := weir.AnyPolicy{Policy: weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 20}}
	var (
		login weir.SlidingLog
		none  weir.AnyPolicy
		usage strings.Builder
	)
	flags := flag.NewFlagSet("x", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&limit, "limit", limit, "requests of a client")
	flags.TextVar(&login, "login", weir.SlidingLog{Limit: 5, Per: time.Minute}, "tries")
	flags.TextVar(&none, "none", weir.AnyPolicy{}, "no more")
	require.Equal(t, 5, login.Limit, "the default")

	require.NoError(t, flags.Parse([]string{"-limit", "leaky-bucket 10/1s", "-login=sliding-log 3/1m"}))
	require.Equal(t, weir.LeakyBucket{Limit: 10, Per: time.Second}, limit.Policy)
	require.Equal(t, weir.SlidingLog{Limit: 3, Per: time.Minute}, login)
	require.Nil(t, none.Policy)
	require.NoError(t, flags.Parse([]string{"-limit="}))
	require.Nil(t, limit.Policy, "taken away")

	err := flags.Parse([]string{"-limit", "leaky-bucket 10/1x"})
	require.ErrorContains(t, err, `invalid value "leaky-bucket 10/1x" for flag -limit: weir: policy "leaky-bucket 10/1x": at byte 16, "1x"`)

	flags.SetOutput(&usage)
	flags.PrintDefaults()
	require.Contains(t, usage.String(), "requests of a client (default token-bucket 100/1m burst=20)\n")
	require.Contains(t, usage.String(), "tries (default sliding-log 5/1m)\n")
	require.Contains(t, usage.String(), "no more\n")
}

func TestText_Environment(t *testing.T) {
	limit := func() (weir.Policy, error) { return weir.ParsePolicy(os.Getenv("WEIR_TEST_LIMIT")) }
	for _, test := range texts {
		t.Setenv("WEIR_TEST_LIMIT", test.text)
		p, err := limit()
		require.NoError(t, err)
		require.Equal(t, test.policy, p)
	}
	t.Setenv("WEIR_TEST_LIMIT", "")
	_, err := limit()
	require.ErrorContains(t, err, `weir: policy "": at byte 0, the end`)

	var held weir.AnyPolicy
	require.NoError(t, held.UnmarshalText([]byte(os.Getenv("WEIR_TEST_LIMIT"))))
	_, err = weir.New(held.Policy)
	require.EqualError(t, err, "weir: the Policy is nil, must be one")
}
