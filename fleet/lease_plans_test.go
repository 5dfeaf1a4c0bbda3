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
)

// R13: if another policy has counted events of the key that last longer, those of a window are
// still held no longer than until it ends.
func TestR13_LeaseOfAKeyWithTwoPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := context.Background(), new(weir.MemStore)
		p := weir.FixedWindow{Limit: 1000, Per: time.Second, FromFirst: true}
		another := weir.Must(weir.New(
			weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.WithStore(store), weir.WithName("")))
		_, err := another.Take(ctx, "k", 100)
		require.NoError(t, err)

		l := newLeased(p, store, fleet.LeaseOptions{MaxAge: time.Hour})
		start := time.Now()
		require.True(t, l.Allow("k"))
		time.Sleep(900 * time.Millisecond)
		l.busy(t)
		require.Less(t, time.Since(start), p.Per)
		time.Sleep(time.Until(start.Add(p.Per)))
		assert.Zero(t, l.lease.Held(l.plan, "k"))
		require.NoError(t, l.lease.Release(ctx))
	})
}
