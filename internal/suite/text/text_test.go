package text_test

import (
	"encoding"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// texts are policies, and the one way in which each is written.
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

// People also write policies in other ways than weir prints them.
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

func TestText_IsBounded(t *testing.T) {
	longest := "100/1m" + strings.Repeat(" ", 4096-6)
	_, err := weir.ParsePolicy(longest)
	require.NoError(t, err)
	_, err = weir.ParsePolicy(longest + " ")
	require.EqualError(t, err, "weir: policy of 4097 bytes, must be at most 4096")
}

// The type of a field says which kind may stand there. If the text is refused, the field keeps its
// value.
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
