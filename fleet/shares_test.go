package fleet_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

// sharesOf is the Shares of a process that has been the one with the index, of n, for long.
func sharesOf(t testing.TB, s weir.Store, index, n int) *fleet.Shares {
	t.Helper()
	shares := fleet.NewShares(s)
	set(t, shares, index, n)
	shares.Settle()
	return shares
}

func set(t testing.TB, s *fleet.Shares, index, n int) {
	t.Helper()
	require.NoError(t, s.Set(fleet.Membership{Members: n, Index: index}))
}

// booking is Shares that leave it to their store to book ahead.
type booking struct {
	*fleet.Shares
	store weir.Store
}

func (b *booking) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	if r.MaxWait > 0 {
		return b.store.Do(ctx, r)
	}
	return b.Shares.Do(ctx, r)
}

// A process that is the only member answers as its store does, but books nothing ahead.
func TestShares_OfOneMember(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Short(t, runs.Server)
		mem := new(weir.MemStore)
		return &booking{sharesOf(t, mem, 0, 1), mem}
	}, storetest.RoundTrips())
}

// The table has the events that each of n members grants at one instant, and the members together.
func TestShares_Division(t *testing.T) {
	const per = 10 * time.Second
	log := func(limit int) weir.Policy { return weir.SlidingLog{Limit: limit, Per: per} }
	for _, test := range []struct {
		policy weir.Policy
		want   []int // of each member
	}{
		{log(100), []int{100}},
		{log(100), []int{50, 50}},
		{log(100), []int{33, 33, 33}},
		{log(7), []int{1, 1, 1, 1}},
		{log(8), []int{1, 1, 1, 1, 1, 1, 1, 1}},
		{log(3), []int{1, 1, 1, 0, 0, 0, 0, 0}},
		{log(1), []int{1, 0}},
		{custom{weir.SlidingLog{Limit: 9, Per: per}}, []int{3, 3, 3}},
		{&weir.FixedWindow{Limit: 9, Per: per}, []int{3, 3, 3}},
		{weir.TokenBucket{Limit: 3, Per: time.Hour, Burst: 100}, []int{25, 25, 25, 25}},
		{weir.TokenBucket{Limit: 1000, Per: per, Burst: 2}, []int{1, 1, 0}},
		{weir.LeakyBucket{Limit: 10, Per: per}, []int{10, 0, 0}},
		{weir.All(log(100), log(6)), []int{2, 2, 2}},
		{weir.All(log(100), log(2)), []int{1, 1, 0}},
		{weir.All(log(100), weir.LeakyBucket{Limit: 10, Per: per}), []int{10, 0}},
		{weir.Tiers(log(6), log(90)), []int{32, 32, 32}},
		{weir.Tiers(log(90), weir.LeakyBucket{Limit: 10, Per: per}), []int{100, 0}},
		{weir.Tiers(log(90), weir.LeakyBucket{Limit: 1, Per: per}), []int{91, 0}},
		{weir.Tiers(log(90), weir.LeakyBucket{Limit: 10, Per: per, Capacity: 1}), []int{91, 0}},
		{weir.Tiers(log(90), weir.TokenBucket{Limit: 1, Per: per}), []int{45, 45}},
		{weir.SingleRateMarker{Committed: weir.TokenBucket{Limit: 10, Per: per}, Excess: 20}, []int{15, 15}},
		{weir.TwoRateMarker{
			Committed: weir.TokenBucket{Limit: 10, Per: per},
			Peak:      weir.TokenBucket{Limit: 20, Per: per},
		}, []int{10, 10}},
	} {
		var got []int
		for i := range test.want {
			l, _ := kit.Frozen(test.policy, weir.WithStore(sharesOf(t, new(weir.MemStore), i, len(test.want))))
			sum := 0
			for n := kit.Take(t, l, "k", 0).Remaining; n > 0; n = kit.Take(t, l, "k", 0).Remaining {
				require.True(t, kit.Take(t, l, "k", n).Allowed)
				sum += n
			}
			assert.False(t, l.Allow("k"))
			got = append(got, sum)
		}
		assert.Equal(t, test.want, got, "%#v", test.policy)
	}
}

