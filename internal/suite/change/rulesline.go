package change

import (
	"fmt"
	"time"

	"github.com/weir-go/weir"
)

const allBookRule = "R20 those who wait for a bucket book"

// booking notes the instant at which all waiting callers have booked. The events of other policies
// are charged to a bucket for no longer than its own span after the last change (R14). A caller
// that was denied until then asks again when the key has recovered, at the latest.
func (c *crowd) booking() {
	over := later(c.changed, c.Policies[c.current].span())
	for k := range c.alone {
		c.alone[k] = max(c.alone[k], over)
		if now := c.now(); now <= over {
			c.alone[k] = max(c.alone[k], later(now, int64(c.look(c.current, k).ResetAfter)))
		}
	}
}

// While no other policy charges a bucket, all callers that wait for it have booked, also in a line
// that never empties. The bucket then owes at least the events that those behind the first wait
// for. Nobody can overtake them, and the policy's queue is full when their line is.
func (c *crowd) r20AllBook() string {
	limit, per := rateOf(c.Policies[c.current])
	if limit == 0 || c.hurried {
		return ""
	}
	for k := range c.alone {
		first, behind := true, 0
		for _, w := range c.waiters {
			if w.Key == k && !w.done.Load() {
				if !first {
					behind += w.N
				}
				first = false
			}
		}
		cost := time.Duration(float64(behind) / float64(limit) * float64(per))
		slack := cost/1e9 + time.Duration(len(c.Steps)) // those who move up are rounded
		if owed := c.look(c.current, k).ResetAfter; c.now() > c.alone[k] && owed < cost-slack {
			return fmt.Sprintf("only %v are owed, and those behind the first wait for %d events of %v", owed, behind, cost)
		}
	}
	return ""
}

// rateOf is the rate of a single bucket.
func rateOf(p tree) (limit int, per time.Duration) {
	switch p := p.leaf.(type) {
	case weir.TokenBucket:
		return p.Limit, p.Per
	case weir.LeakyBucket:
		return p.Limit, p.Per
	}
	return 0, 0
}
