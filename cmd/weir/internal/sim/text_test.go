package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

func TestParse(t *testing.T) {
	s, err := Parse("p=fixed-window+5/1m~8s~5/s&p=all(1/s,%209/1h)&r=5x3,40.25&x=poisson&b=8s:20&o=4s-5s&c=mixed&t=1m30s&m=2s")
	require.NoError(t, err)
	assert.Equal(t, Scenario{
		Span: 90 * time.Second,
		Lanes: []Lane{
			{weir.FixedWindow{Limit: 5, Per: time.Minute}, weir.TokenBucket{Limit: 5, Per: time.Second}, 8 * time.Second},
			{Policy: weir.All(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.TokenBucket{Limit: 9, Per: time.Hour})},
		},
		Rates:   []int64{5000, 5000, 5000, 40_250},
		Poisson: true,
		Bursts:  []Burst{{8 * time.Second, 20}},
		Outages: []Outage{{4 * time.Second, 5 * time.Second}},
		Clients: Mixed,
		Measure: 2 * time.Second,
	}, s)
}

// Query writes what Parse reads, and the shortest form of it.
func TestQuery(t *testing.T) {
	queries := []string{
		"p=10/1s&r=20&t=20s",
		"p=fixed-window+5/1m~8s~5/1s&p=all(1/1s,+9/1h)&r=5x3,40.25&x=poisson&b=8s:20,9s:1&o=4s-5s&c=mixed&t=1m30s&m=2h",
		"p=calendar-window+5/day+location=Europe/Berlin&r=0,0.2x2&t=24h",
		"p=10/1s&r=7x60&x=poisson&t=20s",
	}
	for _, e := range Experiments {
		queries = append(queries, e.Query)
	}
	for _, q := range queries {
		s, err := Parse(q)
		require.NoError(t, err, q)
		again, err := Parse(s.Query())
		require.NoError(t, err, s.Query())
		assert.Equal(t, s, again)
	}
	for _, q := range queries[:4] {
		s, err := Parse(q)
		require.NoError(t, err)
		assert.Equal(t, q, s.Query())
	}
}

func TestParseErrors(t *testing.T) {
	for query, want := range map[string]string{
		"":                                      "the number of policies is 0, must be 1 to 6",
		"p=1/s&q=1":                             `the link has "q", must be one of p, t, r, x, b, o, c and m`,
		"p=1/s&t=1s&t=2s":                       "the link has t more than once",
		"p=%zz":                                 `the link has "%zz", must have two hexadecimal digits after %`,
		"p=1/s%2":                               `the link has "%2", must have two hexadecimal digits after %`,
		"p=1/s&t=soon":                          `"soon" is no duration, must be one such as 90s or 1h30m`,
		"p=1/s&t=9000h":                         "the span is 9000h0m0s, must be 1ms to 8784h0m0s",
		"p=1/s&m=0s":                            "the measured span is 0s, must be 1ns to 8784h0m0s",
		"p=1/s&r=-1":                            `"-1" is no rate, must be requests a second, at most 1000000`,
		"p=1/s&r=NaN":                           `"NaN" is no rate, must be requests a second, at most 1000000`,
		"p=1/s&r=1x0":                           `"1x0" repeats a rate, must do so 1 to 120 times`,
		"p=1/s&r=1x100,2x21":                    "the number of rates is 121, must be 1 to 120",
		"p=1/s&r=1000000":                       "the number of requests is 50001, must be 0 to 50000",
		"p=1/s&r=0&b=1s:50001":                  "a burst is 50001, must be 1 to 50000",
		"p=1/s&b=1s":                            `"1s" is no burst, must be an instant and a number up to 50000, such as 8s:20`,
		"p=1/s&b=8s:99999999999999999999":       `"8s:99999999999999999999" is no burst, must be an instant and a number up to 50000, such as 8s:20`,
		"p=1/s&t=-5s":                           "the span is -5s, must be 1ms to 8784h0m0s",
		"p=1/s~1s~2/s&b=1s:5&o=1s-2s&t=-5s":     "the span is -5s, must be 1ms to 8784h0m0s",
		"p=1/s&b=21s:1":                         "the instant of a burst is 21s, must be 0 to 20s",
		"p=1/s&o=5s":                            `"5s" is no outage, must be two instants, such as 4s-5s`,
		"p=1/s&o=5s-4s":                         "the end of an outage is 4s, must be 5s to 20s",
		"p=1/s&o=-5s-4s":                        `"-5s-4s" is no outage, must be two instants, such as 4s-5s`,
		"p=1/s&c=never":                         `c is "never", must be one of once, obey, hammer, mixed, wait`,
		"p=1/s&x=even":                          `x is "even", must be poisson`,
		"p=1/s~30s~2/s":                         "the instant of a change is 30s, must be 0 to 20s",
		"p=1/s~x~2/s":                           `"x" is no duration, must be one such as 90s or 1h30m`,
		strings.Repeat("p=1/s&", 7):             "the number of policies is 7, must be 1 to 6",
		strings.Repeat("p=x&", 9999):            "the number of policies is 9999, must be 1 to 6",
		"p=1/s&" + strings.Repeat("t=x&", 9999): "the link has t more than once",
	} {
		_, err := Parse(query)
		assert.EqualError(t, err, want, query)
	}
}

// Of very many faults only some are told, and of a long one only the start.
func TestParseErrorsAreShort(t *testing.T) {
	var query strings.Builder
	for i := range 9999 {
		fmt.Fprintf(&query, "p%d=1&", i)
	}
	_, err := Parse(query.String())
	assert.Less(t, len(err.Error()), 2000)
	for _, field := range []string{"", "t=", "r=", "r=1x", "b=", "o=", "c=", "x=", "t=%"} {
		_, err := Parse("p=1/s&" + field + strings.Repeat("x", 9999))
		assert.Less(t, len(err.Error()), 300, field)
	}
}

// A fault of a policy has its lane, and its byte in the text of that policy.
func TestTextErrors(t *testing.T) {
	_, err := Parse("p=10/1s&p=10/&p=5/s~8s~5/1s+burts%3D3&r=soon")
	faults := TextErrors(err)
	require.Len(t, faults, 2)
	assert.Equal(t, 1, faults[0].Lane)
	assert.Equal(t, len("10/"), faults[0].Byte)
	assert.False(t, faults[0].Then)
	assert.Equal(t, 2, faults[1].Lane)
	assert.Equal(t, len("5/1s "), faults[1].Byte)
	assert.True(t, faults[1].Then)
	assert.Contains(t, faults[1].Reason, `"burts=3": must be`)
	assert.ErrorContains(t, err, `"soon" is no rate`)
	assert.NotContains(t, faults[0].Reason, "\n")

	_, err = Parse("p=" + strings.Repeat("1", 5000))
	assert.NotEmpty(t, TextErrors(err)[0].Reason)
	assert.Empty(t, TextErrors(nil))
}
