package waiting

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// Where a Reservation is behind b, a place that b gives back is lost. If the policy of b stays the
// same, b keeps its place.
func TestSetPolicy_ThoseWhosePolicyStaysKeepTheirPlaces(t *testing.T) {
	bucket, other := weir.TokenBucket{Limit: 1, Per: time.Second}, weir.TokenBucket{Limit: 1, Per: time.Hour}
	ofKey := weir.WithPolicyFor(func(context.Context, string) weir.Policy { return bucket })
	for name, test := range map[string]struct {
		to   weir.Policy
		opts []weir.Option
	}{
		"the same policy":     {to: bucket},
		"a policy of the key": {other, []weir.Option{ofKey}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, bucket, func(c *crowd) {
				c.come("a", 1)
				c.come("b", 1)
				r, err := c.l.Reserve(background, "k", 1)
				require.NoError(c.t, err)
				assert.Equal(c.t, 2*time.Second, r.Delay())
				c.come("c", 1)
				require.NoError(c.t, c.l.SetPolicy(background, test.to))
				c.end()
				c.want("a 0s", "b 1s", "c 3s")
			}, test.opts...)
		})
	}
}

// R14: where two limiters share a key, each waiter has others behind it. A configuration that is read
// again and again shuts nobody out.
func TestR14_TheSamePolicyIsSetAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket := weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 1}
		ctx, stop := context.WithTimeout(background, 9950*time.Millisecond)
		defer stop()
		store := new(weir.MemStore)
		var served atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			l := weir.Must(weir.New(bucket, weir.WithStore(store), weir.WithName("shared")))
			for range 10 {
				all.Go(func() {
					for l.Wait(ctx, "k", 1) == nil {
						served.Add(1)
					}
				})
			}
			all.Go(func() {
				for ctx.Err() == nil {
					assert.NoError(t, l.SetPolicy(background, bucket))
					time.Sleep(700 * time.Millisecond)
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, 100, served.Load())
	})
}
