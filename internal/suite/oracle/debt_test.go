package oracle

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Events that were granted regardless of the state are a debt. The rules hold with a debt as they
// do without one: each ask of a trial checks R4 to R7.
func TestDebtsDelayThoseAfter(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		x := newTrial(t, p)
		limit := x.ask(kit.T0, weir.Ask{}).Limit
		a := x.ask(kit.T0, weir.Ask{N: 3*limit + 1, Mode: weir.Regardless})
		require.True(t, a.Allowed)
		require.Zero(t, a.Remaining)
		last := x.ask(kit.T0, weir.Ask{N: 1})
		require.False(t, last.Allowed)
		for now := kit.T0; ; { // until the key is as new
			for _, ask := range []weir.Ask{{N: 1}, {N: limit}, {N: 1, MaxWait: time.Minute}, {N: limit, Mode: weir.UpTo}} {
				if a := x.lookAhead(now, ask); !a.Allowed {
					last = a
				}
			}
			look := x.ask(now, weir.Ask{})
			if look.ResetAfter == 0 {
				break
			}
			now += max(int64(look.ResetAfter/4), 1)
		}
		require.Positive(t, last.RetryAfter)
	})
}

// lookAhead is what the ask would be answered. It counts nothing.
func (x *trial) lookAhead(at int64, ask weir.Ask) weir.Answer {
	x.ask(at, weir.Ask{})
	_, a := x.decide(x.state, at, ask)
	want, _ := x.model.ask(at, ask)
	require.Equal(x.t, want, a, "%#v asked for %+v at %d", x.policy, ask, at)
	x.checkRetry(ask, a)
	return a
}

// As many as there are: so often asked for that there is none.
func TestUpToGrantsWhatThereIs(t *testing.T) {
	kit.EachPolicy(t, func(t *testing.T, p weir.Policy) {
		x := newTrial(t, p)
		limit := x.ask(kit.T0, weir.Ask{}).Limit
		_, queue := p.(weir.LeakyBucket)
		want := []int{3, 3, limit - 6, 0, 0}
		if queue { // an ask for several goes as a whole, and then the outlet is not free
			want = []int{3, 0, 0, 0, 0}
		}
		for i, n := range []int{3, 3, limit, limit, 1} {
			a := x.ask(kit.T0, weir.Ask{N: n, Mode: weir.UpTo})
			assert.Equal(t, want[i], a.Granted, "of %d", n)
			assert.Equal(t, want[i] > 0, a.Allowed)
		}
		due := kit.T0 + int64(x.ask(kit.T0, weir.Ask{N: limit, Mode: weir.UpTo}).RetryAfter)
		assert.False(t, x.ask(due-1, weir.Ask{N: limit, Mode: weir.UpTo}).Allowed)
		assert.Positive(t, x.ask(due, weir.Ask{N: limit, Mode: weir.UpTo}).Granted, "at least one")
	})
}

// Events of a window that is over are not given back to the current window.
func TestGivingBackFindsTheWindow(t *testing.T) {
	const per = 10 * time.Second
	start := kit.T0 - kit.T0%int64(per)
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 10, Per: per},
		weir.FixedWindow{Limit: 10, Per: per, FromFirst: true},
		weir.SlidingWindow{Limit: 10, Per: per},
		weir.SlidingWindow{Limit: 10, Per: per, Buckets: 5},
		weir.SlidingLog{Limit: 10, Per: per},
	} {
		x := newTrial(t, p)
		first := start + int64(per)/5
		x.ask(first, weir.Ask{N: 10})
		now := first + 2*int64(per)
		require.Equal(t, 10, x.ask(now, weir.Ask{}).Remaining)
		x.ask(now, weir.Ask{N: 4})
		assert.Equal(t, 6, x.ask(now, weir.Ask{N: -10, GrantedAt: first}).Remaining, "%#v", p)
		assert.Equal(t, 7, x.ask(now, weir.Ask{N: -1, GrantedAt: now}).Remaining, "%#v", p)
		assert.Equal(t, 8, x.ask(now, weir.Ask{N: -1}).Remaining, "%#v", p)
		assert.Equal(t, 10, x.ask(now, weir.Ask{N: -9, GrantedAt: now}).Remaining, "%#v: no more than there were", p)
	}
}

