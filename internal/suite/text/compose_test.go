package text_test

import (
	"encoding"
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no zones on the machine

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestText_CompositionsThereAndBack(t *testing.T) {
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
		{weir.All(minute, weir.SlidingLog{Limit: 5, Per: time.Minute}), "all(300/1m, sliding-log 5/1m)"},
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
}

func TestText_CompositionsOtherWays(t *testing.T) {
	minute, hour := weir.TokenBucket{Limit: 300, Per: time.Minute}, weir.TokenBucket{Limit: 15750, Per: time.Hour}
	log := weir.SlidingLog{Limit: 5, Per: time.Minute}
	nested := weir.All(minute, weir.All(hour, log), weir.FixedWindow{Limit: 1, Per: time.Second, FromFirst: true})
	for text, want := range map[string]weir.Policy{
		"all(300/1m, 15750/1h)": weir.All(minute, hour),
		"all(300/1m)":           weir.All(minute),
		" all (\n300/1m ,all( 15750/1h,sliding-log 5/1m ) , fixed-window 1/1s from-first\n) ": nested,
		"all(300/1m, all(15750/1h, sliding-log 5/1m), fixed-window 1/1s from-first)":          nested,
	} {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		require.Equal(t, want, p, text)
	}
	_, err := weir.ParsePolicy(strings.Repeat("all(", 8) + "300/1m" + strings.Repeat(")", 8))
	require.NoError(t, err)
}

func TestText_CompositionsMarshalRefuses(t *testing.T) {
	minute := weir.TokenBucket{Limit: 300, Per: time.Minute}
	for _, p := range []weir.Policy{weir.All(), weir.Tiers(minute, nil), weir.All(weir.TokenBucket{}), weir.SingleRateMarker{}, weir.TwoRateMarker{}} {
		_, err := p.(encoding.TextMarshaler).MarshalText()
		assert.Error(t, err, "%#v", p)
	}
}

func TestText_OneKindOfMarker(t *testing.T) {
	var single weir.SingleRateMarker
	require.NoError(t, single.UnmarshalText([]byte("single-rate-marker 1/1s excess=2")))
	assert.Equal(t, weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 1, Per: time.Second}, Excess: 2}, single)
	var two weir.TwoRateMarker
	require.NoError(t, two.UnmarshalText([]byte("two-rate-marker(1/1s, 2/1s)")))
	assert.Equal(t, 2, two.Peak.Limit)
	require.ErrorContains(t, two.UnmarshalText([]byte("1/1s")), "must be a weir.TwoRateMarker")
}
