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

// A key that makes room for another has nothing left to give back.
func TestLease_MakesNoRoomWithEventsThatAreToBeGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := kit.HandClock{Time: time.Now()}
		store := new(weir.MemStore)
		lease := fleet.Lease(store, fleet.LeaseOptions{MaxKeys: 1})
		l := weir.Must(weir.New(windows[0], weir.WithStore(lease), weir.WithClock(&now)))
		for range 50 {
			require.True(t, l.Allow("k"))
		}
		now.Time = now.Time.Add(1001 * time.Millisecond) // MaxAge is over, but the timer has not ended
		require.True(t, l.Allow("another"))
		require.NoError(t, lease.Release(context.Background()))
		assert.Equal(t, 950, kit.Take(t, l, "k", 0).Remaining)
	})
}
