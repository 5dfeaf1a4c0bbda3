package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// Every kind of policy is explained, and its code and its JSON are those of the same policy.
func TestOf(t *testing.T) {
	for _, tt := range []struct{ text, words, code string }{
		{
			"300/1m", "A token bucket: 300 events a minute on average, and up to 300 at once. A used event is back after 200ms.",
			"weir.TokenBucket{Limit: 300, Per: time.Minute}",
		},
		{
			"leaky-bucket 10/1s capacity=50", "A leaky bucket: one event each 100ms, evenly spaced. Up to 50 events wait in its queue.",
			"weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 50}",
		},
		{
			"leaky-bucket 1/1s", "A leaky bucket: one event each 1s, evenly spaced. Up to 1 event waits in its queue.",
			"weir.LeakyBucket{Limit: 1, Per: time.Second}",
		},
		{
			"fixed-window 1/1h", "A fixed window: 1 event in each window of 1h, in UTC. All are back when it ends.",
			"weir.FixedWindow{Limit: 1, Per: time.Hour}",
		},
		{
			"fixed-window 5000/90s from-first", "A fixed window: 5,000 events in a window of 1m30s that starts with the first event. All are back when it ends.",
			"weir.FixedWindow{Limit: 5000, Per: 90 * time.Second, FromFirst: true}",
		},
		{
			"sliding-window 100/1m buckets=6", "A sliding window: about 100 events in any 1m, by an estimate from 6 sub-windows of 10s.",
			"weir.SlidingWindow{Limit: 100, Per: time.Minute, Buckets: 6}",
		},
		{
			"sliding-log 5/1d", "A sliding log: at most 5 events in any 1d, exactly.",
			"weir.SlidingLog{Limit: 5, Per: 24 * time.Hour}",
		},
		{
			"calendar-window 9/month location=Europe/Berlin start=15",
			"A calendar window: 9 events in each month of the calendar in Europe/Berlin, from day 15. All are back when it ends.",
			`weir.CalendarWindow{Limit: 9, Unit: weir.Month, Location: "Europe/Berlin", Start: 15}`,
		},
		{
			"single-rate-marker 10/1s burst=20 excess=40", "A marker: 10 events a second on average. Up to 20 at once are green, and 40 more are yellow.",
			"weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 20}, Excess: 40}",
		},
		{
			"two-rate-marker(10/1s, 20/1s)", "A marker: the second of these grants or denies. A grant is green if the first grants it, too, else yellow:",
			"weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Second}, Peak: weir.TokenBucket{Limit: 20, Per: time.Second}}",
		},
		{
			"all(5/1s, 60/1m)", "A request is granted if each of these grants it. A denial costs none of them:",
			"weir.All(\n\tweir.TokenBucket{Limit: 5, Per: time.Second},\n\tweir.TokenBucket{Limit: 60, Per: time.Minute},\n)",
		},
		{
			"tiers(1/1ms, all(1/1us))", "A request counts in the first of these that grants it:",
			"weir.Tiers(\n\tweir.TokenBucket{Limit: 1, Per: time.Millisecond},\n" +
				"\tweir.All(\n\t\tweir.TokenBucket{Limit: 1, Per: time.Microsecond},\n\t),\n)",
		},
	} {
		p, err := Parse(tt.text)
		require.NoError(t, err)
		e, err := Of(p)
		require.NoError(t, err)
		assert.Equal(t, tt.text, e.Text)
		assert.Equal(t, tt.words, e.Words[0])
		assert.Equal(t, tt.code, e.Code)
		assert.Len(t, e.Worst, len(Spans(p)))
		for i, line := range e.Words {
			assert.Regexp(t, `[.:]$`, line)
			assert.Equal(t, i > 0, strings.HasPrefix(line, "  "), "a second line would look like another component")
		}
		var decoded weir.AnyPolicy
		require.NoError(t, json.Unmarshal([]byte(e.JSON), &decoded))
		assert.Equal(t, p, decoded.Policy)
	}
}

