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

// The slowest bucket of a composed policy must earn again what is held and not used, within MaxAge.
// If it cannot, nothing is taken ahead of need: the events would be missing for an hour.
func TestLease_SlowestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := weir.All(
			weir.TokenBucket{Limit: 1000, Per: time.Second},
			weir.TokenBucket{Limit: 3600, Per: time.Hour})
		shared := new(weir.MemStore)
		l := weir.Must(weir.New(policy, weir.WithStore(fleet.Lease(shared, fleet.LeaseOptions{}))))
		direct := weir.Must(weir.New(policy, weir.WithStore(shared)))
		start, granted := time.Now(), 0
		for range 20 {
			for range 60 {
				if l.Allow("k") {
					granted++
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(2 * time.Second)
		}
		var hour []weir.Result
		_, err := direct.TakeByComponent(t.Context(), "k", 0, &hour)
		assert.NoError(t, err)
		earned := int(time.Since(start) / time.Second)
		assert.Equal(t, 3600-granted+earned, hour[1].Remaining)
	})
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
