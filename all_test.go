package weir_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

func TestAllNamesEachFaultOfEachPart(t *testing.T) {
	for _, c := range []struct {
		policy weir.Policy
		want   string
	}{
		{weir.All(), "weir: All of no policies, must be at least 1"},
		{weir.Tiers(), "weir: Tiers of no policies, must be at least 1"},
		{weir.All(weir.SlidingLog{Limit: 1, Per: 1}, nil), "weir: component 1 of All is nil, must be a Policy"},
		{weir.All((*weir.SlidingLog)(nil)), "weir: component 0 of All is a nil *weir.SlidingLog, must be a Policy"},
		{
			weir.All(weir.TokenBucket{Limit: 0, Per: -1}, nil, weir.Tiers(weir.FixedWindow{Limit: 1}, weir.SlidingLog{Per: -1})),
			"weir: component 0 of All: weir.TokenBucket.Limit is 0, must be at least 1\n" +
				"weir: component 0 of All: weir.TokenBucket.Per is -1ns, must be at least 1ns\n" +
				"weir: component 1 of All is nil, must be a Policy\n" +
				"weir: component 2 of All: component 0 of Tiers: weir.FixedWindow.Per is 0s, must be at least 1ns\n" +
				"weir: component 2 of All: component 1 of Tiers: weir.SlidingLog.Limit is 0, must be at least 1\n" +
				"weir: component 2 of All: component 1 of Tiers: weir.SlidingLog.Per is -1ns, must be at least 1ns",
		},
	} {
		l, err := weir.New(c.policy)
		assert.Nil(t, l)
		assert.EqualError(t, err, c.want)
	}
}

func TestCompositionsCompare(t *testing.T) {
	minute, hour := weir.TokenBucket{Limit: 300, Per: time.Minute}, weir.FixedWindow{Limit: 1000, Per: time.Hour}
	assert.True(t, weir.All(minute, hour) == weir.All(minute, hour))
	assert.True(t, weir.All(minute, weir.Tiers(minute, hour)) == weir.All(minute, weir.Tiers(minute, hour)))
	different := []weir.Policy{
		minute, weir.All(), weir.Tiers(), weir.All(nil), weir.All(minute), weir.All(minute, hour), weir.All(hour, minute),
		weir.Tiers(minute, hour), weir.All(minute, minute), weir.All(minute, hour, minute), weir.All(weir.All(minute, hour)),
		weir.All(minute, weir.All(hour)),
	}
	for i, p := range different {
		for j, q := range different {
			assert.Equal(t, i == j, p == q, "%#v and %#v", p, q)
		}
	}
	assert.Equal(t, []weir.Policy{minute, hour}, weir.Components(weir.All(minute, hour)))
	assert.Equal(t, []weir.Policy{hour, nil}, weir.Components(weir.Tiers(hour, nil)))
	assert.Nil(t, weir.Components(minute))
	assert.Nil(t, weir.Components(weir.All()))
	assert.Equal(t, "weir.All(weir.FixedWindow{Limit:1, Per:1, FromFirst:false}, weir.Tiers(weir.SlidingLog{Limit:2, Per:3}))",
		fmt.Sprintf("%#v", weir.All(weir.FixedWindow{Limit: 1, Per: 1}, weir.Tiers(weir.SlidingLog{Limit: 2, Per: 3}))))
}

// slices can't be compared with ==. Limiters with such a part each have a writer of their own, and
// carry the states of others exactly.
type sliceOf []weir.Policy

func (p sliceOf) Decider() (weir.Decider, error) { return p[0].Decider() }

func TestAPartNeedNotBeComparable(t *testing.T) {
	store, ctx := new(weir.MemStore), context.Background()
	policy := func() weir.Policy {
		return weir.All(weir.FixedWindow{Limit: 5, Per: century}, sliceOf{weir.SlidingLog{Limit: 3, Per: century}})
	}
	require.Len(t, weir.Components(policy()), 2)
	a, b := weir.Must(weir.New(policy(), weir.WithStore(store))), weir.Must(weir.New(policy(), weir.WithStore(store)))
	for range 2 {
		require.True(t, a.Allow("key"))
	}
	r, err := b.Take(ctx, "key", 0)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Remaining)
}

// The classic five limits. Each is reached in its turn, and is the one that is told.
func TestAllOfTheClassicFive(t *testing.T) {
	const day = 24 * time.Hour
	k := kit.NewKey(t, weir.All(
		weir.FixedWindow{Limit: 300, Per: time.Minute},
		weir.FixedWindow{Limit: 15_750, Per: time.Hour},
		weir.FixedWindow{Limit: 300_000, Per: day},
		weir.FixedWindow{Limit: 1_500_000, Per: 7 * day},
		weir.FixedWindow{Limit: 6_000_000, Per: 30 * day},
	))
	month := int64(30 * day)
	start := kit.T0 / (7 * month) * (7 * month) // where a week and 30 days start together
	granted := map[string]int{}
	denied := map[int]int{}
	for now := start; now < start+month; now += int64(time.Minute) {
		r := k.Take(now, 300)
		if !r.Allowed {
			denied[r.DecidedBy]++
			require.Equal(t, now+int64(r.RetryAfter), nextStart(now, r.DecidedBy), "part %d", r.DecidedBy)
			if left := r.Remaining; left > 0 {
				require.True(t, k.Take(now, left).Allowed)
				granted["all"] += left
			}
			continue
		}
		granted["all"] += 300
		if now < start+int64(time.Hour) {
			granted["first hour"] += 300
		}
	}
	assert.Equal(t, 6_000_000, granted["all"], "in 30 days")
	assert.Zero(t, denied[0])
	for part := 1; part < 5; part++ {
		assert.NotZero(t, denied[part], "part %d", part)
	}
}

