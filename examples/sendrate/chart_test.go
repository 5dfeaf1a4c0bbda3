package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func charts(t *testing.T, r *results, width int) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.writeCharts(&b, width))
	return b.String()
}

func TestChart(t *testing.T) {
	r := &results{even: 10, outages: []time.Duration{time.Second}, policies: []result{
		{"up", 215, 2 * time.Second, histogram{0, 1, 5, 10, 15, 20, 25, 30, 35, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 34}},
		{"flat", 80, 790 * time.Millisecond, spans(8, 10)},
	}}
	assert.Equal(t, `up: 215 lines in 2.0 s
   40 ┤        ▃█          ▂
      │      ▁▆██          █
      │     ▄████          █
      │   ▂▇█████          █
      │ ▁▅███████          █
    0 ┼┬─────────░░░░░░░░░░┬
       0s        1s        2s
largest tenth 40, even share 10, 6 tenths over 15; after outages 34 partly at once

flat: 80 lines in 0.8 s
   40 ┤
      │
      │
      │▂▂▂▂▂▂▂▂
      │████████
    0 ┼┬───────
       0s
largest tenth 10, even share 10, 0 tenths over 15

`, charts(t, r, 80))
}

// A chart wider than the terminal is cut into bands of whole seconds.
func TestChartInBands(t *testing.T) {
	r := &results{even: 1, policies: []result{{"long", 25, 2400 * time.Millisecond, spans(25, 1)}}}
	assert.Equal(t, `long: 25 lines in 2.4 s
    1 ┤████████████████████
      │████████████████████
      │████████████████████
      │████████████████████
      │████████████████████
    0 ┼┬─────────┬─────────
       0s        1s
    1 ┤█████
      │█████
      │█████
      │█████
      │█████
    0 ┼┬────
       2s
largest tenth 1, even share 1, 0 tenths over 1.5

`, charts(t, r, marginRunes+20+5))
}

// In a long run tenths share a column, which shows the largest of them.
func TestChartOfALongRun(t *testing.T) {
	tenths := spans(36_000, 1)
	tenths[20_000] = 7
	r := &results{even: 1, policies: []result{{"hour", 36_006, time.Hour, tenths}}}
	got := charts(t, r, 80)
	assert.Contains(t, got, "hour: 36006 lines in 3600.0 s; each column is the largest tenth of 20.0 s\n")
	assert.Contains(t, got, "    7 ┤                                        █\n")
	assert.Contains(t, got, "\n       20m0s     23m20s    26m40s    30m0s     33m20s    36m40s\n")
}

func TestChartOfNothing(t *testing.T) {
	r := &results{even: 1, policies: []result{{policy: "idle"}}}
	assert.Equal(t, "idle: 0 lines in 0.0 s\n\n", charts(t, r, 80))
}

// A chart of any length fits any width, in at most maxBands bands of equal width.
func TestChartFits(t *testing.T) {
	for _, width := range []int{0, 1, marginRunes + labelEvery, 40, 80, 123} {
		for _, n := range []int{1, 9, 10, 11, 72, 73, 74, 120, 299, 1000, 123_456} {
			r := &results{even: 1, policies: []result{{"p", n, time.Duration(n) * tenth, spans(n, 1)}}}
			lines := strings.Split(charts(t, r, width), "\n")
			bands := 0
			for _, line := range lines[1:] { // below the title
				if strings.HasPrefix(line, "largest") {
					break
				}
				if strings.Contains(line, "┼") {
					bands++
					assert.LessOrEqual(t, utf8.RuneCountInString(line), max(width, marginRunes+labelEvery))
				}
			}
			assert.LessOrEqual(t, bands, maxBands, "width %d, %d tenths", width, n)
			assert.Positive(t, bands)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		n, top int
		want   string // from below
	}{
		{0, 40, "     "},
		{1, 1000, "▁    "},
		{1, 40, "▁    "},
		{8, 40, "█    "},
		{9, 40, "█▁   "},
		{39, 40, "████▇"},
		{40, 40, "█████"},
	} {
		got := ""
		for row := range chartHeight {
			got += string(bar(c.n, c.top, row))
		}
		assert.Equal(t, c.want, got, "%d of %d", c.n, c.top)
	}
}
