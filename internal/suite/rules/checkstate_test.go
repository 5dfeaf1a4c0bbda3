package rules_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R21: counts of sub-windows that had not come yet kept Expiry, and RetryAfter, in a loop without
// an end.
func TestR21_CountsOfWindowsToCome(t *testing.T) {
	d, err := weir.SlidingWindow{Limit: 10, Per: 40, Buckets: 40}.Decider()
	assert.NoError(t, err)
	state := make([]uint64, d.Words())
	state[0], state[1+20] = 3, 7
	assert.ErrorIs(t, weir.CheckState(d, state), weir.ErrRequest)
	assert.Zero(t, d.Expiry(state))
	_, a := d.Decide(state, 5, weir.Ask{N: 10})
	assert.False(t, a.Allowed)
	assert.Equal(t, weir.Never, a.RetryAfter)

	k := kit.NewKey(t, weir.SlidingWindow{Limit: 10, Per: 40, Buckets: 40})
	for now := range int64(200) {
		k.Take(now, 1)
		assert.NoError(t, weir.CheckState(k.Decider, k.State))
	}
}

// R21: a single word that counts in a sub-window that had not come yet was taken for sound, unlike
// the same counts in three.
func TestR21_APackedCountOfAWindowToCome(t *testing.T) {
	d, err := weir.SlidingWindow{Limit: 10, Per: time.Hour}.Decider()
	assert.NoError(t, err)
	assert.ErrorIs(t, weir.CheckState(d, []uint64{1}), weir.ErrRequest)
	_, a := d.Decide([]uint64{1}, 5, weir.Ask{N: 1})
	assert.False(t, a.Allowed)
}

// R21: a log whose only entry is a count was read behind its end.
func TestR21_ACountOfNoEvent(t *testing.T) {
	d, err := weir.SlidingLog{Limit: 1, Per: 1}.Decider()
	assert.NoError(t, err)
	assert.ErrorIs(t, weir.CheckState(d, []uint64{2, 1, 1}), weir.ErrRequest)
	state, a := d.Decide([]uint64{2, 1, 1}, 0, weir.Ask{N: 1, Mode: weir.Regardless, More: true})
	assert.False(t, a.Allowed)
	assert.Equal(t, []uint64{2, 1, 1}, state)
}

// R21: a part whose words are not sound denies looks and give-backs, too. All then undid what it
// had not saved.
func TestR21_APartThatIsNotSound(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.All(weir.FixedWindow{Limit: 5, Per: 10}, weir.TokenBucket{Limit: 5, Per: 11}, weir.SlidingLog{Limit: 5, Per: 10}),
		weir.All(weir.All(weir.TokenBucket{Limit: 5, Per: 11}), weir.All(weir.SlidingLog{Limit: 5, Per: 10})),
	} {
		k := kit.NewKey(t, p)
		k.Take(kit.T0, 3)
		k.State[len(k.State)-4] = 1 << 40 // where the entries start
		before := k.Copy()
		assert.ErrorIs(t, weir.CheckState(k.Decider, k.State), weir.ErrRequest)
		for _, n := range []int{0, 1, 6, -1, -9} {
			assert.False(t, k.Ask(kit.T0+1, weir.Ask{N: n}).Allowed)
			assert.Equal(t, before.State, k.State)
		}
	}
}

// R21: Tiers looked for debts in words that a composition in it has no place for.
func TestR21_TiersOfACompositionWithoutItsWords(t *testing.T) {
	log := weir.SlidingLog{Limit: 5, Per: 10}
	k := kit.NewKey(t, weir.Tiers(weir.All(log, log), log))
	fourLess := ^uint64(3) // than the five of the first tier
	for _, n := range []int{0, 1, 6, -1} {
		k.State = []uint64{fourLess, 0, 0, 0}
		assert.ErrorIs(t, weir.CheckState(k.Decider, k.State), weir.ErrRequest)
		assert.NotPanics(t, func() { k.Ask(kit.T0, weir.Ask{N: n}) })
	}
}

// R21: what a log took for an entry reached into the words before its entries, which a give-back
// then cut off.
func TestR21_ALogOfHalfAnEntry(t *testing.T) {
	k := kit.NewKey(t, weir.SlidingLog{Limit: 5, Per: 10})
	k.State = []uint64{2, 3, 7, 9, 11}
	assert.ErrorIs(t, weir.CheckState(k.Decider, k.State), weir.ErrRequest)
	for _, n := range []int{-2, -9, 1, 5} {
		assert.NotPanics(t, func() { k.Ask(1, weir.Ask{N: n}) })
	}
}

// R21: an account of another kind than the policy that was said to have it.
func TestR21_ALedgerWithTheAccountOfAnother(t *testing.T) {
	window, marker := weir.FixedWindow{Limit: 5, Per: time.Hour}, weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 5, Per: time.Hour}}
	k := kit.LedgerKey{T: t}
	k.Ask(window, kit.T0, weir.Ask{N: 2})
	k.Ask(marker, kit.T0, weir.Ask{N: 2})
	assert.Len(t, k.By, 2)
	k.Words[13], k.Words[15], k.Words = 0, 0, k.Words[:len(k.Words)-4] // the second has that of the first, which is the only one
	for _, by := range k.By {
		_, _, _, err := k.Decide(by, kit.T0, weir.Ask{N: 1})
		assert.ErrorIs(t, err, weir.ErrRequest)
	}
	assert.Zero(t, k.Expiry())
}

// R21: a log that says to have more events than its entries stand for, or fewer. A give-back took
// its last entry, and then looked for the next.
func TestR21_ALogThatCountsWrong(t *testing.T) {
	d, err := weir.SlidingLog{Limit: 9, Per: time.Hour}.Decider()
	require.NoError(t, err)
	for _, state := range [][]uint64{{2, 5, 7 << 1}, {2, 1, 7 << 1, 5<<1 | 1}} {
		require.ErrorIs(t, weir.CheckState(d, state), weir.ErrRequest)
		state, a := d.Decide(state, 8, weir.Ask{N: -3})
		assert.False(t, a.Allowed)
		_, a = d.Decide(state, 9, weir.Ask{N: 1})
		assert.False(t, a.Allowed)
	}
}

// A state of no word was taken for one of a WordDecider of another package. The policy of a damaged
// Ledger could then panic.
func TestCheckState_OfAWord(t *testing.T) {
	d, err := weir.TokenBucket{Limit: 100, Per: time.Minute}.Decider()
	require.NoError(t, err)
	require.Implements(t, (*weir.WordDecider)(nil), d)
	by := weir.Rule{Decider: struct{ weir.WordDecider }{d.(weir.WordDecider)}}
	assert.NoError(t, weir.CheckState(by.Decider, []uint64{1}))
	for _, state := range [][]uint64{nil, {1, 1}, {math.MaxUint64}} {
		assert.ErrorIs(t, weir.CheckState(by.Decider, state), weir.ErrRequest)
		_, _, _, err := weir.Ledger{By: []weir.Rule{by}, Plain: true, Words: state}.Decide(by, 1, weir.Ask{N: 1})
		assert.ErrorIs(t, err, weir.ErrRequest)
	}
}
