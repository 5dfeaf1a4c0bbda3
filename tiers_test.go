package weir_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// committedAndExcess are 3 events a minute, and 5 more an hour.
func committedAndExcess() weir.Policy {
	return weir.Tiers(weir.FixedWindow{Limit: 3, Per: time.Minute}, weir.FixedWindow{Limit: 5, Per: time.Hour})
}

func tier(allowed bool, remaining int, retry, reset time.Duration, part int) weir.Result {
	return weir.Result{Allowed: allowed, Limit: 5, Remaining: remaining, RetryAfter: retry, ResetAfter: reset, DecidedBy: part}
}

func TestTiersPayInTheirOrder(t *testing.T) {
	const minute, hour = time.Minute, time.Hour
	k := kit.NewKey(t, committedAndExcess())
	for _, c := range []struct {
		at   time.Duration
		n    int
		want weir.Result
	}{
		{0, 0, tier(true, 5, 0, 0, 0)},
		{0, 2, tier(true, 5, 0, minute, 0)},
		{0, 2, tier(true, 3, 0, hour, 1)}, // one is left in the first, which pays for all or none
		{0, 1, tier(true, 3, 0, hour, 0)},
		{0, 0, tier(true, 3, 0, hour, 1)},
		{0, 4, tier(false, 3, hour, hour, 1)}, // never by the first
		{0, 6, tier(false, 3, weir.Never, hour, 0)},
		{0, 3, tier(true, 0, 0, hour, 1)},
		{0, 1, tier(false, 0, minute, hour, 0)}, // the first will grant it first
		{0, 0, tier(true, 0, 0, hour, 0)},
		{minute - 1, 1, tier(false, 0, 1, hour-minute+1, 0)},
		{minute, 3, tier(true, 0, 0, hour-minute, 0)},
		{minute, 1, tier(false, 0, minute, hour-minute, 0)},
		{hour - 1, 3, tier(true, 0, 0, 1, 0)},
		{hour - 1, 4, tier(false, 0, 1, 1, 1)},
		{hour, 4, tier(true, 3, 0, hour, 1)},
	} {
		assert.Equal(t, c.want, k.Take(kit.T0+int64(c.at), c.n), "%d after %v", c.n, c.at)
	}
}

func TestTiersGiveTheirResults(t *testing.T) {
	l := weir.Must(weir.New(committedAndExcess(), weir.WithClock(&kit.HandClock{Time: time.Unix(0, kit.T0)})))
	var tiers []weir.Result
	take := func(n int) []weir.Result {
		_, err := l.TakeByComponent(context.Background(), "key", n, &tiers)
		require.NoError(t, err)
		return tiers
	}
	const minute, hour = time.Minute, time.Hour
	assert.Equal(t, []weir.Result{
		{Allowed: true, Limit: 3, Remaining: 1, ResetAfter: minute, MoreAfter: minute},
		{Allowed: true, Limit: 5, Remaining: 5},
	}, take(2))
	assert.Equal(t, []weir.Result{
		{Limit: 3, Remaining: 1, RetryAfter: minute, ResetAfter: minute, MoreAfter: minute},
		{Allowed: true, Limit: 5, Remaining: 3, ResetAfter: hour, MoreAfter: hour},
	}, take(2))
	assert.Equal(t, []weir.Result{
		{Limit: 3, Remaining: 1, RetryAfter: weir.Never, ResetAfter: minute, MoreAfter: minute},
		{Limit: 5, Remaining: 3, RetryAfter: hour, ResetAfter: hour, MoreAfter: hour},
	}, take(5))
}

// Events go back to the last tier that is not full, once in all, and never above full.
func TestTiersGiveBack(t *testing.T) {
	for _, c := range []struct {
		green, yellow int // what is left in the tiers, of 3 and 5
		back          int
		part          int
		greenAfter    int
		yellowAfter   int
	}{
		{3, 5, 1, 0, 3, 5},
		{1, 5, 1, 0, 2, 5},
		{0, 2, 1, 1, 0, 3},
		{0, 2, 3, 1, 0, 5},
		{0, 2, 6, 1, 0, 5}, // what does not fit there is lost
		{0, 5, 6, 0, 3, 5},
	} {
		k := kit.NewKey(t, committedAndExcess())
		for range 3 - c.green {
			require.Equal(t, 0, k.Take(kit.T0, 1).DecidedBy)
		}
		if n := 5 - c.yellow; n > 0 {
			require.Equal(t, 1, k.Take(kit.T0, n).DecidedBy)
		}
		var tiers []weir.Result
		a := k.Ask(kit.T0, weir.Ask{N: -c.back, ByComponent: &tiers})
		assert.True(t, a.Allowed)
		assert.Equal(t, c.part, a.DecidedBy, "%+v", c)
		assert.Zero(t, a.Delay)
		assert.Equal(t, []int{c.greenAfter, c.yellowAfter}, []int{tiers[0].Remaining, tiers[1].Remaining}, "%+v", c)
	}
}

