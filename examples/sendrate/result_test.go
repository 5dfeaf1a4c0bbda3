package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a run at 100 lines a second with an outage from 1 s to 2 s.
func sample() *results {
	return &results{
		even:    10,
		outages: []time.Duration{time.Second},
		policies: []result{
			{"bursty", 219, 2900 * time.Millisecond, spans(10, 10, 10, 0, 1, 109, 9, 1, 1, 1)},
			{"even", 199, 2950 * time.Millisecond, spans(10, 10, 10, 0, 9, 10, 1, 9)},
			{"half", 135, 2100 * time.Millisecond, spans(10, 10, 10, 0, 1, 20, 1, 15)},
			{"ended before", 100, 990 * time.Millisecond, spans(10, 10)},
		},
	}
}

func TestReading(t *testing.T) {
	r := sample()
	for i, want := range []string{
		"largest tenth 109, even share 10, 1 tenth over 15; after outages 109 at once",
		"largest tenth 10, even share 10, 0 tenths over 15; after outages 10 spread",
		"largest tenth 20, even share 10, 1 tenth over 15; after outages 20 partly at once",
		"largest tenth 10, even share 10, 0 tenths over 15",
	} {
		assert.Equal(t, want, r.reading(r.policies[i]))
	}
}

// At less than a line in a tenth, one line is no burst.
func TestReadingOfALowRate(t *testing.T) {
	r := &results{even: 0.2}
	assert.Equal(t, "largest tenth 2, even share 0.2, 1 tenth over 1",
		r.reading(result{"slow", 4, 600 * time.Millisecond, histogram{1, 0, 1, 0, 0, 2}}))
}

func TestRelease(t *testing.T) {
	r := &results{even: 10} // so a second's load is 100
	for lines, want := range map[int]string{
		0: spread, 10: spread, 15: spread, 16: partly, 49: partly, 50: atOnce, 109: atOnce,
	} {
		assert.Equal(t, want, r.release(lines), lines)
	}
}

func TestSummary(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().summary(&b))
	assert.Equal(t, `              lines  in     largest tenth  over 15   after 2s
bursty        219    2.9 s  109            1 tenth   109 at once
even          199    3.0 s  10             0 tenths  10 spread
half          135    2.1 s  20             1 tenth   20 partly at once
ended before  100    1.0 s  10             0 tenths
`, strings.ReplaceAll(b.String(), "  \n", "\n"))
}

func TestShort(t *testing.T) {
	for want, f := range map[string]float64{
		"100": 100, "7.5": 7.5, "0.667": 2.0 / 3, "15000": 15_000, "1234568": 1_234_567.8, "2.78e-05": 0.1 / 3600,
	} {
		assert.Equal(t, want, short(f))
	}
}
