package waiting

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// After a plan has become slower, an event takes more time than when the waiting callers got their
// turns. They keep these turns.
func TestReturn_WhenThePlanHasChanged(t *testing.T) {
	var plan atomic.Value
	plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9})
	bubble(t, bookable[0], func(c *crowd) {
		for _, name := range []string{"a", "b", "c"} {
			c.come(name, 1)
		}
		plan.Store(weir.LeakyBucket{Limit: 1, Per: time.Minute, Capacity: 9})
		require.NoError(c.t, c.l.Return(background, "k", 1))
		c.end()
		c.want("a 0s", "b 1s", "c 2s")
	}, weir.WithPolicyFor(func(context.Context, string) weir.Policy { return plan.Load().(weir.Policy) }))
}

// R17: where places are booked, it is not known whether what is returned lies before or behind
// them, and so it frees nothing.
func TestR17_ReturnWhilePlacesAreBooked(t *testing.T) {
	for _, p := range bookable {
		bubble(t, p, func(c *crowd) {
			for _, name := range []string{"a", "b", "c"} {
				c.come(name, 1)
			}
			c.until(300 * ms)
			require.NoError(c.t, c.l.Return(background, "k", 1))
			c.end()
			c.want("a 0s", "b 1s", "c 2s")
		})
	}
}

// Returned events are granted at once to waiting callers that ask again.
func TestReturn_ServesThoseWhoAskAgain(t *testing.T) {
	for _, p := range policiesToWaitFor[2:] {
		bubble(t, p, func(c *crowd) {
			for _, name := range []string{"a", "b", "c"} {
				c.come(name, 1)
			}
			c.until(300 * ms)
			require.NoError(c.t, c.l.Return(background, "k", 1))
			c.until(400 * ms)
			require.NoError(c.t, c.l.Return(background, "k", 1))
			c.end()
			c.want("a 0s", "b 300ms", "c 400ms")
		})
	}
}

// The first of a line asks just when something is given back, and is denied by what was before. It
// must not sleep on that.
func TestReturn_ADenialUnderWayIsOutOfDate(t *testing.T) {
	mem, first := new(weir.MemStore), true
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		a, err := mem.Do(ctx, r)
		switch {
		case r.N < 0 && first: // somebody else takes what was given back
			first = false
			_, _ = mem.Do(ctx, weir.Request{Plan: r.Plan, Key: r.Key, Ask: weir.Ask{N: 1}})
		case r.N > 0 && !a.Allowed:
			time.Sleep(100 * ms)
		}
		return a, err
	})
	bubble(t, weir.FixedWindow{Limit: 1, Per: time.Hour}, func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		c.until(time.Second)
		require.NoError(c.t, c.l.Return(background, "k", 1))
		c.until(1050 * ms) // b was woken, and its denial is under way
		require.NoError(c.t, c.l.Return(background, "k", 1))
		c.end()
		c.want("a 0s", "b 1.1s")
	}, weir.WithStore(store))
}

// After a reset, the callers that wait for the key get new turns. No more of them go at once than
// the policy allows.
func TestReset_GivesThoseWhoWaitNewTurns(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		want   []string
	}{
		{
			weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2},
			[]string{"a 0s", "b 500ms", "c 500ms", "d 1.5s", "e 2.5s"},
		},
		{
			weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9},
			[]string{"a 500ms", "b 1.5s", "c 2.5s", "d 3.5s", "e 4.5s"},
		},
		{
			weir.FixedWindow{Limit: 2, Per: time.Hour, FromFirst: true},
			[]string{"a 0s", "b 500ms", "c 500ms", "d 1h0m0.5s", "e 1h0m0.5s"},
		},
	} {
		bubble(t, test.policy, func(c *crowd) {
			c.reserve(1)
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				c.come(name, 1)
			}
			c.until(500 * ms)
			require.NoError(c.t, c.l.Reset(background, "k"))
			c.end()
			c.want(test.want...)
		})
	}
}

// If the store does not forget, everybody keeps their turn.
func TestReset_WhileTheStoreFails(t *testing.T) {
	store := new(kit.Faulty)
	bubble(t, bookable[0], func(c *crowd) {
		c.come("a", 1)
		c.come("b", 1)
		store.Down.Store(true)
		assert.ErrorIs(c.t, c.l.Reset(background, "k"), kit.ErrStore)
		assert.ErrorIs(c.t, c.l.Return(background, "k", 1), kit.ErrStore)
		store.Down.Store(false)
		c.end()
		c.want("a 0s", "b 1s")
	}, weir.WithStore(store))
}