// nextStart is when the next window of a part of the classic five starts.
func nextStart(now int64, part int) int64 {
	const day = 24 * time.Hour
	per := int64([]time.Duration{time.Minute, time.Hour, day, 7 * day, 30 * day}[part])
	return (now/per + 1) * per
}

func TestAllTellsTheTightestPart(t *testing.T) {
	k := kit.NewKey(t, weir.All(
		weir.FixedWindow{Limit: 10, Per: time.Second},
		weir.FixedWindow{Limit: 4, Per: time.Minute},
		weir.FixedWindow{Limit: 6, Per: time.Hour},
	))
	all := func(allowed bool, remaining int, retry, reset time.Duration, part int) weir.Result {
		return weir.Result{Allowed: allowed, Limit: 4, Remaining: remaining, RetryAfter: retry, ResetAfter: reset, DecidedBy: part}
	}
	assert.Equal(t, all(true, 4, 0, 0, 1), k.Look(kit.T0))
	assert.Equal(t, all(true, 2, 0, time.Hour, 1), k.Take(kit.T0, 2))
	assert.Equal(t, all(false, 2, time.Minute, time.Hour, 1), k.Take(kit.T0, 3))
	assert.Equal(t, all(false, 2, weir.Never, time.Hour, 1), k.Take(kit.T0, 5))
	assert.Equal(t, all(true, 0, 0, time.Hour, 1), k.Take(kit.T0, 2))
	next := kit.T0 + int64(time.Minute)
	assert.Equal(t, all(true, 2, 0, 59*time.Minute, 2), k.Look(next))
	assert.Equal(t, all(true, 0, 0, 59*time.Minute, 2), k.Take(next, 2))
	assert.Equal(t, all(false, 0, 59*time.Minute, 59*time.Minute, 2), k.Take(next, 1))

	// Where several deny, the one that does so the longest; where two are equal, the first.
	k = kit.NewKey(t, weir.All(weir.FixedWindow{Limit: 1, Per: time.Second}, weir.FixedWindow{Limit: 1, Per: time.Hour}, weir.FixedWindow{Limit: 1, Per: time.Hour}))
	assert.Equal(t, 0, k.Take(kit.T0, 1).DecidedBy)
	assert.Equal(t, 1, k.Take(kit.T0, 1).DecidedBy)
}

