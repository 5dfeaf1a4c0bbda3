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

// R4 and R21: a RetryAfter is found, too, beyond the end of an entry that is kept with the share of
// older ones.
func TestR4_BeyondAnEntryThatIsKeptWithTheShareOfOlderOnes(t *testing.T) {
	k := kit.LedgerKey{T: t}
	for _, s := range []int{100, 5, 4, 3, 2} { // one more than are told apart
		require.True(t, k.Ask(weir.SlidingLog{Limit: 10, Per: time.Duration(s) * time.Second}, kit.T0, weir.Ask{N: 1}).Allowed)
	}
	all := weir.SlidingLog{Limit: 10, Per: time.Minute}
	got := k.Ask(all, kit.T0, weir.Ask{N: 10})
	require.Equal(t, []any{false, time.Minute}, []any{got.Allowed, got.RetryAfter})
	assert.False(t, k.Ask(all, kit.T0+int64(time.Minute)-1, weir.Ask{N: 10}).Allowed)
	assert.True(t, k.Ask(all, kit.T0+int64(time.Minute), weir.Ask{N: 10}).Allowed)
}

// R4: which entry is kept with the share of older ones depends on the instant of an ask alone. A
// search for the next grant passes the ends of other entries, or starts when some have ended.
func TestR4_OfTheEntryThatIsKept(t *testing.T) {
	k := kit.LedgerKey{T: t}
	at := func(d time.Duration) int64 { return kit.T0 + int64(d) }
	day := weir.SlidingLog{Limit: 5, Per: 24 * time.Hour}
	both := weir.All(day, weir.SlidingLog{Limit: 8, Per: time.Hour}) // counts in the log of day, too
	require.True(t, k.Ask(day, kit.T0, weir.Ask{N: 1}).Allowed)
	require.True(t, k.Ask(both, kit.T0, weir.Ask{N: 1}).Allowed)
	require.True(t, k.Ask(day, at(10*time.Hour), weir.Ask{N: 3}).Allowed)
	for n := range 3 { // day becomes a share
		p := weir.SlidingLog{Limit: 100, Per: time.Duration(n+1) * time.Minute}
		require.True(t, k.Ask(p, at(11*time.Hour), weir.Ask{N: 1}).Allowed)
	}
	for _, now := range []time.Duration{11 * time.Hour, 11*time.Hour + 150*time.Second, 12 * time.Hour} {
		got := k.Ask(both, at(now), weir.Ask{N: 1})
		require.Equal(t, []any{false, 24*time.Hour - now}, []any{got.Allowed, got.RetryAfter})
	}
	assert.False(t, k.Ask(both, at(24*time.Hour-1), weir.Ask{N: 1}).Allowed)
	assert.True(t, k.Ask(both, at(24*time.Hour), weir.Ask{N: 1}).Allowed)
}

// R5: what becomes a share with a grant is charged in the answer, too.
func TestR5_OfAGrantThatMakesTheOldestAShare(t *testing.T) {
	k := kit.LedgerKey{T: t}
	log := func(n int) weir.Policy { return weir.SlidingLog{Limit: 10, Per: time.Duration(n) * time.Minute} }
	for _, p := range []weir.Policy{weir.All(log(1)), log(2), log(3), log(4), log(1)} { // the last one counts with the first
		got := k.Ask(p, kit.T0, weir.Ask{N: 1})
		require.True(t, got.Allowed)
		assert.Equal(t, k.Remaining(p, kit.T0), got.Remaining, p)
	}
}

// R13: what becomes a share is the whole share, also of tiers that grant more than an int holds.
func TestR13_AShareOfMoreThanAnInt(t *testing.T) {
	k := kit.LedgerKey{T: t}
	log := func(n int) weir.Policy { return weir.SlidingLog{Limit: 10, Per: time.Duration(n) * time.Minute} }
	tiers := weir.Tiers(weir.FixedWindow{Limit: math.MaxInt, Per: time.Hour}, weir.FixedWindow{Limit: math.MaxInt, Per: 2 * time.Hour})
	require.True(t, k.Ask(tiers, kit.T0, weir.Ask{N: math.MaxInt}).Allowed)
	for n := range 4 {
		require.True(t, k.Ask(log(n+1), kit.T0, weir.Ask{N: 1}).Allowed)
	}
	assert.Equal(t, 1, k.Remaining(log(5), kit.T0), "a half and four tenths are used up")
}