// A debt that is too large to be told apart from larger ones stays the same when events are given
// back. It errs towards denying.
func TestR9_DebtsSaturate(t *testing.T) {
	policies := slices.Concat(endsOfPolicies(), kit.AllPolicies(10, 10*time.Second), kit.AllPolicies(7, time.Second),
		kit.AllPolicies(8_000, time.Second), []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: math.MaxInt64, Burst: 3},
			weir.LeakyBucket{Limit: 1, Per: math.MaxInt64, Capacity: 3},
		})
	for i, p := range policies {
		if i%runs.Long(1, 17) != 0 {
			continue
		}
		limit, per := rateOf(p)
		debts := [][]int{
			{math.MaxInt},
			{math.MaxInt, math.MaxInt, math.MaxInt, 1},
			{1, math.MaxInt, 5, math.MaxInt - 1, 2, math.MaxInt},
			{math.MaxInt32, math.MaxInt32},
		}
		if limit == 8_000 { // half a word counts to 16,383
			debts = [][]int{{383, 1, 16_383, 100}, {16_382}, {16_383}, {16_384}}
		}
		for _, debts := range debts {
			for _, step := range []int64{0, int64(per) / 3, int64(per)} {
				x, now := newTrial(t, p), kit.T0
				for _, n := range debts {
					x.ask(now, weir.Ask{N: n, Mode: weir.Regardless})
					now = saturated(now, step)
				}
				for i, n := range debts {
					x.ask(now, weir.Ask{N: -n, GrantedAt: saturated(kit.T0, int64(min(i, 1))*step)})
					x.ask(now, weir.Ask{N: -n / 2})
					x.ask(now, weir.Ask{N: 1, Mode: weir.UpTo})
					x.allows = 0 // the short way of Allow
					x.ask(now, weir.Ask{N: 1})
					x.ask(now, weir.Ask{N: 1, MaxWait: math.MaxInt64})
					now = saturated(now, step/2)
				}
			}
		}
	}
}

func rateOf(p weir.Policy) (limit int, per time.Duration) {
	switch p := p.(type) {
	case weir.TokenBucket:
		return p.Limit, p.Per
	case weir.LeakyBucket:
		return p.Limit, p.Per
	case weir.FixedWindow:
		return p.Limit, p.Per
	case weir.SlidingWindow:
		return p.Limit, p.Per
	default:
		return p.(weir.SlidingLog).Limit, p.(weir.SlidingLog).Per
	}
}

// The memory of a log does not grow with its debts: two words for an event of the limit, the entry
// on top, and what has left and is not cut off yet.
func TestALogInDebtStaysSmall(t *testing.T) {
	for _, limit := range []int{1, 2, 10, 30} {
		x := newTrial(t, weir.SlidingLog{Limit: limit, Per: time.Hour})
		most := 2 + (2*limit+2)*4/3 + 1
		for i := range int64(10 * limit) {
			x.ask(kit.T0+i*int64(time.Second), weir.Ask{N: 1 + int(i)%2, Mode: weir.Regardless})
			require.LessOrEqual(t, len(x.state), most)
		}
		require.GreaterOrEqual(t, len(x.state), 2*limit, "and until then it remembers when they were")
		for i := range int64(10 * limit) { // while entries leave
			now := kit.T0 + int64(time.Hour) + i*int64(time.Second)/2
			x.ask(now, weir.Ask{N: 1, Mode: weir.Regardless})
			x.ask(now, weir.Ask{N: -1, GrantedAt: kit.T0 + i})
			require.LessOrEqual(t, len(x.state), most)
		}
	}
}

// R9, R19: a bucket owes 2^64 events less a fraction, where ints have 64 bits. Rounded up, that is
// more than a word holds. The other tiers know the debt all the same.
func TestR19_TheLargestDebtOfATier(t *testing.T) {
	ctx := t.Context()
	l, clock := kit.Frozen(weir.Tiers(
		weir.FixedWindow{Limit: 5, Per: time.Hour}, weir.TokenBucket{Limit: 3, Per: 2 * time.Second},
	))
	for _, n := range []int{math.MaxInt, math.MaxInt, 2} {
		require.NoError(t, kit.Reserve(t, l, 0).Settle(ctx, n))
	}
	for range 3 {
		assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
		assert.False(t, kit.Take(t, l, "k", 1).Allowed)
		clock.Time = clock.Add(time.Nanosecond)
	}
}

// R5: Tiers know of a debt in one of their tiers that are composed, before more is used than that
// tier's limit. An event in the queue uses all of it.
func TestR5_TiersOfTiersInDebt(t *testing.T) {
	hour := weir.FixedWindow{Limit: 1, Per: time.Hour}
	k := kit.NewKey(t, weir.Tiers(hour, weir.Tiers(weir.LeakyBucket{Limit: 7, Per: time.Second}, hour)))
	now := kit.T0
	require.Equal(t, 1, k.Take(now, 2).DecidedBy)
	k.Ask(now, weir.Ask{N: 4, Mode: weir.Regardless}) // the last tier of the last owes 3
	now += 1e9
	granted := k.Take(now, 2)
	require.True(t, granted.Allowed)
	assert.Equal(t, k.Look(now).Remaining, granted.Remaining)
}
