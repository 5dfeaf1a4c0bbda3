package weir_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// R5: what remains for a marker after a change is what a look then tells. What others have used up is charged
// to green first, so that an event may be yellow that counts as green by itself.
func TestR5_AMarkerAfterAChange(t *testing.T) {
	l, _ := frozen(weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Minute}, Excess: 5})
	for range 2 {
		l.Allow("k")
	}
	require.NoError(t, l.SetPolicy(background, weir.SingleRateMarker{
		Committed: weir.TokenBucket{Limit: 5, Per: time.Second / 2}, Excess: 5,
	}))
	for _, n := range []int{2, 3, 2} {
		got, err := l.Take(background, "k", n)
		require.NoError(t, err)
		require.True(t, got.Allowed)
		look, err := l.Take(background, "k", 0)
		require.NoError(t, err)
		assert.Equal(t, look.Remaining, got.Remaining, "after %d", n)
	}
}
