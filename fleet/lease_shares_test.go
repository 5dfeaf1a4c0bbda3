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

// Where the limit is divided, an event that is held fills a larger part of a bucket than its own
// policy knows. No events are taken ahead of need there, and each process grants its share.
func TestLease_InFrontOfShares(t *testing.T) {
	p := weir.TokenBucket{Limit: 1000, Per: time.Second}
	share := weir.TokenBucket{Limit: 500, Per: time.Second}
	for idle := 10 * time.Millisecond; idle < 300*time.Millisecond; idle += 10 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			shares := fleet.NewShares(new(weir.MemStore))
			require.NoError(t, shares.Set(fleet.Membership{Members: 2}))
			l := newLeased(p, shares, fleet.LeaseOptions{})
			alone := weir.Must(weir.New(share))
			time.Sleep(2 * time.Second)
			for range 100 {
				require.True(t, l.Allow("k") && alone.Allow("k"))
				time.Sleep(time.Millisecond)
			}
			time.Sleep(idle)
			for alone.Allow("k") {
				require.True(t, l.Allow("k"))
			}
			assert.False(t, l.Allow("k"), "idle for %v", idle)
			require.NoError(t, l.lease.Release(context.Background()))
		})
	}
}
