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