// A Result is of the share.
func TestShares_Result(t *testing.T) {
	p := weir.TokenBucket{Limit: 100, Per: 100 * time.Second}
	l, clock := kit.Frozen(p, weir.WithStore(sharesOf(t, new(weir.MemStore), 2, 3)))
	assert.Equal(t, weir.Result{Allowed: true, Limit: 33, Remaining: 33}, kit.Take(t, l, "k", 0))
	assert.Equal(t, weir.Result{Allowed: true, Limit: 33, Remaining: 3, ResetAfter: 90 * time.Second}, kit.Take(t, l, "k", 30))
	assert.Equal(t, weir.Result{Limit: 33, Remaining: 3, RetryAfter: 2 * time.Second, ResetAfter: 90 * time.Second}, kit.Take(t, l, "k", 4))
	assert.Equal(t, weir.Never, kit.Take(t, l, "k", 34).RetryAfter)
	assert.Equal(t, weir.Never, kit.Take(t, l, "k", math.MaxInt).RetryAfter)
	clock.Time = clock.Add(2 * time.Second)
	assert.True(t, kit.Take(t, l, "k", 4).Allowed)

	var parts []weir.Result
	l, _ = kit.Frozen(weir.All(weir.SlidingLog{Limit: 9, Per: time.Hour}, weir.SlidingLog{Limit: 90, Per: time.Hour}),
		weir.WithStore(sharesOf(t, new(weir.MemStore), 2, 3)))
	r, err := l.TakeByComponent(context.Background(), "k", 1, &parts)
	require.NoError(t, err)
	assert.Equal(t, weir.Result{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Hour, MoreAfter: time.Hour}, r)
	assert.Equal(t, []weir.Result{r, {Allowed: true, Limit: 30, Remaining: 29, ResetAfter: time.Hour, MoreAfter: time.Hour}}, parts)
}

// MoreAfter is the time until one event more of the share remains, or not known. The store tells
// when one more of its own remains, which is a third of one here.
func TestShares_MoreAfter(t *testing.T) {
	known := map[bool]int{} // by whether it is the instant at which all remain
	kit.EachKind(t, func(t *testing.T, p weir.Policy) {
		l, clock := kit.Frozen(p, weir.WithStore(sharesOf(t, new(weir.MemStore), 1, 3)))
		var parts []weir.Result
		all := func(n int) []weir.Result {
			r, err := l.TakeByComponent(context.Background(), "k", n, &parts)
			require.NoError(t, err)
			return append([]weir.Result{r}, parts...)
		}
		for step := range 40 {
			before := all(1)
			more := before[step%len(before)]
			if more.MoreAfter == 0 {
				clock.Time = clock.Add(123456789)
				continue
			}
			known[more.MoreAfter == more.ResetAfter]++
			clock.Time = clock.Add(more.MoreAfter - 1)
			assert.LessOrEqual(t, all(0)[step%len(before)].Remaining, more.Remaining, "%+v", more)
			clock.Time = clock.Add(1)
			assert.Greater(t, all(0)[step%len(before)].Remaining, more.Remaining, "%+v", more)
		}
	})
	assert.Len(t, known, 2, "it is known in both cases")
}

// The weight of many events may not fit in an int. That they are denied, too, is seen only under a
// limit that is as large.
func TestShares_WeightAboveMaxInt(t *testing.T) {
	const most = math.MaxInt / 3
	policy := weir.FixedWindow{Limit: math.MaxInt, Per: time.Hour, FromFirst: true}
	for _, p := range []weir.Policy{policy, weir.All(policy, weir.TokenBucket{Limit: math.MaxInt, Per: time.Hour})} {
		l, _ := kit.Frozen(p, weir.WithStore(sharesOf(t, new(weir.MemStore), 0, 3)))
		for _, n := range []int{most + 1, math.MaxInt / 2, math.MaxInt} {
			var parts []weir.Result
			r, err := l.TakeByComponent(context.Background(), "k", n, &parts)
			require.NoError(t, err)
			for _, r := range append(parts, r) {
				assert.Equal(t, weir.Result{Limit: most, Remaining: most, RetryAfter: weir.Never}, r)
			}
		}
		n, _, err := l.TakeUpTo(context.Background(), "k", math.MaxInt)
		require.NoError(t, err)
		assert.Equal(t, most, n)
		assert.False(t, l.Allow("k"))
	}
}

// TakeUpTo takes whole events. A fraction of an event that is left is charged to nobody.
func TestShares_UpTo(t *testing.T) {
	ctx := context.Background()
	l, _ := kit.Frozen(weir.SlidingLog{Limit: 100, Per: time.Hour}, weir.WithStore(sharesOf(t, new(weir.MemStore), 0, 3)))
	n, r, err := l.TakeUpTo(ctx, "k", 30)
	require.NoError(t, err)
	assert.Equal(t, 30, n)
	assert.Equal(t, 3, r.Remaining)
	n, r, err = l.TakeUpTo(ctx, "k", math.MaxInt)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	assert.True(t, r.Allowed)
	for range 3 {
		n, r, err = l.TakeUpTo(ctx, "k", 5)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.Equal(t, weir.Result{Limit: 33, RetryAfter: time.Hour, ResetAfter: time.Hour}, r)
	}
	require.NoError(t, l.Return(ctx, "k", 2))
	assert.Equal(t, 2, kit.Take(t, l, "k", 0).Remaining)
}

