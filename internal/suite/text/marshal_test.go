package text_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// foreignPolicy is a policy of another package. It even prints like one of package weir.
type foreignPolicy struct{ name string }

func (foreignPolicy) Decider() (weir.Decider, error) {
	return weir.TokenBucket{Limit: 1, Per: 1}.Decider()
}
func (f foreignPolicy) String() string { return f.name }

var monthly = weir.CalendarWindow{Limit: 9, Unit: weir.Month}

// doubled is a policy of another package. It embeds a policy of package weir, and so has its
// methods for texts.
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

// MarshalText writes nothing that ParsePolicy would not read as the same policy.
func TestText_MarshalRefuses(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.TokenBucket{}, `weir: policy "0/0ns": at byte 0, "0/0ns": weir.TokenBucket.Limit is 0, must be at least 1; weir.TokenBucket.Per is 0s, must be at least 1ns`},
		{weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: -1}, `weir: policy "leaky-bucket 1/1s capacity=-1": at byte 27, "-1": must be a whole number`},
		{weir.FixedWindow{Limit: 1, Per: -168 * time.Hour}, `weir: policy "fixed-window 1/-1w": at byte 15, "-1w": must be a duration`},
		{weir.SlidingLog{Limit: math.MinInt32, Per: math.MinInt64}, `weir: policy "sliding-log -2147483648/-9223372036854775808ns": at byte 12, "-2147483648": must be a whole number`},
		{foreignPolicy{"100/1m"}, `weir: policy "text_test.foreignPolicy": at byte 0, "text_test.foreignPolicy": must be a rate`},
		{&foreignPolicy{"100/1m"}, `weir: policy "*text_test.foreignPolicy": at byte 0, "*text_test.foreignPolicy": must be a rate`},
		{&weir.TokenBucket{Limit: 1}, `weir: policy "1/0ns": at byte 0, "1/0ns": weir.TokenBucket.Per is 0s, must be at least 1ns`},
		{weir.All((*weir.TokenBucket)(nil)), `weir: policy "all(*weir.TokenBucket)": at byte 4, "*weir.TokenBucket": must be a rate`},
		{doubled{monthly}, `weir: policy "text_test.doubled": at byte 0`},
		{&doubled{monthly}, `weir: policy "*text_test.doubled": at byte 0`},
		{weir.All(monthly, doubled{monthly}), `at byte 29, "text_test.doubled": must be a rate`},
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
