package httplimit

import (
	"math"
	"net/http"
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
