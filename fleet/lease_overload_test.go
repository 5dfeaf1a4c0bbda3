package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A key of which the policy could grant much more, or much less, than is asked for costs one call
// in 20 decisions all the same: while a fast bucket earns again what is held within microseconds,
// and if requests of several sizes compete for what is left.
func TestLease_CallsFarFromTheLimit(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		sizes  int
	}{
		{weir.TokenBucket{Limit: 100_000, Per: time.Second}, 1},
		{weir.TokenBucket{Limit: 1_000_000, Per: time.Second}, 1},
		{weir.TokenBucket{Limit: 1000, Per: time.Second}, 5},
		{weir.TokenBucket{Limit: 1000, Per: time.Second}, 50},
		{weir.FixedWindow{Limit: 1000, Per: time.Second}, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLeased(c.policy, new(weir.MemStore), fleet.LeaseOptions{})
			for i := range 10_000 {
				kit.Take(t, l.KeyedLimiter, "k", 1+i%c.sizes)
				time.Sleep(time.Millisecond)
			}
			assert.LessOrEqual(t, l.behind.asked.Load(), int64(10_000/20+50), "%v, up to %d", c.policy, c.sizes)
			require.NoError(t, l.lease.Release(context.Background()))
		})
	}
}

// A denial of a large request does not keep small ones from what the store has.
func TestLease_SmallRequestsAfterALargeDenial(t *testing.T) {
	kit.EachInBubble(t, leasedPolicies, func(t *testing.T, p weir.Policy) {
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		l.busy(t)
		assert.False(t, kit.Take(t, l.KeyedLimiter, "k", 1000).Allowed)
		for range 500 {
			require.True(t, l.Allow("k"))
		}
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// If the store grants a part of what a request needs, nobody is told to wait until the next window
// is long under way. With a DenyCache in front, that would be kept.
func TestLease_RetryAfterAtTheEndOfAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ctx := weir.FixedWindow{Limit: 1000, Per: time.Hour}, context.Background()
		shared := new(weir.MemStore)
		l, other := newLeased(p, shared, fleet.LeaseOptions{}), weir.Must(weir.New(p, weir.WithStore(shared)))
		time.Sleep(time.Hour - 2*time.Second)
		for range 100 {
			require.True(t, l.Allow("k"))
			time.Sleep(time.Millisecond)
		}
		_, _, err := other.TakeUpTo(ctx, "k", l.look(t).Remaining-5)
		require.NoError(t, err)
		r := kit.Take(t, l.KeyedLimiter, "k", 500)
		assert.False(t, r.Allowed)
		assert.LessOrEqual(t, r.RetryAfter, r.ResetAfter)
		time.Sleep(r.ResetAfter)
		assert.True(t, kit.Take(t, l.KeyedLimiter, "k", 500).Allowed)
		require.NoError(t, l.lease.Release(ctx))
	})
}
