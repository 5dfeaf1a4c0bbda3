package waiting

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R16: the store frees what waiters have booked, but the reply is lost. Nothing is given back twice,
// whether SetPolicy is called again, or a waiter leaves. The waiters keep their places.
func TestR16_ALostReplyToSetPolicyOrReset(t *testing.T) {
	ten := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 10}
	more := weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 11}
	set := func(c *crowd) error { return c.l.SetPolicy(background, more) }
	reset := func(c *crowd) error { return c.l.Reset(background, "k") }
	leave := func(c *crowd) error { c.cancel(c.callers[0]); return nil }
	for _, test := range []struct {
		name  string
		fails func(*crowd) error
		taken int // by others
		then  func(*crowd) error
		left  int
		want  []string
	}{
		{"SetPolicy, and again", set, 0, set, 1, []string{"a 1s", "b 2s"}},
		{"SetPolicy, and one leaves", set, 0, leave, 1, []string{"a 0s cancelled", "b 2s"}},
		{"Reset, and one leaves", reset, 10, leave, 0, []string{"a 0s cancelled", "b 2s"}},
		{"Reset, and SetPolicy", reset, 10, set, 1, []string{"a 1s", "b 2s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mem, loses := new(weir.MemStore), false
			store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				a, err := mem.Do(ctx, r)
				if loses && (r.N < 0 || r.Forget) {
					loses = false
					return weir.Answer{}, kit.ErrStore
				}
				return a, err
			})
			bubble(t, ten, func(c *crowd) {
				require.True(c.t, kit.Take(c.t, c.l, "k", 10).Allowed)
				c.come("a", 1)
				c.come("b", 1)
				loses = true
				require.ErrorIs(c.t, test.fails(c), kit.ErrStore)
				require.True(c.t, kit.Take(c.t, c.l, "k", test.taken).Allowed)
				require.NoError(c.t, test.then(c))
				assert.Equal(c.t, test.left, c.look("k").Remaining)
				c.end()
				c.want(test.want...)
			}, weir.WithStore(store))
		})
	}
}

// Reset gives those who wait new turns if it succeeds in the end.
func TestReset_AgainAfterALostReply(t *testing.T) {
	mem, loses := new(weir.MemStore), true
	store := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		a, err := mem.Do(ctx, r)
		if loses && r.Forget {
			loses = false
			return weir.Answer{}, kit.ErrStore
		}
		return a, err
	})
	bubble(t, weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2}, func(c *crowd) {
		require.True(c.t, kit.Take(c.t, c.l, "k", 2).Allowed)
		for _, name := range []string{"a", "b", "c"} {
			c.come(name, 1)
		}
		require.ErrorIs(c.t, c.l.Reset(background, "k"), kit.ErrStore)
		require.NoError(c.t, c.l.Reset(background, "k"))
		c.end()
		c.want("a 0s", "b 0s", "c 1s")
	}, weir.WithStore(store))
}
