package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// Of several buckets, one is nearly full and soon earns again what is held and not used. The others
// do not, and would run out of events that nobody has used. They are not leased, however fast they
// are.
func TestLease_SeveralBuckets(t *testing.T) {
	second := weir.TokenBucket{Limit: 1000, Per: time.Second}
	for _, policy := range []weir.Policy{
		weir.All(second, weir.TokenBucket{Limit: 3600, Per: time.Hour}),
		weir.All(second, weir.TokenBucket{Limit: 100_000, Per: time.Minute}),
		weir.All(second, weir.All(weir.FixedWindow{Limit: 100_000, Per: time.Minute}, weir.TokenBucket{Limit: 10_000, Per: time.Second})),
	} {
		synctest.Test(t, func(t *testing.T) {
			shared := new(weir.MemStore)
			l := weir.Must(weir.New(policy, weir.WithStore(fleet.Lease(shared, fleet.LeaseOptions{}))))
			plain := weir.Must(weir.New(policy))
			for range 20 {
				for range 100 {
					assert.Equal(t, plain.Allow("k"), l.Allow("k"))
					time.Sleep(2 * time.Millisecond)
				}
				time.Sleep(200 * time.Millisecond)
			}
			var left, want []weir.Result
			_, err := weir.Must(weir.New(policy, weir.WithStore(shared))).TakeByComponent(t.Context(), "k", 0, &left)
			assert.NoError(t, err)
			_, err = plain.TakeByComponent(t.Context(), "k", 0, &want)
			assert.NoError(t, err)
			assert.Equal(t, want, left)
		})
	}
}

// A bucket that earns faster than the window of the same policy allows is nearly full all the time.
// The leases last as long as others all the same.
func TestLease_FasterBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := weir.All(
			weir.FixedWindow{Limit: 9000, Per: 20 * time.Second},
			weir.TokenBucket{Limit: 36_000, Per: 20 * time.Second})
		shared := &countingStore{Store: new(weir.MemStore)}
		l := weir.Must(weir.New(policy, weir.WithStore(fleet.Lease(shared, fleet.LeaseOptions{}))))
		const decisions = 2000
		for range decisions {
			assert.True(t, l.Allow("k"))
			time.Sleep(22 * time.Millisecond)
		}
		assert.Less(t, shared.calls.Load(), int64(decisions/10))
	})
}

// A countingStore counts its calls.
type countingStore struct {
	weir.Store
	calls atomic.Int64
}

func (s *countingStore) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.calls.Add(1)
	return s.Store.Do(ctx, r)
}
