package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// R4 holds for the results of the parts, too, where a debt keeps the first tiers from being asked.
func TestTiersInDebtTellWhatEachHas(t *testing.T) {
	k := kit.NewKey(t, weir.Tiers(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.TokenBucket{Limit: 20, Per: time.Hour}))
	k.Ask(kit.T0, weir.Ask{N: 27, Mode: weir.Regardless})
	var parts []weir.Result
	a := k.Ask(kit.T0, weir.Ask{N: 5, Mode: weir.Regardless, ByComponent: &parts})
	assert.Equal(t, 1, a.DecidedBy)
	assert.Equal(t, 10, parts[0].Remaining)
	for _, r := range parts {
		assert.Equal(t, r.Allowed, r.RetryAfter == 0, "%+v", r)
	}
}

// R9, R21: at the last instant that there is, the search for when a debt is paid ends.
func TestTiersInDebtAtTheLastInstant(t *testing.T) {
	bucket := weir.TokenBucket{Limit: 10, Per: time.Hour}
	k := kit.NewKey(t, weir.Tiers(bucket, bucket))
	k.Ask(math.MaxInt64, weir.Ask{N: 100, Mode: weir.Regardless})
	assert.Equal(t, weir.Never, k.Take(math.MaxInt64, 1).RetryAfter)
	assert.Equal(t, weir.Never, k.Take(math.MaxInt64-1, 1).RetryAfter)

	l := kit.LedgerKey{T: t}
	l.Ask(bucket, math.MaxInt64-1, weir.Ask{N: 100, Mode: weir.Regardless})
	assert.Equal(t, weir.Never, l.Ask(weir.SlidingLog{Limit: 5, Per: time.Hour}, math.MaxInt64-1, weir.Ask{N: 1}).RetryAfter)
}

// R5 in debt: what is left after a grant is what a look tells.
func TestTiersInDebtTellWhatIsLeft(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.Tiers(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.TokenBucket{Limit: 20, Per: time.Hour}),
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: time.Hour}, Excess: 20},
	} {
		k := kit.NewKey(t, p)
		a := k.Ask(kit.T0, weir.Ask{N: 25, Mode: weir.Regardless})
		assert.Equal(t, 5, a.Remaining, "%#v: of 30 in all", p)
		assert.Equal(t, 2, k.Take(kit.T0, 3).Remaining)
		assert.Equal(t, 2, k.Look(kit.T0).Remaining)
		assert.False(t, k.Take(kit.T0, 3).Allowed)
		require.True(t, k.Take(kit.T0, 2).Allowed)
	}
}

// R19: "reserve 1, settle 1000, as often as granted" charges the rate in the long run.
func TestR19_ADebtBinds(t *testing.T) {
	const hours = 2000
	bucket := weir.TokenBucket{Limit: 10, Per: time.Hour}
	for _, c := range []struct {
		policy weir.Policy
		rate   int // an hour, of all parts together
		most   int // that a new key has
	}{
		{bucket, 10, 10},
		{weir.All(bucket, weir.TokenBucket{Limit: 30, Per: time.Hour}), 10, 10},
		{weir.Tiers(bucket, weir.TokenBucket{Limit: 20, Per: time.Hour}), 30, 30},
		{weir.Tiers(bucket, bucket, weir.LeakyBucket{Limit: 10, Per: time.Hour}), 30, 30},
		{weir.SingleRateMarker{Committed: bucket, Excess: 5}, 10, 15},
		{weir.TwoRateMarker{Committed: bucket, Peak: weir.TokenBucket{Limit: 20, Per: time.Hour}}, 20, 20},
	} {
		k, charged, granted := kit.NewKey(t, c.policy), 0, 0
		for i := range int64(6 * hours) {
			now := kit.T0 + i*int64(10*time.Minute)
			if k.Take(now, 1).Allowed {
				granted++
				require.True(t, k.Ask(now, weir.Ask{N: 999, Mode: weir.Regardless}).Allowed)
				charged += 1000
			}
		}
		assert.Greater(t, granted, 3, "%#v", c.policy)
		assert.LessOrEqual(t, charged, c.rate*hours+c.most+1000, "%#v", c.policy)
	}
}

// R5: what remains after a grant by Tiers in debt is what a look then tells, however large the
// limits are.
func TestR5_TiersOfLargeLimitsInDebt(t *testing.T) {
	d, err := weir.Tiers(weir.FixedWindow{Limit: math.MaxInt, Per: time.Second}, weir.FixedWindow{Limit: math.MaxInt, Per: time.Second},
		weir.FixedWindow{Limit: 1, Per: 1000 * time.Second}).Decider()
	require.NoError(t, err)
	state := make([]uint64, d.Words())
	ask := func(now int64, ask weir.Ask) (a weir.Answer) { state, a = d.Decide(state, now, ask); return a }
	ask(1, weir.Ask{N: math.MaxInt})
	ask(1, weir.Ask{N: math.MaxInt})
	ask(1, weir.Ask{N: 10, Mode: weir.Regardless}) // the last tier owes 9
	granted := ask(2e9, weir.Ask{N: math.MaxInt})
	look := ask(2e9, weir.Ask{})
	assert.True(t, granted.Allowed)
	assert.Equal(t, look.Remaining, granted.Remaining)
}
