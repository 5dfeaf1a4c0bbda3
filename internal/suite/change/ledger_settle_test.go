package change_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R15, row 1: a Settle for more events leaves every counted event at its instant. A log in debt keeps
// no more entries than its limit needs. The limit is the larger one, if it was changed meanwhile,
// whichever of the two is that of the Settle.
func TestR15_SettleByASmallerLog(t *testing.T) {
	l, at := smallLog(t)
	r := kit.Reserve(t, l, 1)
	kit.SetPolicy(t, l, logOf(10))
	at(11)
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	at(13)
	require.True(t, kit.Take(t, l, "k", 5).Allowed)
	at(20)
	require.NoError(t, r.Settle(t.Context(), 2))
	at(24)
	assert.Equal(t, 9, kit.Take(t, l, "k", 0).Remaining, "only the event of the Settle counts")
}

func TestR15_SettleByALargerLog(t *testing.T) {
	l, at := smallLog(t)
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	for i := range 2 {
		at(i + 1)
		require.NoError(t, kit.Reserve(t, l, 0).Settle(t.Context(), 1))
	}
	kit.SetPolicy(t, l, logOf(10))
	at(3)
	require.NoError(t, kit.Reserve(t, l, 0).Settle(t.Context(), 1))
	at(12)
	assert.Equal(t, 9, kit.Take(t, l, "k", 0).Remaining, "only the event of the last Settle counts")
}

// A Settle of a reservation that booked nothing is charged by the policy of the reservation, even if
// that policy has granted nothing yet: by which of the tiers, for example.
func TestSettleByNewTiers(t *testing.T) {
	tiers := func(first int) weir.Policy {
		return weir.Tiers(weir.FixedWindow{Limit: first, Per: time.Minute}, weir.FixedWindow{Limit: 5, Per: time.Hour})
	}
	l, clock := kit.Frozen(tiers(1))
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	kit.SetPolicy(t, l, tiers(100))
	require.NoError(t, kit.Reserve(t, l, 0).Settle(t.Context(), 50))
	assert.Equal(t, 49, kit.Take(t, l, "k", 0).Remaining)
	clock.Time = clock.Add(time.Minute)
	assert.Equal(t, 100, kit.Take(t, l, "k", 0).Remaining, "the second tier has paid nothing")
}

func logOf(limit int) weir.Policy { return weir.SlidingLog{Limit: limit, Per: 10 * time.Second} }

// smallLog is a limiter of one event. at sets its clock to a number of seconds from its start.
func smallLog(t *testing.T) (l *weir.KeyedLimiter, at func(seconds int)) {
	t.Helper()
	l, clock := kit.Frozen(logOf(1))
	return l, func(seconds int) { clock.Time = time.Unix(0, kit.T0).Add(time.Duration(seconds) * time.Second) }
}
