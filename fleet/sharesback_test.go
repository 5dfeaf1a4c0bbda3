package fleet_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// limiterOf returns a limiter of a name that others have, too.
func limiterOf(p weir.Policy, s weir.Store) *weir.KeyedLimiter {
	return weir.Must(weir.New(p, weir.WithStore(s), weir.WithName("")))
}

// Events that are given back free no more than they were charged, also if another limiter of the
// name gives them back.
func TestShares_GiveBackAfterAChange(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 1)
		p := weir.SlidingLog{Limit: 60, Per: time.Minute}
		l, other := limiterOf(p, shares), limiterOf(p, shares)
		require.True(t, kit.Take(t, l, "k", 60).Allowed)
		set(t, shares, 0, 3)
		for range 6 { // each frees a place, of the three that an event takes now
			require.NoError(t, l.Return(ctx, "k", 1))
			require.NoError(t, other.Return(ctx, "k", 1))
		}
		assert.Equal(t, 4, kit.Take(t, l, "k", 0).Remaining)

		time.Sleep(time.Minute)
		assert.Equal(t, 20, kit.Take(t, l, "k", 0).Remaining)
		require.True(t, kit.Take(t, l, "k", 20).Allowed)
		require.NoError(t, l.Return(ctx, "k", 5))
		require.NoError(t, other.Return(ctx, "k", 5))
		assert.Equal(t, 10, kit.Take(t, l, "k", 0).Remaining)

		reserved := kit.Reserve(t, l, 10)
		require.NoError(t, reserved.Settle(ctx, 4))
		assert.Equal(t, 6, kit.Take(t, l, "k", 0).Remaining)
		reserved = kit.Reserve(t, l, 6)
		set(t, shares, 0, 2)
		time.Sleep(time.Minute)
		require.NoError(t, reserved.Cancel(ctx)) // of it nothing counts any more
		assert.Equal(t, 30, kit.Take(t, l, "k", 0).Remaining)
	})
}

// What another limiter of the name was granted with a larger share is freed for no more than it was
// charged, also by a limiter that was not asked meanwhile.
func TestShares_GiveBackOfWhatAnotherWasGranted(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 4)
		p := weir.SlidingLog{Limit: 60, Per: time.Minute}
		l, other := limiterOf(p, shares), limiterOf(p, shares)
		require.Equal(t, 15, kit.Take(t, l, "k", 0).Remaining)
		set(t, shares, 0, 1)
		time.Sleep(time.Minute)
		require.True(t, kit.Take(t, other, "k", 60).Allowed)
		set(t, shares, 0, 4)
		time.Sleep(time.Minute - time.Second)
		granted := 0
		for range 4 {
			require.NoError(t, l.Return(ctx, "k", 15))
			n, _, err := l.TakeUpTo(ctx, "k", 15)
			require.NoError(t, err)
			granted += n
		}
		assert.LessOrEqual(t, granted, 15)
	})
}

// While a larger share does not count yet, events still take as much as before, and free as much.
func TestShares_GiveBackBeforeTheShareGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 4)
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 60, Per: time.Minute}, weir.WithStore(shares)))
		require.True(t, kit.Take(t, l, "k", 15).Allowed)
		set(t, shares, 0, 2)
		require.NoError(t, l.Return(context.Background(), "k", 5))
		assert.Equal(t, 5, kit.Take(t, l, "k", 0).Remaining)
	})
}

// However the members change, limiters of one name together free no more than was charged.
func TestShares_GiveBackNoMoreThanWasCharged(t *testing.T) {
	ctx, p := context.Background(), weir.SlidingLog{Limit: 60, Per: time.Minute}
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			shares := sharesOf(t, new(weir.MemStore), 0, 1)
			both := [2]*weir.KeyedLimiter{limiterOf(p, shares), limiterOf(p, shares)}
			type event struct {
				at     time.Time
				weight int
			}
			var events []event // that were granted, and not given back
			for range 200 {
				l, n := both[r.IntN(2)], 1+r.IntN(10)
				switch r.IntN(4) {
				case 0:
					set(t, shares, 0, 1+r.IntN(4))
				case 1:
					time.Sleep(time.Duration(r.IntN(30)) * time.Second)
				case 2:
					n, result, err := l.TakeUpTo(ctx, "k", n)
					require.NoError(t, err)
					for range n {
						events = append(events, event{time.Now(), p.Limit / result.Limit})
					}
				default:
					require.NoError(t, l.Return(ctx, "k", n))
					events = events[:max(len(events)-n, 0)]
				}
				charged := 0
				for _, e := range events {
					if time.Since(e.at) < p.Per {
						charged += e.weight
					}
				}
				left := kit.Take(t, l, "k", 0)
				if !assert.LessOrEqual(t, charged+left.Remaining*(p.Limit/left.Limit), p.Limit, "seed %d", seed) {
					return
				}
			}
		})
	}
}