// half is a policy of another package.
type half struct{ weir.Policy }

func (*half) String() string { return "half of it" }

// A policy that is not known is said to be that, also as a part of another.
func TestOfUnknownPolicy(t *testing.T) {
	unknown := &half{Policy: weir.FixedWindow{Limit: 7, Per: s}}
	e, err := Of(unknown)
	require.NoError(t, err)
	assert.Equal(t, []string{"A policy of another package: half of it."}, e.Words)
	assert.Empty(t, e.Worst)
	assert.Equal(t, 7, e.Client.AtOnce)
	assert.Contains(t, e.Code, "explain.half{")

	e, err = Of(weir.All(weir.SlidingLog{Limit: 9, Per: s}, unknown))
	require.NoError(t, err)
	assert.Equal(t, "  A policy of another package: half of it.", e.Words[2])
	assert.Equal(t, []Worst{{s, 9}}, e.Worst)
}

func TestOfRefusedPolicy(t *testing.T) {
	_, err := Of(weir.TokenBucket{Limit: 0, Per: 1})
	assert.ErrorContains(t, err, "weir.TokenBucket.Limit is 0, must be at least 1")
}

func TestMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"1000/1s":                       {1, 1, [2]int{30, 50}},
		"all(5/1s, 60/1m)":              {2, 2, [2]int{46, 70}},
		"sliding-log 5/1s":              {2, 7, [2]int{86, 150}},
		"sliding-log 60/1m":             {2, 62, [2]int{526, 840}},
		"sliding-window 9/1m buckets=6": {8, 8, [2]int{94, 130}},
		"all(1000/1s, all(sliding-log 5/1s, sliding-log 10/1m))": {6, 21, [2]int{198, 330}},
	} {
		p, err := Parse(text)
		require.NoError(t, err)
		got, err := MemoryOf(p)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
}

// A caret stands below the byte of the fault, whatever bytes and columns the characters before it
// take.
func TestParseShowsThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"5/1y":                   "policy at byte 2: \"1y\": must be a duration such as 10ms, 1s, 1m, 1h30m, 1d or 1w\n\n  5/1y\n    ^",
		"":                       "policy at byte 0: the end: must be a rate such as 100/1m, ",
		"all(1/1s,\tünique 1/s)": "policy at byte 10: \"ünique\": must be ",
		"1/1s ü x":               "policy at byte 5: \"ü\": must be burst=N or the end\n\n  1/1s ü x\n       ^",
		"0/1s":                   "policy at byte 0: \"0/1s\": weir.TokenBucket.Limit is 0",
		`x": at byte 3`:          "policy at byte 0: \"x\\\":\": must be ",

		"calendar-window 5/day location=日本 x":                "  calendar-window 5/day location=日本 x\n" + strings.Repeat(" ", 38) + "^",
		"calendar-window 5/day location=u\u0308\U0001f600 x": "location=u\u0308\U0001f600 x\n" + strings.Repeat(" ", 37) + "^",
	} {
		_, err := Parse(text)
		require.Error(t, err)
		assert.Contains(t, err.Error(), want)
	}
	_, err := Parse(string(make([]byte, 5000)))
	assert.EqualError(t, err, "weir: policy of 5000 bytes, must be at most 4096")
}

// Whatever the text, an error has a place in it.
func FuzzParse(f *testing.F) {
	f.Add("all(5/1s, x)")
	f.Add("ü\x00\xff")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := weir.ParsePolicy(text)
		if err != nil {
			_, ok := FaultOf(text, err)
			require.Equal(t, len(text) <= 4096, ok, "%q: %v", text, err)
			return
		}
		if memory, err := MemoryOf(p); err == nil && memory.NewWords < 100 {
			_, err := Of(p)
			require.NoError(t, err)
		}
	})
}
