package change_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R13: where a tier is made of the same policies as before, but by All in place of Tiers, it does
// not count all the events of before. Of these ten, All counts five.
func TestR13_TiersBecomeAll(t *testing.T) {
	a, b := weir.FixedWindow{Limit: 5, Per: time.Hour}, weir.FixedWindow{Limit: 5, Per: time.Minute}
	l, _ := kit.Frozen(weir.Tiers(weir.Tiers(a, b)))
	for range 2 {
		require.True(t, kit.Take(t, l, "k", 5).Allowed)
	}
	require.NoError(t, l.SetPolicy(context.Background(), weir.Tiers(
		weir.All(a, b), weir.SlidingLog{Limit: 5, Per: time.Hour},
	)))
	assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
}

// R16: Return frees the events of the last policy, and then those of the policy before it. Parts of
// All count the same events, also where All is a tier.
func TestR16_ReturnToATierOfAll(t *testing.T) {
	ctx := context.Background()
	last := weir.Tiers(weir.All(
		weir.SlidingLog{Limit: 5, Per: time.Hour}, weir.FixedWindow{Limit: 5, Per: time.Minute},
	))
	before := weir.FixedWindow{Limit: 10, Per: time.Hour}
	l, _ := kit.Frozen(last)
	for _, ask := range []struct {
		by weir.Policy
		n  int
	}{{last, 1}, {before, 3}, {last, 1}} {
		require.NoError(t, l.SetPolicy(ctx, ask.by))
		require.True(t, kit.Take(t, l, "k", ask.n).Allowed)
	}
	require.NoError(t, l.Return(ctx, "k", 5))
	assert.Equal(t, 5, kit.Take(t, l, "k", 0).Remaining)
	require.NoError(t, l.SetPolicy(ctx, before))
	assert.Equal(t, 10, kit.Take(t, l, "k", 0).Remaining)
}
