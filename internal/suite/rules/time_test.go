package rules

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestR7_AClockSetBackEarnsNothing(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		synctest.Test(t, func(t *testing.T) {
			mock := clock.NewMock()
			l := weir.Must(weir.New(p, weir.WithClock(mock)))
			take := func(at int64, n int) weir.Result {
				mock.Set(time.Unix(0, at))
				r, err := l.Take(context.Background(), "key", n)
				require.NoError(t, err)
				return r
			}
			require.True(t, take(kit.T0, 4).Allowed)
			full := take(kit.T0, take(kit.T0, 0).Remaining)
			denied := take(kit.T0, 1)
			due := kit.T0 + int64(denied.RetryAfter)
			for _, back := range []time.Duration{1, time.Second, time.Hour, 365 * 24 * time.Hour} {
				at := kit.T0 - int64(back)
				assert.Equal(t, denied, take(at, 1), "as at the latest instant")
				assert.Equal(t, full.Remaining, take(at, 0).Remaining)
			}
			assert.False(t, take(due-1, 1).Allowed)
			assert.True(t, take(due, 1).Allowed, "delayed by no more than the step")
		})
	})
}

func TestR7_ALateInstantEarnsNothing(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		k := kit.NewKey(t, p)
		limit := k.Fill(kit.T0)
		due := kit.T0 + int64(k.Take(kit.T0, 1).RetryAfter)
		full := slices.Clone(k.State)
		for _, late := range []int64{kit.T0 - 1, kit.T0 - int64(time.Second), kit.T0 - int64(time.Hour), 1, 0} {
			for n := 1; n <= limit; n++ {
				assert.False(t, k.Take(late, n).Allowed)
			}
			assert.Zero(t, k.Look(late).Remaining)
		}
		assert.Equal(t, full, k.State)
		assert.True(t, k.Take(due, 1).Allowed)
	})
}

// Events that are granted at an earlier instant count as if granted at the latest one.
func TestR7_LateGrantsCount(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		late, punctual := kit.NewKey(t, p), kit.NewKey(t, p)
		late.Take(kit.T0, 1)
		punctual.Take(kit.T0, 1)
		for i := range int64(20) {
			if late.Take(kit.T0-i*int64(time.Second), 1).Allowed {
				assert.True(t, punctual.Take(kit.T0, 1).Allowed)
			}
			assert.Equal(t, punctual.Look(kit.T0), late.Look(kit.T0))
		}
	})
}

// A limiter decides by the latest instant that it saw itself. If Allow asked by the instant of
// another limiter with the same name, policy and clock, it would deny what Take grants. The second
// limiter does not see the later instant in the store, which might then drop the key.
func TestR7_ALimiterDecidesByTheLatestInstantThatItSaw(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		opts := []weir.Option{weir.WithStore(new(weir.MemStore)), weir.WithName("both"), weir.WithClock(clock)}
		first, second := weir.Must(weir.New(p, opts...)), weir.Must(weir.New(p, opts...))
		for first.Allow("key") {
		}
		clock.Time = clock.Add(365 * 24 * time.Hour)
		plan, err := second.PlanOf(t.Context(), "key")
		require.NoError(t, err)
		plan.Now()
		clock.Time = time.Unix(0, kit.T0)
		require.False(t, first.Allow("key"))
		assert.True(t, second.Allow("key"))
	})
}
