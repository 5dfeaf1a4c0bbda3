package fleet_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A process without a share denies as a used-up key does. It looks, charges what has happened, and
// resets.
func TestShares_NoShare(t *testing.T) {
	ctx := context.Background()
	shares := sharesOf(t, new(weir.MemStore), 3, 8)
	l, _ := kit.Frozen(weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.WithStore(shares))
	denied := weir.Result{RetryAfter: time.Hour, ResetAfter: time.Hour}
	assert.Equal(t, denied, kit.Take(t, l, "k", 1))
	assert.Equal(t, weir.Result{Allowed: true, ResetAfter: time.Hour}, kit.Take(t, l, "k", 0))
	assert.Equal(t, weir.Never, kit.Take(t, l, "k", 4).RetryAfter)
	n, r, err := l.TakeUpTo(ctx, "k", 9)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, denied, r)
	assert.False(t, l.Allow("k"))

	reserved, err := l.Reserve(ctx, "k", 0)
	require.NoError(t, err)
	require.NoError(t, reserved.Settle(ctx, 1))
	require.NoError(t, l.Return(ctx, "k", 0))
	set(t, shares, 0, 1)
	shares.Settle()
	assert.Equal(t, 2, kit.Take(t, l, "k", 0).Remaining)
	require.NoError(t, l.Reset(ctx, "k"))
	assert.Equal(t, 3, kit.Take(t, l, "k", 0).Remaining)
}

// A policy without a limit is not granted either. No request can use it up, and few are tried.
func TestShares_NoShareWithoutALimit(t *testing.T) {
	asked := 0
	l, _ := kit.Frozen(endless{&asked}, weir.WithStore(fleet.NewShares(new(weir.MemStore))))
	for _, n := range []int{1, 0} {
		assert.Equal(t, weir.Result{Allowed: n == 0, RetryAfter: time.Duration(n) * weir.Never}, kit.Take(t, l, "k", n))
	}
	assert.Less(t, asked, 30)
}

// For TakeUpTo, one event must fit the share that is to come, and not all.
func TestShares_UpToBeforeTheShareApplies(t *testing.T) {
	shares := fleet.NewShares(new(weir.MemStore))
	set(t, shares, 0, 2)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 100}, weir.WithStore(shares)))
	for _, n := range []int{1, 50, 51, math.MaxInt} {
		granted, r, err := l.TakeUpTo(context.Background(), "k", n)
		require.NoError(t, err)
		assert.Zero(t, granted)
		assert.InDelta(t, 10*time.Second, r.RetryAfter, float64(2*time.Second), "of %d", n)
	}
}

// endless is a policy that grants everything. It counts how often it is asked.
type endless struct{ asked *int }

func (e endless) Decider() (weir.Decider, error) { return e, nil }
func (endless) Words() int                       { return 1 }
func (endless) Expiry([]uint64) int64            { return 0 }

func (e endless) Decide(state []uint64, _ int64, _ weir.Ask) ([]uint64, weir.Answer) {
	*e.asked++
	return state, weir.Answer{Result: weir.Result{Allowed: true, Limit: 1 << 30, Remaining: 1 << 30}}
}

// The share of a policy that takes longer to recover than any clock shows does not grow. A denial
// says so each time.
func TestShares_RecoversAfterTheLastInstant(t *testing.T) {
	for _, policy := range []weir.Policy{
		weir.TokenBucket{Limit: 10, Per: math.MaxInt64},
		weir.FixedWindow{Limit: 10, Per: math.MaxInt64, FromFirst: true},
	} {
		shares := fleet.NewShares(new(weir.MemStore))
		set(t, shares, 0, 1)
		l := weir.Must(weir.New(policy, weir.WithStore(shares)))
		for range 3 {
			r := kit.Take(t, l, "k", 1)
			assert.False(t, r.Allowed)
			assert.Positive(t, r.RetryAfter, "%v", policy)
		}
	}
}
