package waiting

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir/internal/suite/kit"
)

// A caller that would have to stand behind others gets this error at once, too.
func TestP16_MoreThanEverFitsIsToldAtOnceBehindOthers(t *testing.T) {
	for _, p := range atMostFive {
		for _, n := range []int{6, math.MaxInt} {
			t.Run(fmt.Sprintf("%T of %d", p, n), func(t *testing.T) {
				bubble(t, p, func(c *crowd) {
					c.come("fits", 5)
					waits := c.come("waits", 1)
					before := c.look("k")
					c.come("too many", n)
					c.comeUntil(time.Minute, "with a deadline", n)
					assert.Equal(c.t, before, c.look("k"))
					c.until(time.Second)
					c.cancel(waits)
					c.want("fits 0s", "too many 0s never-fits", "with a deadline 0s never-fits", "waits 1s cancelled")
				})
			})
		}
	}
}

// A policy of another package may grant later what is above its limit now.
func TestP16_MoreThanFitsNowWaitsBehindOthers(t *testing.T) {
	bubble(t, kit.Hourly(50, 5), func(c *crowd) { // it is midnight
		c.come("fits", 5)
		c.come("waits", 1)
		c.come("at eight", 6)
		c.come("never", 51)
		c.until(8 * time.Hour)
		c.want("fits 0s", "never 0s never-fits", "waits 1h0m0s", "at eight 8h0m0s")
	})
}
