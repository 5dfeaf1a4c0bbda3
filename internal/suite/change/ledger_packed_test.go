package change_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A window so short packs counts up to 62 in its word, if its limit is below that.
func packedWindow(limit int) weir.Policy {
	return weir.SlidingWindow{Limit: limit, Per: 12 * time.Microsecond}
}

// R5: the count of a policy with a large limit is reported to the event. A policy with a smaller
// limit shares the count, and could not hold it in its own word.
func TestR5_ACountThatAnotherLimitCannotHold(t *testing.T) {
	small, large := packedWindow(7), weir.Tiers(packedWindow(70), weir.LeakyBucket{Limit: 1, Per: 12 * time.Microsecond})
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(small, kit.T0, weir.Ask{N: 1}).Allowed)
	got := k.Ask(large, kit.T0, weir.Ask{N: 62, Mode: weir.UpTo})
	require.Equal(t, []int{62, 7}, []int{got.Granted, got.Remaining})
	assert.True(t, k.Ask(large, kit.T0, weir.Ask{N: 7}).Allowed)
}

// R5 and R15: nor does a count that is leaving a window become another one when the limit is
// lowered.
func TestR15_ALoweredLimitKeepsACountThatItCannotHold(t *testing.T) {
	small, large := packedWindow(7), packedWindow(70)
	k, start := kit.LedgerKey{T: t}, kit.T0-kit.T0%12_000
	require.True(t, k.Ask(large, start, weir.Ask{N: 63}).Allowed)
	late := start + 23_000 // when 63/12, rounded down, still count
	require.Equal(t, 2, k.Remaining(small, late))
	got := k.Ask(small, late, weir.Ask{N: 1})
	require.Equal(t, []any{true, 1}, []any{got.Allowed, got.Remaining})
	assert.True(t, k.Ask(small, late, weir.Ask{N: 1}).Allowed)
}

// R16: what a policy of a smaller limit cancels does not shut the key for one of a larger limit.
func TestR16_ACancelOfACountThatItsLimitCannotHold(t *testing.T) {
	small, large := packedWindow(7), weir.All(packedWindow(70))
	k := kit.LedgerKey{T: t}
	require.True(t, k.Ask(small, kit.T0, weir.Ask{N: 1}).Allowed)
	require.True(t, k.Ask(large, kit.T0, weir.Ask{N: 62}).Allowed)
	k.Ask(small, kit.T0, weir.Ask{N: -1, GrantedAt: kit.T0, Charges: &[]weir.Charge{{N: 1, For: 24 * time.Microsecond}}})
	assert.Equal(t, 8, k.Remaining(large, kit.T0))
}

// R6: a debt that is rounded up in the word of its limit ends when the answer says so.
func TestR6_ADebtThatItsLimitCannotHold(t *testing.T) {
	small := packedWindow(7)
	k, start := kit.LedgerKey{T: t}, kit.T0-kit.T0%12_000
	require.True(t, k.Ask(weir.SlidingLog{Limit: 7, Per: 6 * time.Microsecond}, start, weir.Ask{N: 1}).Allowed)
	require.False(t, k.Ask(small, start, weir.Ask{N: 7}).Allowed) // it starts to charge
	owes := k.Ask(small, start+8_000, weir.Ask{N: 63, Mode: weir.Regardless})
	assert.Equal(t, owes.ResetAfter, k.Ask(small, start+8_000, weir.Ask{}).ResetAfter)
}

// R4: an ask for up to more than the limit is told when there is an event again, though a debt
// beyond all numbers is charged until then.
func TestR4_UpToMoreThanTheLimitAfterADebtWithoutNumber(t *testing.T) {
	k := kit.LedgerKey{T: t}
	window := weir.FixedWindow{Limit: 1, Per: time.Second}
	end := k.Ask(window, kit.T0, weir.Ask{N: math.MaxInt, Mode: weir.Regardless}).ResetAfter
	got := k.Ask(weir.TokenBucket{Limit: 1, Per: time.Hour}, kit.T0, weir.Ask{N: 2, Mode: weir.UpTo})
	assert.Equal(t, end, got.RetryAfter)
}

// R14: a denied ask of another policy makes no debt shorter that the limit's own state would have
// rounded up.
func TestR14_ADenialBeforeADebtChangesNothing(t *testing.T) {
	window, other := weir.SlidingWindow{Limit: 1, Per: 24}, weir.FixedWindow{Limit: 1, Per: 720}
	alone, asked := kit.LedgerKey{T: t}, kit.LedgerKey{T: t}
	for _, k := range []*kit.LedgerKey{&alone, &asked} {
		require.True(t, k.Ask(window, kit.T0+6, weir.Ask{N: 1}).Allowed)
		if k == &asked {
			require.False(t, k.Ask(other, kit.T0+6, weir.Ask{N: 2}).Allowed)
		}
		k.Ask(window, kit.T0+6, weir.Ask{N: 2, Mode: weir.Regardless})
	}
	assert.Equal(t, alone.Ask(window, kit.T0+6, weir.Ask{N: 1}), asked.Ask(window, kit.T0+6, weir.Ask{N: 1}))
}
