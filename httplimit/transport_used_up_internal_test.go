package httplimit

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Numbers that do not fit mean for ever, and never wrap around to the past.
func TestRetryAfter_LargeNumbers(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"9223372036":                    9223372036 * time.Second,
		"9223372037":                    math.MaxInt64, // seconds fit an int64, nanoseconds do not
		"9223372036854775807":           math.MaxInt64,
		"9223372036854775808":           math.MaxInt64,
		"99999999999999999999999":       math.MaxInt64,
		"Fri, 31 Dec 9999 23:59:59 GMT": math.MaxInt64,
	} {
		assert.Equal(t, want, retryAfter(http.Header{"Retry-After": {value}}, time.Unix(0, 0)), value)
	}
}

// Decimals are rounded up, never down: a client would come too soon. What is no number is no time.
func TestInUnits_Decimals(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"7.5":                           7500 * time.Millisecond,
		" 0.25\t":                       250 * time.Millisecond,
		"7.":                            7 * time.Second,
		"1.0000000004":                  time.Second,
		"0.000000001":                   1,
		"9223372035.999999999":          math.MaxInt64/time.Second*time.Second - 1,
		"9223372036.9":                  math.MaxInt64,
		"1." + strings.Repeat("9", 1e6): 2*time.Second - 1,
		".5":                            0,
		".":                             0,
		"1.2.3":                         0,
		"1.-5":                          0,
		"-1.5":                          0,
		"1.5s":                          0,
		"1,5":                           0,
	} {
		assert.Equal(t, want, inUnits(value, time.Second), "%.30q", value)
	}
	assert.Equal(t, time.Duration(1), inUnits("0.0000001", time.Millisecond), "0.1 ns")
}
