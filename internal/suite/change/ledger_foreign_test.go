package change_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// foreign is a policy of another package that decides as p does.
type foreign struct{ p weir.Policy }

type decider struct{ weir.Decider }

func (f foreign) Decider() (weir.Decider, error) {
	d, err := f.p.Decider()
	return decider{d}, err
}

// R13: Tiers are charged for the events of another policy also if the last tier is of another
// package, and does not tell what it owes.
func TestR13_TiersOfAnotherPackage(t *testing.T) {
	log := weir.SlidingLog{Limit: 10, Per: time.Hour}
	l, _ := kit.Frozen(log)
	require.True(t, kit.Take(t, l, "k", 10).Allowed)
	require.NoError(t, l.SetPolicy(context.Background(), weir.Tiers(
		weir.TokenBucket{Limit: 10, Per: time.Minute}, foreign{weir.TokenBucket{Limit: 1, Per: time.Minute}},
	)))
	assert.Zero(t, kit.Take(t, l, "k", 0).Remaining)
}

// R17: the last booking of another package's policy is undone exactly, also if a policy was denied
// since.
func TestR17_TheLastBookingOfAnotherPackageIsUndone(t *testing.T) {
	ctx, queue := context.Background(), foreign{weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 9}}
	l, _ := kit.Frozen(queue)
	require.True(t, kit.Take(t, l, "k", 1).Allowed)
	r, err := l.Reserve(ctx, "k", 5)
	require.NoError(t, err)
	require.Equal(t, time.Second, r.Delay())
	require.NoError(t, l.SetPolicy(ctx, weir.TokenBucket{Limit: 10, Per: time.Hour}))
	require.False(t, kit.Take(t, l, "k", 10).Allowed)
	require.NoError(t, r.Cancel(ctx))
	require.NoError(t, l.SetPolicy(ctx, queue))
	assert.Equal(t, time.Second, kit.Take(t, l, "k", 1).RetryAfter)
}

// uncounted is a policy of another package that bounds each request alone.
type uncounted int

func (p uncounted) Decider() (weir.Decider, error) { return p, nil }
func (uncounted) Words() int                       { return 0 }
func (uncounted) Expiry([]uint64) int64            { return 0 }

func (p uncounted) Decide(state []uint64, _ int64, ask weir.Ask) ([]uint64, weir.Answer) {
	r := weir.Result{Allowed: ask.N <= int(p), Limit: int(p), Remaining: int(p)}
	if !r.Allowed {
		r.RetryAfter = weir.Never
	}
	return state, weir.Answer{Result: r}
}

// R14: the events of a policy are charged for the asker's own span, also if the asker's grants leave
// nothing that counts.
func TestR14_GrantsThatDoNotCount(t *testing.T) {
	hourly := weir.SlidingLog{Limit: 10, Per: time.Hour}
	tiers := weir.Tiers(uncounted(1), weir.SlidingLog{Limit: 10, Per: time.Second})
	for _, first := range []int{10, 1} { // the charge begins with a denial, or with a grant
		k, now := kit.LedgerKey{T: t}, int64(kit.T0)
		require.True(t, k.Ask(hourly, now, weir.Ask{N: 5}).Allowed)
		require.Equal(t, first == 1, k.Ask(tiers, now, weir.Ask{N: first}).Allowed)
		assert.Equal(t, 5, k.Remaining(tiers, now))
		for range 3 {
			now += int64(time.Second)
			require.True(t, k.Ask(tiers, now, weir.Ask{N: 1}).Allowed)
			assert.Equal(t, 10, k.Remaining(tiers, now))
			assert.Equal(t, 5, k.Remaining(hourly, now))
		}
	}
}

// R16: a policy of another package may hand what it is asked on to All or Tiers. These have more
// parts than are known of it.
func TestR16_CompositionWithinAnotherPackagesPolicy(t *testing.T) {
	ctx := context.Background()
	log, bucket := weir.SlidingLog{Limit: 4, Per: time.Hour}, weir.TokenBucket{Limit: 9, Per: time.Hour}
	for _, p := range []weir.Policy{
		foreign{weir.All(log, bucket)},
		foreign{weir.Tiers(log, bucket)},
		weir.All(log, foreign{weir.All(bucket, log)}),
	} {
		l, _ := kit.Frozen(log)
		require.True(t, kit.Take(t, l, "k", 1).Allowed)
		require.NoError(t, l.SetPolicy(ctx, p))
		left := kit.Take(t, l, "k", 0).Remaining
		require.True(t, kit.Take(t, l, "k", 1).Allowed, "%#v", p)
		require.NoError(t, l.Return(ctx, "k", 1))
		assert.Equal(t, left, kit.Take(t, l, "k", 0).Remaining, "%#v", p)
	}
}

