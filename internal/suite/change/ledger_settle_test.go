package change_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R15, row 1: a Settle for more events, of a booking by a log that was smaller, leaves every counted
// event at its instant. A log in debt keeps no more entries than its limit needs, and that is now a
// larger one.
func TestR15_SettleByASmallerLog(t *testing.T) {
	l, clock := kit.Frozen(weir.SlidingLog{Limit: 1, Per: 10 * time.Second})
	start := clock.Time
	at := func(d time.Duration) { clock.Time = start.Add(d * time.Second) }
	r := kit.Reserve(t, l, 1)
	kit.SetPolicy(t, l, weir.SlidingLog{Limit: 10, Per: 10 * time.Second})
	at(11)
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	at(13)
	require.True(t, kit.Take(t, l, "k", 5).Allowed)
	at(20)
	require.NoError(t, r.Settle(t.Context(), 2))
	at(24)
	assert.Equal(t, 9, kit.Take(t, l, "k", 0).Remaining, "only the event of the Settle counts")
}
