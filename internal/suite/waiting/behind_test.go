package waiting

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
