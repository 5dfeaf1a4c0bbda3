package waiting

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestWait_TellsThatTheStoreFails(t *testing.T) {
	for _, p := range policiesToWaitFor {
		store := new(kit.Faulty)
		bubble(t, p, func(c *crowd) {
			store.Down.Store(true)
			err := c.come("a", 1).err
			assert.EqualError(c.t, err, "weir: Wait for 1 events: the store fails")
			store.Down.Store(false)
			c.come("b", 1)
			c.want("a 0s store-fails", "b 0s")
		}, weir.WithStore(store))
	}
}

// Callers that have booked no longer need the store. Callers that ask while it is down get its
// error.
func TestWait_AnOutageLeavesBookingsAsTheyAre(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
	} {
		store := new(kit.Faulty)
		bubble(t, p, func(c *crowd) {
			for _, name := range []string{"a", "b", "c"} {
				c.come(name, 1)
			}
			store.Down.Store(true)
			c.until(1500 * ms)
			c.come("during", 1)
			store.Down.Store(false)
			c.come("after", 1)
			c.end()
			c.want("a 0s", "b 1s", "during 1.5s store-fails", "c 2s", "after 3s")
		}, weir.WithStore(store))
	}
}

// Whose turn it is to ask again hears of the failure, and those behind go on when it is over.
func TestWait_AnOutageFailsThoseWhoseTurnItIs(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 1, Per: time.Second},
		weir.SlidingLog{Limit: 1, Per: time.Second},
	} {
		mem, asked := new(weir.MemStore), 0
		store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if asked++; asked == 3 { // a, b when it came, b when it was its turn
				return weir.Answer{Result: weir.Result{Allowed: true}}, kit.ErrStore
			}
			return mem.Do(ctx, r)
		})
		bubble(t, p, func(c *crowd) {
			for _, name := range []string{"a", "b", "c", "d"} {
				c.come(name, 1)
			}
			c.end()
			c.want("a 0s", "b 1s store-fails", "c 1s", "d 2s")
		}, weir.WithStore(store))
	}
}

// If a place cannot be given back it stays booked: those behind keep theirs, and none is granted
// too early.
func TestCancel_WhileTheStoreFails(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
	} {
		store := new(kit.Faulty)
		bubble(t, p, func(c *crowd) {
			for _, name := range []string{"a", "b", "c", "d"} {
				c.come(name, 1)
			}
			store.Down.Store(true)
			c.cancel(c.callers[2])
			c.cancel(c.callers[1])
			store.Down.Store(false)
			c.come("e", 1)
			c.end()
			c.want("a 0s", "b 0s cancelled", "c 0s cancelled", "d 3s", "e 4s")
		}, weir.WithStore(store))
	}
}

// Two limiters of one name share one allowance. Each keeps its own line; together they
// let no more through than one would, and take no longer.
func TestWait_LimitersOfOneNameShareTheAllowance(t *testing.T) {
	for _, p := range policiesToWaitFor {
		store := new(weir.MemStore)
		bubble(t, p, func(c *crowd) {
			other := &crowd{t: t, l: weir.Must(weir.New(p, weir.WithStore(store))), now: c.now, start: c.start}
			for i := range 10 {
				c.come(fmt.Sprint(2*i), 1)
				other.come(fmt.Sprint(2*i+1), 1)
			}
			c.end()
			other.end()
			var at []int
			for i := range 10 {
				require.NoError(c.t, c.callers[i].err)
				require.NoError(c.t, other.callers[i].err)
				at = append(at, int(c.callers[i].at/time.Second), int(other.callers[i].at/time.Second))
			}
			slices.Sort(at)
			for i := range at {
				assert.Equal(c.t, i, at[i])
			}
		}, weir.WithStore(store))
	}
}