// A policy of another package may take time or memory for each event. It is charged no more than it
// grants, however much another policy owes.
func TestAnotherPackageIsChargedNoMoreThanItGrants(t *testing.T) {
	for _, p := range kit.AllPolicies(1, time.Hour) {
		l, _ := kit.Frozen(p)
		r, err := l.Reserve(context.Background(), "k", 0)
		require.NoError(t, err)
		require.NoError(t, r.Settle(context.Background(), math.MaxInt))
		most := new(int)
		require.NoError(t, l.SetPolicy(context.Background(), eager{weir.SlidingLog{Limit: 5, Per: time.Hour}, most}))
		assert.False(t, kit.Take(t, l, "k", 1).Allowed, "%#v", p)
		assert.Equal(t, 5, *most, "%#v", p)
	}
}

// eager notes the most events that it had to count regardless.
type eager struct {
	weir.Policy
	most *int
}

type eagerDecider struct {
	weir.Decider
	most *int
}

func (p eager) Decider() (weir.Decider, error) {
	d, err := p.Policy.Decider()
	return eagerDecider{d, p.most}, err
}

func (d eagerDecider) Decide(state []uint64, now int64, ask weir.Ask) ([]uint64, weir.Answer) {
	if ask.Mode == weir.Regardless {
		*d.most = max(*d.most, ask.N)
	}
	return d.Decider.Decide(state, now, ask)
}

// observed is a policy that is not equal to itself: it has a function in it.
type observed struct {
	weir.Policy
	observe func()
}

func (p observed) Decider() (weir.Decider, error) { return foreign{p.Policy}.Decider() }

// A part of a composed policy counts on after a change, also if the part is not equal to itself.
func TestR14_PartThatIsNotEqualToItself(t *testing.T) {
	log := weir.SlidingLog{Limit: 4, Per: time.Hour}
	for _, compose := range []func(...weir.Policy) weir.Policy{weir.All, weir.Tiers} {
		l, _ := kit.Frozen(log)
		require.True(t, kit.Take(t, l, "k", 1).Allowed)
		p := compose(log, observed{weir.TokenBucket{Limit: 4, Per: time.Hour}, func() {}})
		require.NoError(t, l.SetPolicy(context.Background(), p))
		for range 3 {
			require.True(t, kit.Take(t, l, "k", 1).Allowed, "%#v", p)
		}
		assert.Equal(t, 4, kit.Take(t, l, "k", 1).Limit, "%#v", p)
	}
}

// R13: the share that is used up is that of the limit at the instant.
func TestR13_LimitThatDependsOnTheInstant(t *testing.T) {
	for _, p := range []weir.Policy{kit.Hourly(10, 100), kit.Hourly(100, 10)} {
		for _, hour := range []int{2, 12} {
			l, clock := kit.Frozen(p)
			clock.Time = time.Date(2026, 3, 5, hour, 0, 0, 0, time.UTC)
			most := kit.Take(t, l, "k", 0).Limit
			require.True(t, kit.Take(t, l, "k", most/2).Allowed)
			kit.SetPolicy(t, l, weir.SlidingLog{Limit: 10, Per: time.Hour})
			assert.Equal(t, 5, kit.Take(t, l, "k", 0).Remaining, "%#v at %d", p, hour)
		}
	}
}

// A policy of another package does not tell its debts. That its limit was lower at another instant,
// or before the key did something, is none.
func TestTiersTakeNoHigherLimitForADebt(t *testing.T) {
	log := weir.SlidingLog{Limit: 1, Per: time.Hour}
	for _, p := range []weir.Policy{
		weir.Tiers(log, kit.Hourly(100, 10)),
		weir.Tiers(log, weir.All(kit.Hourly(100, 10))),
	} {
		l, clock := kit.Frozen(p)
		clock.Time = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
		require.True(t, kit.Take(t, l, "k", 60).Allowed)
		assert.Equal(t, 40, kit.Take(t, l, "k", 0).Remaining, "%#v", p)
		assert.True(t, kit.Take(t, l, "k", 40).Allowed, "%#v", p)
	}
}
