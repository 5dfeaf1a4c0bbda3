package waiting

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// squares is a policy of another package that books ahead. Its slots of one event begin 0, 1, 4, 9,
// 16, … seconds after the start. The state is the next free slot.
type squares struct{ start int64 }

func (p squares) Decider() (weir.Decider, error) { return p, nil }
func (p squares) Words() int                     { return 1 }
func (p squares) at(slot uint64) int64           { return p.start + int64(slot*slot)*int64(time.Second) }
func (p squares) Expiry(state []uint64) int64    { return p.at(state[0]) }

func (p squares) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	free, a := state[0], weir.Answer{Result: weir.Result{Allowed: true, Limit: 1}}
	for p.at(free+1) <= now {
		free++
	}
	delay := time.Duration(max(p.at(free)-now, 0))
	switch {
	case ask.N > 1:
		a.Allowed, a.RetryAfter = false, weir.Never
	case ask.N == 1 && delay > ask.MaxWait:
		a.Allowed, a.RetryAfter, a.Delay = false, delay-ask.MaxWait, ask.MaxWait
	case ask.N == 1:
		state[0], a.Delay = free+1, delay
		if ask.Charges != nil {
			*ask.Charges = []weir.Charge{{N: 1, Before: delay, For: time.Duration(p.at(free+1) - now)}}
		}
	case ask.N < 0 && ask.GrantedAt+int64((*ask.Charges)[0].For) == p.at(state[0]): // the last booking
		state[0] -= uint64(-ask.N)
		a.Delay = time.Duration(p.at(free) - p.at(state[0]))
	}
	a.ResetAfter = time.Duration(max(p.at(state[0])-now, 0))
	return state, a
}

// No slot is booked twice, whoever gives up: only the last booking is undone. A limiter does not
// know by how much each booking behind another one could move up. Once, it gave back the last slot
// for a caller in the middle, and moved those behind to instants between the slots.
func TestR17_SlotsOfAnotherPackage(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // of each bubble
	bubble(t, squares{start.UnixNano()}, func(c *crowd) {
		c.come("a", 1)
		leaves := c.come("b", 1)
		c.come("c", 1)
		c.come("d", 1)
		c.cancel(leaves)
		last := c.come("e", 1)
		c.cancel(last)
		c.come("f", 1)
		c.inside.Wait()
		c.want("a 0s", "b 0s cancelled", "e 0s cancelled", "c 4s", "d 9s", "f 16s")
	})
	bubble(t, squares{start.UnixNano()}, func(c *crowd) {
		c.come("a", 1)
		r := kit.Reserve(t, c.l, 1)
		assert.Equal(t, time.Second, r.Delay())
		c.come("b", 1)
		c.come("c", 1)
		require.NoError(t, r.Cancel(background))
		c.come("d", 1)
		c.inside.Wait()
		c.want("a 0s", "b 4s", "c 9s", "d 16s")
	})
}
