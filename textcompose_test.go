package weir_test

import (
	"encoding"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestText_Compositions(t *testing.T) {
	minute, hour := weir.TokenBucket{Limit: 300, Per: time.Minute}, weir.TokenBucket{Limit: 15_750, Per: time.Hour, Burst: 500}
	month := weir.CalendarWindow{Limit: 6_000_000, Unit: weir.Month, Location: "Europe/Berlin"}
	for _, test := range []struct {
		policy weir.Policy
		text   string
	}{
		{weir.All(minute), "all(300/1m)"},
		{weir.All(minute, hour, month), "all(300/1m, token-bucket 15750/1h burst=500, calendar-window 6000000/month location=Europe/Berlin)"},
		{weir.Tiers(minute, weir.All(hour, month)), "tiers(300/1m, all(token-bucket 15750/1h burst=500, calendar-window 6000000/month location=Europe/Berlin))"},
		{weir.All(minute, minute), "all(300/1m, 300/1m)"},
		{weir.SingleRateMarker{Committed: minute}, "single-rate-marker 300/1m"},
		{weir.SingleRateMarker{Committed: hour, Excess: 20}, "single-rate-marker 15750/1h burst=500 excess=20"},
		{weir.TwoRateMarker{Committed: hour, Peak: minute}, "two-rate-marker(token-bucket 15750/1h burst=500, 300/1m)"},
	} {
		assert.Equal(t, test.text, fmt.Sprint(test.policy))
		p, err := weir.ParsePolicy(test.text)
		require.NoError(t, err)
		assert.True(t, test.policy == p, test.text)
		text, err := test.policy.(encoding.TextMarshaler).MarshalText()
		require.NoError(t, err)
		assert.Equal(t, test.text, string(text))
	}

	for text, want := range map[string]string{
		"all()":                                   `at byte 4, ")": must be a rate such as 100/1m, `,
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
	for _, p := range []weir.Policy{weir.All(), weir.Tiers(minute, nil), weir.All(weir.TokenBucket{}), weir.SingleRateMarker{}, weir.TwoRateMarker{}} {
		_, err := p.(encoding.TextMarshaler).MarshalText()
		assert.Error(t, err, "%#v", p)
	}

	var single weir.SingleRateMarker
	require.NoError(t, single.UnmarshalText([]byte("single-rate-marker 1/1s excess=2")))
	assert.Equal(t, weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Second}, Excess: 2}, single)
	var two weir.TwoRateMarker
	require.NoError(t, two.UnmarshalText([]byte("two-rate-marker(1/1s, 2/1s)")))
	assert.Equal(t, 2, two.Peak.Limit)
	require.ErrorContains(t, two.UnmarshalText([]byte("1/1s")), "must be a weir.TwoRateMarker")
}
