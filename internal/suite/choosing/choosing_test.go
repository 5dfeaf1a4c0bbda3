package choosing

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// The tables of docs/choosing.md are what these tests compute: each row must stand
// in it word for word. All are of 100 events a second.
var choices = []weir.Policy{
	weir.TokenBucket{Limit: 100, Per: time.Second},
	weir.TokenBucket{Limit: 100, Per: time.Second, Burst: 10},
	weir.LeakyBucket{Limit: 100, Per: time.Second},
	weir.FixedWindow{Limit: 100, Per: time.Second},
	weir.FixedWindow{Limit: 100, Per: time.Second, FromFirst: true},
	weir.SlidingWindow{Limit: 100, Per: time.Second},
	weir.SlidingWindow{Limit: 100, Per: time.Second, Buckets: 10},
	weir.SlidingLog{Limit: 100, Per: time.Second},
}

func choiceName(p weir.Policy) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", p), "weir.")
	switch p := p.(type) {
	case weir.TokenBucket:
		if p.Burst > 0 {
			name += fmt.Sprintf(", Burst %d", p.Burst)
		}
	case weir.FixedWindow:
		if p.FromFirst {
			name += ", FromFirst"
		}
	case weir.SlidingWindow:
		if p.Buckets > 0 {
			name += fmt.Sprintf(", Buckets %d", p.Buckets)
		}
	}
	return name
}

// extremes is the least and the most of f over callers that begin at each step of a second.
func extremes[T int | time.Duration](step time.Duration, f func(phase time.Duration) T) string {
	var all []T
	for phase := time.Duration(0); phase < time.Second; phase += step {
		all = append(all, f(phase))
	}
	least, most := slices.Min(all), slices.Max(all)
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%v to %v", least, most)
}

func TestChoosingTables(t *testing.T) {
	runs.SkipDear(t)
	text, err := os.ReadFile("../../../docs/choosing.md")
	require.NoError(t, err)
	doc := strings.Split(string(text), "\n")
	for _, p := range choices {
		for _, cells := range [][]any{worstCase(t, p), overload(t, p), told(t, p), words(t, p)} {
			assert.Contains(t, doc, row(p, cells))
		}
	}
}

func row(p weir.Policy, cells []any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", choiceName(p))
	for _, cell := range cells {
		fmt.Fprintf(&b, " %v |", cell)
	}
	return b.String()
}

// worstCase is a row of the table "How much over the limit".
func worstCase(t *testing.T, p weir.Policy) []any {
	fresh := newCaller(p)
	fresh.flood(t, 0)
	worst := attack(t, p)
	return []any{len(fresh.granted), worst[0], worst[1], worst[2]}
}

// overload is a row of the table "How smooth".
func overload(t *testing.T, p weir.Policy) []any {
	c := newCaller(p)
	c.takeAll(t, 370*time.Millisecond, 8*time.Second)
	i, _ := slices.BinarySearch(c.granted, 4*time.Second)
	settled := c.granted[i:]
	pause := time.Duration(0)
	for i := range settled[1:] {
		pause = max(pause, settled[i+1]-settled[i])
	}
	idled := extremes(25*time.Millisecond, func(phase time.Duration) int {
		c := newCaller(p)
		c.takeAll(t, 0, 2*time.Second+phase)
		before := len(c.granted)
		c.takeAll(t, 3*time.Second+phase, 3*time.Second+phase+10*time.Millisecond)
		return len(c.granted) - before
	})
	return []any{busiest(settled, 10*time.Millisecond), pause.Round(time.Millisecond), idled}
}

// told is a row of the table "What a denial reports".
func told(t *testing.T, p weir.Policy) []any {
	ask := func(phase time.Duration) weir.Result {
		c := newCaller(p)
		c.flood(t, phase)
		return c.take(t, phase, 1)
	}
	const ms = time.Millisecond
	return []any{
		extremes(ms, func(phase time.Duration) time.Duration { return ask(phase).RetryAfter.Round(ms) }),
		extremes(ms, func(phase time.Duration) time.Duration { return ask(phase).ResetAfter.Round(ms) }),
	}
}

// words is a row of the table "Memory".
func words(t *testing.T, p weir.Policy) []any {
	d, err := p.Decider()
	require.NoError(t, err)
	state := make([]uint64, d.Words())
	for i := range int64(100) {
		state, _ = d.Decide(state, 1e18+i, weir.Ask{N: 1})
	}
	return []any{d.Words(), len(state)}
}

// The limits up to which a key takes one word of memory, and one more than that, and what always
// takes more.
func TestChoosingOneWord(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	tests := []struct {
		policy weir.Policy
		words  int
	}{
		{weir.TokenBucket{Limit: 1000, Per: s}, 1},
		{weir.TokenBucket{Limit: 999, Per: s}, 2},
		{weir.LeakyBucket{Limit: 8, Per: s}, 1},
		{weir.LeakyBucket{Limit: 7, Per: s}, 2},
		{weir.FixedWindow{Limit: 268_435_455, Per: s}, 1},
		{weir.FixedWindow{Limit: 268_435_456, Per: s}, 2},
		{weir.SlidingWindow{Limit: 8_191, Per: s}, 1},
		{weir.SlidingWindow{Limit: 8_192, Per: s}, 3},
		{weir.SlidingWindow{Limit: 65_535, Per: m}, 1},
		{weir.SlidingWindow{Limit: 65_536, Per: m}, 3},
		{weir.SlidingWindow{Limit: 524_287, Per: h}, 1},
		{weir.SlidingWindow{Limit: 524_288, Per: h}, 3},
		{weir.CalendarWindow{Limit: 536_870_911, Unit: weir.Day}, 1},
		{weir.CalendarWindow{Limit: 536_870_912, Unit: weir.Day}, 2},
		{weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 8, Per: s}}, 4},
		{weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 8, Per: s}, Peak: weir.TokenBucket{Limit: 8, Per: s}}, 4},
	}
	for _, tt := range tests {
		d, err := tt.policy.Decider()
		require.NoError(t, err)
		assert.Equal(t, tt.words, d.Words(), "%+v", tt.policy)
	}
}
