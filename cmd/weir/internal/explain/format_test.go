package explain

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0ns",
		999:                                   "999ns",
		1500:                                  "1.5µs",
		time.Second - 1:                       "1s", // as all that is rounded up to a larger unit
		time.Second + 1:                       "1s",
		10 * time.Second:                      "10s",
		1500 * time.Millisecond:               "1.5s",
		time.Minute - time.Microsecond:        "1m",
		time.Minute + time.Millisecond:        "1m",
		90 * time.Minute:                      "1h30m",
		time.Hour - time.Millisecond:          "1h",
		2*time.Hour - time.Second:             "2h",
		24*time.Hour - time.Second:            "1d",
		24*time.Hour + 90*time.Minute:         "1d2h",
		100 * 24 * time.Hour:                  "100d",
		24*time.Hour - 31*time.Minute:         "23h29m",
		48*time.Hour - 29*time.Minute:         "2d",
		math.MaxInt64:                         "106751d23h",
		math.MaxInt64 - 47*time.Minute - 17e9: "106751d23h",
	} {
		assert.Equal(t, want, Duration(d), "%d", d)
	}
}
