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