func TestAllGivesTheResultsOfItsParts(t *testing.T) {
	ctx, clock := context.Background(), &kit.HandClock{Time: time.Unix(0, kit.T0)}
	day, minute := weir.FixedWindow{Limit: 100, Per: 24 * time.Hour}, weir.TokenBucket{Limit: 6, Per: time.Minute}
	l := weir.Must(weir.New(weir.All(day, minute), weir.WithClock(clock)))
	var parts []weir.Result
	r, err := l.TakeByComponent(ctx, "key", 6, &parts)
	require.NoError(t, err)
	untilMidnight := time.Duration(nextStart(kit.T0, 2) - kit.T0)
	assert.Equal(t, weir.Result{Allowed: true, Limit: 6, ResetAfter: untilMidnight, MoreAfter: 10 * time.Second, DecidedBy: 1}, r)
	assert.Equal(t, []weir.Result{
		{Allowed: true, Limit: 100, Remaining: 94, ResetAfter: untilMidnight, MoreAfter: untilMidnight},
		{Allowed: true, Limit: 6, Remaining: 0, ResetAfter: time.Minute, MoreAfter: 10 * time.Second},
	}, parts)

	r, err = l.TakeByComponent(ctx, "key", 1, &parts)
	require.NoError(t, err)
	assert.Equal(t, weir.Result{Limit: 6, RetryAfter: 10 * time.Second, ResetAfter: untilMidnight, MoreAfter: 10 * time.Second, DecidedBy: 1}, r)
	assert.Equal(t, []weir.Result{
		{Allowed: true, Limit: 100, Remaining: 94, ResetAfter: untilMidnight, MoreAfter: untilMidnight}, // as it was
		{Limit: 6, RetryAfter: 10 * time.Second, ResetAfter: time.Minute, MoreAfter: 10 * time.Second},
	}, parts)

	_, err = l.TakeByComponent(ctx, "key", -1, &parts)
	require.ErrorContains(t, err, "-1")
	assert.Empty(t, parts)
	_, err = (*weir.KeyedLimiter)(nil).TakeByComponent(ctx, "key", 1, &parts)
	require.Error(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = l.TakeByComponent(ended, "key", 1, &parts)
	require.ErrorIs(t, err, context.Canceled)

	single := weir.Must(weir.New(minute, weir.WithClock(clock)))
	parts = make([]weir.Result, 3)
	r, err = single.TakeByComponent(ctx, "key", 1, &parts)
	require.NoError(t, err)
	assert.True(t, r.Allowed)
	assert.Empty(t, parts, "of a policy without parts")
	r, err = single.TakeByComponent(ctx, "key", 1, nil)
	require.NoError(t, err)
	assert.Equal(t, 4, r.Remaining)
}

// No request to All on a known key allocates, with parts of any kind. The results of the parts do
// not allocate either, if a slice is given.
func TestAllDoesNotAllocate(t *testing.T) {
	logs := []weir.Policy{weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.SlidingLog{Limit: 7, Per: time.Hour}, weir.TokenBucket{Limit: 7, Per: time.Second}}
	for _, p := range []weir.Policy{
		weir.All(classic(0)...), weir.All(mixed(0)...), weir.Tiers(classic(0)...), weir.Tiers(mixed(0)...),
		weir.All(weir.Tiers(mixed(0)...), weir.All(classic(0)...)), weir.All(logs...), weir.Tiers(logs...),
		weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 3, Per: time.Hour}, Excess: 3},
		weir.TwoRateMarker{Committed: weir.TokenBucket{Limit: 3, Per: time.Hour}, Peak: weir.TokenBucket{Limit: 7, Per: time.Hour}},
	} {
		k, ctx := known(p, 100), context.Background()
		for _, n := range []int{0, 1, 3, math.MaxInt} {
			assert.Zero(t, allocationsEachTime(func() { k.askAll(n) }), "%#v asked for %d", p, n)
		}
		parts := make([]weir.Result, 0, 5)
		assert.Zero(t, allocationsEachTime(func() {
			for i := range 1000 {
				_, _ = k.TakeByComponent(ctx, k.keys.at(i%100), i%3, &parts)
			}
		}), "the parts of %#v", p)
	}
}

// A part with more words than are saved without an allocation is undone, too.
func TestAllUndoesLargeParts(t *testing.T) {
	k := kit.NewKey(t, weir.All(
		weir.SlidingWindow{Limit: 100, Per: 100 * time.Second, Buckets: 100},
		weir.SlidingLog{Limit: 90, Per: time.Hour},
		weir.SlidingLog{Limit: 80, Per: time.Minute},
		weir.FixedWindow{Limit: 70, Per: time.Hour},
	))
	now := kit.T0
	for range 70 {
		require.True(t, k.Take(now, 1).Allowed)
		now += int64(100 * time.Millisecond)
	}
	before := k.Copy()
	for range 20 {
		require.False(t, k.Take(now, 1).Allowed)
		require.Equal(t, before.State, k.State)
		now += int64(time.Second)
	}
}

// refuses denies all, what happened already too.
type refuses struct{}

func (refuses) Decider() (weir.Decider, error) { return refuses{}, nil }
func (refuses) Words() int                     { return 0 }
func (refuses) Expiry([]uint64) int64          { return 0 }

func (refuses) Decide(state []uint64, _ int64, ask weir.Ask) ([]uint64, weir.Answer) {
	a := weir.Answer{Result: weir.Result{Allowed: ask.N <= 0, Limit: 1}}
	if ask.N > 0 {
		a.RetryAfter = weir.Never
	}
	return state, a
}

// Even then it is charged to none.
func TestAllRegardlessOfAPartThatRefuses(t *testing.T) {
	k := kit.NewKey(t, weir.All(append(kit.AllPolicies(3, time.Hour), refuses{}, weir.SlidingLog{Limit: 3, Per: time.Hour})...))
	before := k.Copy()
	for _, how := range []weir.GrantMode{weir.AllOrNone, weir.Regardless, weir.UpTo} {
		for _, n := range []int{1, 5} {
			a := k.Ask(kit.T0, weir.Ask{N: n, Mode: how})
			assert.False(t, a.Allowed)
			assert.Zero(t, a.Granted)
			assert.Equal(t, weir.Never, a.RetryAfter)
			assert.Equal(t, before.State, k.State)
		}
	}
}

// A tier may have as many events left as its limit, although parts of it have less.
func TestTiersGiveBackToPartsOfATier(t *testing.T) {
	second, hour := weir.FixedWindow{Limit: 3, Per: time.Second}, weir.FixedWindow{Limit: 9, Per: time.Hour}
	marker := weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 3, Per: time.Hour}, Excess: 3}
	for _, tier := range []weir.Policy{weir.All(second, hour), weir.Tiers(hour, hour), marker} {
		k := kit.NewKey(t, weir.Tiers(tier, weir.SlidingLog{Limit: 1, Per: time.Hour}))
		require.True(t, k.Take(kit.T0, 2).Allowed)
		assert.Zero(t, k.Ask(kit.T0+1e9, weir.Ask{N: -2}).ResetAfter, "%v", tier)
	}
}