func TestTiersUpTo(t *testing.T) {
	k := kit.NewKey(t, committedAndExcess())
	for _, want := range []struct{ granted, part int }{{4, 1}, {3, 0}, {1, 1}} {
		a := k.Ask(kit.T0, weir.Ask{N: 4, Mode: weir.UpTo})
		require.True(t, a.Allowed)
		assert.Equal(t, want.granted, a.Granted)
		assert.Equal(t, want.part, a.DecidedBy, "all of them paid by one tier")
	}
	a := k.Ask(kit.T0, weir.Ask{N: 4, Mode: weir.UpTo})
	assert.False(t, a.Allowed)
	assert.Zero(t, a.Granted)
	assert.Equal(t, time.Minute, a.RetryAfter)
}

// A debt is the last tier's, and binds all: until it is paid, no tier grants (R19).
func TestTiersRegardless(t *testing.T) {
	k := kit.NewKey(t, committedAndExcess())
	assert.Equal(t, 0, k.Ask(kit.T0, weir.Ask{N: 3, Mode: weir.Regardless}).DecidedBy)
	assert.Equal(t, 1, k.Ask(kit.T0, weir.Ask{N: 9, Mode: weir.Regardless}).DecidedBy)
	assert.Equal(t, tier(false, 0, time.Hour, time.Hour, 0), k.Take(kit.T0, 1))
	assert.False(t, k.Take(kit.T0+int64(time.Minute), 1).Allowed)
	assert.False(t, k.Take(kit.T0+int64(time.Hour)-1, 1).Allowed)
	assert.Equal(t, 0, k.Take(kit.T0+int64(time.Hour), 3).DecidedBy)
}

func TestTiersWaitForTheFirstThatGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(weir.Tiers(
			weir.TokenBucket{Limit: 1, Per: time.Minute, Burst: 1},
			weir.TokenBucket{Limit: 1, Per: 25 * time.Second, Burst: 1},
		)))
		start := time.Now()
		var at []time.Duration
		for range 7 {
			require.NoError(t, l.Wait(t.Context(), "key", 1))
			at = append(at, time.Since(start))
		}
		const s = time.Second
		assert.Equal(t, []time.Duration{0, 0, 25 * s, 50 * s, 60 * s, 75 * s, 100 * s}, at)
	})
}

// In every course of asks, each tier pays no more than it would alone.
func TestTiersMintNothing(t *testing.T) {
	committed, excess := weir.TokenBucket{Limit: 4, Per: time.Second}, weir.SlidingLog{Limit: 9, Per: time.Second}
	k := kit.NewKey(t, weir.Tiers(committed, excess))
	net := [2]int{}
	seconds := int64(30)
	for i := range 40 * seconds {
		now := kit.T0 + i*int64(time.Second)/40
		a := k.Ask(now, weir.Ask{N: 1 + int(i*7%3)})
		if a.Allowed {
			net[a.DecidedBy] += 1 + int(i*7%3)
		}
		if i%5 == 4 {
			before := k.Copy()
			n := 1 + int(i%2)
			var was, is []weir.Result
			before.Ask(now, weir.Ask{ByComponent: &was})
			k.Ask(now, weir.Ask{N: -n, ByComponent: &is})
			gained := 0
			for tier := range is {
				net[tier] -= is[tier].Remaining - was[tier].Remaining
				gained += is[tier].Remaining - was[tier].Remaining
			}
			require.LessOrEqual(t, gained, n)
		}
	}
	assert.LessOrEqual(t, net[0], 4+4*int(seconds))
	assert.LessOrEqual(t, net[1], 9*int(seconds))
	assert.GreaterOrEqual(t, net[0], 4*int(seconds)-1, "and nothing is lost")
}

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
	hours := runs.Long(2000, 300)
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

// R19: a debt of centuries is not known in events, and then none are left.
func TestR19_ADebtThatHasSaturatedBinds(t *testing.T) {
	k := kit.NewKey(t, weir.Tiers(weir.FixedWindow{Limit: 1e9, Per: time.Second}, weir.TokenBucket{Limit: 1, Per: time.Hour}))
	require.True(t, k.Ask(kit.T0, weir.Ask{N: 2e9, Mode: weir.Regardless}).Allowed)
	assert.Zero(t, k.Look(kit.T0).Remaining)
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

// A denial because of a debt tells of each tier whether it alone would have granted the events.
func TestR19_TiersInDebtTellWhichWouldGrant(t *testing.T) {
	log := weir.SlidingLog{Limit: 3, Per: time.Hour}
	k := kit.NewKey(t, weir.Tiers(log, log))
	k.Ask(kit.T0, weir.Ask{N: 9, Mode: weir.Regardless})
	var parts []weir.Result
	a := k.Ask(kit.T0, weir.Ask{N: 2, ByComponent: &parts})
	assert.False(t, a.Allowed)
	assert.True(t, parts[0].Allowed)
	assert.False(t, parts[1].Allowed)
	assert.Equal(t, time.Hour, parts[1].RetryAfter)

	k = kit.NewKey(t, weir.Tiers(log, log, log))
	k.Ask(kit.T0, weir.Ask{N: 3})
	k.Ask(kit.T0, weir.Ask{N: 9, Mode: weir.Regardless})
	assert.Equal(t, 0, k.Ask(kit.T0, weir.Ask{N: 4}).DecidedBy, "none ever grants as many")
}