// Between the look of TakeUpTo and its grant, others may take what there is.
func TestShares_UpToWhileOthersTake(t *testing.T) {
	mem, others := new(weir.MemStore), 5
	shares := sharesOf(t, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		if r.N > 0 && others > 0 {
			others--
			other := r
			other.N, other.Charges = 10, nil
			_, err := mem.Do(ctx, other)
			require.NoError(t, err)
		}
		return mem.Do(ctx, r)
	}), 0, 2)
	l, _ := kit.Frozen(weir.SlidingLog{Limit: 100, Per: time.Hour}, weir.WithStore(shares))
	n, r, err := l.TakeUpTo(context.Background(), "k", 50)
	require.NoError(t, err)
	assert.Equal(t, 25, n)
	assert.Zero(t, r.Remaining)
}

// Wait serves in order, at the rate of the share, and Reserve books nothing ahead.
func TestShares_Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := sharesOf(t, new(weir.MemStore), 0, 2)
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Second, Burst: 2}, weir.WithStore(shares)))
		start, order := time.Now(), make(chan int, 5)
		for i := range 5 {
			go func() {
				assert.NoError(t, l.Wait(context.Background(), "k", 1))
				order <- i
			}()
			synctest.Wait()
		}
		for i := range 5 {
			assert.Equal(t, i, <-order)
			assert.Equal(t, time.Duration(i)*200*time.Millisecond, time.Since(start))
		}
		r := kit.Reserve(t, l, 1)
		assert.False(t, r.Allowed)
		assert.ErrorIs(t, l.Wait(context.Background(), "k", 2), weir.ErrNeverFits)
	})
}

// An outage grants the limit once, and not once in each process.
func TestShares_AsSecondStore(t *testing.T) {
	for n := 1; n <= 8; n++ {
		sum := 0
		for i := range n {
			down := new(kit.Faulty)
			down.Down.Store(true)
			l, _ := kit.Frozen(weir.SlidingLog{Limit: 80, Per: time.Hour}, weir.WithStore(
				fleet.Fallback(down, sharesOf(t, new(weir.MemStore), i, n), fleet.FallbackOptions{})))
			for r := kit.Take(t, l, "k", 1); r.Allowed; r = kit.Take(t, l, "k", 1) {
				require.True(t, r.Degraded)
				sum++
			}
		}
		assert.Equal(t, 80-80%n, sum)
	}
}

func TestShares_Errors(t *testing.T) {
	ctx := context.Background()
	for _, test := range []struct {
		m    fleet.Membership
		want string
	}{
		{fleet.Membership{Members: -1}, "weir: Membership.Members is -1, must be at least 0"},
		{fleet.Membership{Index: 1}, "weir: Membership.Index is 1, must be from 0 to 0"},
		{fleet.Membership{Members: 3, Index: -1}, "weir: Membership.Index is -1, must be from 0 to 2"},
		{fleet.Membership{Members: 3, Index: 3}, "weir: Membership.Index is 3, must be from 0 to 2"},
	} {
		shares := sharesOf(t, new(weir.MemStore), 0, 1)
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(shares)))
		require.EqualError(t, shares.Set(test.m), test.want)
		assert.False(t, l.Allow("k"))
	}

	zero := new(fleet.Shares)
	require.EqualError(t, zero.Set(fleet.Membership{}), "weir: these Shares are zero, must be made by NewShares")
	_, err := zero.Do(ctx, weir.Request{})
	require.EqualError(t, err, "weir: these Shares are zero, must be made by NewShares")
	require.EqualError(t, weir.Accept(zero, nil), "weir: these Shares are zero, must be made by NewShares")

	down := new(kit.Faulty)
	down.Down.Store(true)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 5, Per: time.Hour}, weir.WithStore(sharesOf(t, down, 0, 2))))
	_, err = l.Take(ctx, "k", 1)
	require.ErrorIs(t, err, kit.ErrStore)
	_, _, err = l.TakeUpTo(ctx, "k", 1)
	require.ErrorIs(t, err, kit.ErrStore)
}
