package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// If more keys are busy than there is room for, most of those that have room are leased. Keys that
// drove out each other were asked for too seldom while they were watched.
func TestLease_AsManyBusyKeysAsMaxKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 800
		l := newLeased(windows[0], new(weir.MemStore), fleet.LeaseOptions{MaxKeys: keys})
		for i := range 200 * keys { // each key is asked for once in 10 ms
			l.Allow(kit.KeyName(i % keys))
			if i%80 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		held := 0
		for i := range keys {
			if l.lease.Held(l.plan, kit.KeyName(i)) > 0 {
				held++
			}
		}
		assert.Greater(t, held, 600, "of %d keys", l.lease.Keys())

		// Keys that are not busy any more make room.
		time.Sleep(5 * time.Second)
		for range 30 {
			for i := range 40 {
				l.Allow(kit.KeyName(keys + i))
			}
			time.Sleep(time.Millisecond)
		}
		for i := range 40 {
			assert.Positive(t, l.lease.Held(l.plan, kit.KeyName(keys+i)))
		}
		require.NoError(t, l.lease.Release(t.Context()))
	})
}
