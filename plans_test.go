package weir_test

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

var background = context.Background()

func TestSetPolicy_KeepsWhatWasUsed(t *testing.T) {
	for _, test := range []struct {
		from, to      weir.Policy
		used, remains int
	}{
		// counts as they are, where both count alike
		{weir.TokenBucket{Limit: 100, Per: time.Minute}, weir.TokenBucket{Limit: 100, Per: time.Minute, Burst: 1000}, 40, 960},
		{weir.FixedWindow{Limit: 100, Per: time.Minute}, weir.FixedWindow{Limit: 1000, Per: time.Minute}, 40, 960},
		{weir.SlidingWindow{Limit: 100, Per: time.Minute}, weir.SlidingWindow{Limit: 1 << 30, Per: time.Minute}, 40, 1<<30 - 40},
		{weir.SlidingLog{Limit: 100, Per: time.Minute}, weir.SlidingLog{Limit: 30, Per: time.Minute}, 40, 0},
		// else the share, rounded down
		{weir.TokenBucket{Limit: 100, Per: time.Minute}, weir.TokenBucket{Limit: 1000, Per: time.Minute}, 40, 600},
		{weir.TokenBucket{Limit: 1000, Per: time.Minute}, weir.TokenBucket{Limit: 100, Per: time.Minute}, 999, 1},
		{weir.TokenBucket{Limit: 100, Per: time.Minute}, weir.TokenBucket{Limit: 7, Per: time.Second, Burst: 3}, 50, 2},
		{weir.FixedWindow{Limit: 100, Per: time.Minute}, weir.FixedWindow{Limit: 30, Per: time.Hour}, 40, 18},
		{weir.FixedWindow{Limit: 100, Per: time.Minute, FromFirst: true}, weir.FixedWindow{Limit: 90, Per: time.Hour, FromFirst: true}, 40, 54},
		{weir.SlidingLog{Limit: 100, Per: time.Minute}, weir.SlidingLog{Limit: 50, Per: time.Hour}, 40, 30},
		{weir.SlidingLog{Limit: 3, Per: time.Minute}, weir.TokenBucket{Limit: 100, Per: time.Minute}, 1, 67},
	} {
		l := weir.Must(weir.New(test.from, weir.WithClock(clock.NewMock())))
		kit.Take(t, l, "k", test.used)
		require.NoError(t, l.SetPolicy(background, test.to))
		assert.Equal(t, test.remains, kit.Take(t, l, "k", 0).Remaining, "%#v to %#v", test.from, test.to)
		assert.Equal(t, kit.Take(t, l, "new", 0).Limit, kit.Take(t, l, "new", 0).Remaining, "another key")
	}
}

// Changing back and forth between two policies grants no more than the larger one.
func TestP10_SetPolicy(t *testing.T) {
	small, large := weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.TokenBucket{Limit: 20, Per: time.Hour}
	l := weir.Must(weir.New(small, weir.WithClock(clock.NewMock())))
	granted := 0
	for i := range 200 {
		require.NoError(t, l.SetPolicy(background, []weir.Policy{small, large}[i%2]))
		if l.Allow("k") {
			granted++
		}
	}
	assert.GreaterOrEqual(t, granted, 10)
	assert.LessOrEqual(t, granted, 20)
}

func TestSetPolicy_RefusesWhatNewRefuses(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 2, Per: time.Hour}))
	assert.EqualError(t, l.SetPolicy(background, nil), "weir: the Policy is nil, must be one")
	assert.EqualError(t, l.SetPolicy(background, (*weir.SlidingLog)(nil)), "weir: the Policy is a nil *weir.SlidingLog, must be one")
	assert.EqualError(t, l.SetPolicy(background, weir.SlidingLog{Per: 1}), "weir: weir.SlidingLog.Limit is 0, must be at least 1")
	assert.Equal(t, 2, kit.Take(t, l, "k", 0).Limit, "as before")
	assert.Error(t, (*weir.KeyedLimiter)(nil).SetPolicy(background, weir.TokenBucket{Limit: 2, Per: time.Hour}))
}

func TestWithPolicyFor(t *testing.T) {
	plans := map[string]weir.Policy{
		"pro":  weir.TokenBucket{Limit: 1000, Per: time.Minute},
		"late": weir.FixedWindow{Limit: 5, Per: time.Minute},
		"bad":  weir.FixedWindow{Limit: -5, Per: time.Minute},
		"own":  weightless{make([]int, 1)}, // cannot be compared
	}
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Minute}, weir.WithClock(clock.NewMock()),
		weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy { return plans[key] })))

	for key, limit := range map[string]int{"pro": 1000, "late": 5, "anybody": 10, "own": 77} {
		assert.Equal(t, limit, kit.Take(t, l, key, 1).Limit, key)
		assert.True(t, l.Allow(key))
		assert.NoError(t, l.Wait(background, key, 1))
	}

	_, err := l.Take(background, "bad", 1)
	assert.EqualError(t, err, "weir: Take of 1 events: the policy that WithPolicyFor's function returned: weir.FixedWindow.Limit is -5, must be at least 1")
	assert.ErrorContains(t, l.Wait(background, "bad", 1), "Limit is -5")
	assert.False(t, l.Allow("bad"))

	plans["late"] = weir.FixedWindow{Limit: 8, Per: time.Minute}
	assert.Equal(t, 8-3, kit.Take(t, l, "late", 0).Remaining)

	require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: 20, Per: time.Minute}))
	assert.Equal(t, 20, kit.Take(t, l, "anybody", 0).Limit)
	assert.Equal(t, 1000, kit.Take(t, l, "pro", 0).Limit)

	_, err = weir.New(weir.TokenBucket{Limit: 10, Per: time.Minute}, weir.WithPolicyFor(nil))
	assert.EqualError(t, err, "weir: WithPolicyFor(nil), must be a function")
}

// A map of pointers gives a nil pointer for a plan that it lacks, which is not the nil Policy.
func TestWithPolicyFor_ANilPointerIsNoPlan(t *testing.T) {
	plans := map[string]*weir.TokenBucket{"pro": {Limit: 1000, Per: time.Minute}}
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Minute}, weir.WithClock(clock.NewMock()),
		weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy { return plans[key] })))
	assert.Equal(t, 1000, kit.Take(t, l, "pro", 1).Limit)
	assert.Equal(t, 10, kit.Take(t, l, "anybody", 1).Limit)
	assert.True(t, l.Allow("anybody"))
	assert.NoError(t, l.Wait(background, "anybody", 1))
	require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: 20, Per: time.Minute}))
	assert.Equal(t, 20, kit.Take(t, l, "anybody", 0).Limit)
}

// weightless is a policy that cannot be compared and grants everything.
type weightless struct{ notComparable []int }

func (w weightless) Decider() (weir.Decider, error) { return w, nil }
func (w weightless) Words() int                     { return 1 }
func (w weightless) Expiry([]uint64) int64          { return 0 }

func (w weightless) Decide(state []uint64, _ int64, _ weir.Ask) ([]uint64, weir.Answer) {
	return state, weir.Answer{Result: weir.Result{Allowed: true, Limit: 77, Remaining: 77}}
}

// A function that makes up ever new policies does not fill the memory.
func TestP23_PoliciesAreForgotten(t *testing.T) {
	n := 0
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		n++
		return weir.TokenBucket{Limit: n, Per: time.Hour}
	})))
	for i := range 5000 {
		require.True(t, l.Allow(kit.KeyName(i)))
	}
	assert.LessOrEqual(t, weir.PoliciesKnown(l), 2*1024)
}

// A function that makes a pointer for each call makes one policy for the store, however seldom
// garbage is collected. After a million calls the store had failed.
func TestP23_PointersToOnePolicy(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	store := new(weir.MemStore)
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(store), weir.WithClock(clock.NewMock()), weir.WithPolicyFor(func(context.Context, string) weir.Policy {
		return &weir.TokenBucket{Limit: 5000, Per: time.Hour}
	})))
	for range 5000 {
		require.True(t, l.Allow("k"))
	}
	require.False(t, l.Allow("k"))
	assert.Equal(t, 1, weir.Writers(store))
}

func TestPoliciesByKeyAllocateNothing(t *testing.T) {
	var pro, free weir.Policy = weir.TokenBucket{Limit: 1 << 30, Per: time.Hour}, weir.TokenBucket{Limit: 1 << 29, Per: time.Hour}
	l := weir.Must(weir.New(free, weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
		if key == "pro" {
			return pro
		}
		return nil
	})))
	for _, key := range []string{"pro", "free"} {
		assert.Zero(t, kit.AllocsPerRun(1000, func() {
			l.Allow(key)
			_, _ = l.Take(background, key, 1)
		}), key)
	}
}

// While the policy changes all the time, nothing is granted beyond the largest, and no one hangs.
func TestR10_SetPolicy(t *testing.T) {
	l := weir.Must(weir.New(weir.FixedWindow{Limit: 500, Per: time.Hour}, weir.WithClock(clock.NewMock())))
	var granted atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 500 {
				if l.Allow("k") {
					granted.Add(1)
				}
				if j%10 == i {
					assert.NoError(t, l.SetPolicy(background, weir.FixedWindow{Limit: 500 + i%2*500, Per: time.Hour}))
				}
			}
		})
	}
	all.Wait()
	assert.GreaterOrEqual(t, granted.Load(), int64(500))
	assert.LessOrEqual(t, granted.Load(), int64(1000))
}

// PlanOf is that by which the key is decided, and the same as long as the policy is.
func TestPlanOf(t *testing.T) {
	usual, special := weir.TokenBucket{Limit: 1, Per: time.Minute}, weir.TokenBucket{Limit: 2, Per: time.Minute}
	l, _ := kit.Frozen(usual, weir.WithPolicyFor(func(_ context.Context, key string) weir.Policy {
		switch key {
		case "special":
			return special
		case "wrong":
			return weir.TokenBucket{}
		}
		return nil
	}))
	plan := func(key string) *weir.Plan {
		p, err := l.PlanOf(background, key)
		require.NoError(t, err)
		return p
	}
	assert.Equal(t, usual, plan("k").Policy)
	assert.Equal(t, special, plan("special").Policy)
	assert.Same(t, plan("k"), plan("other"))
	assert.Same(t, plan("special"), plan("special"))
	kit.SetPolicy(t, l, special)
	assert.Equal(t, special, plan("k").Policy)

	_, err := l.PlanOf(background, "wrong")
	require.ErrorContains(t, err, "TokenBucket.Limit is 0")
	_, err = (*weir.KeyedLimiter)(nil).PlanOf(background, "k")
	require.Error(t, err)
}

// R15: a policy may be read again into the place where the one before is, as from a changed file.
// The limiter took the pointer to it for the same policy. The store then read states of one word as
// places of longer ones, granted 9 more events to a used-up key, and panicked.
func TestR15_APointerWhosePolicyHasChanged(t *testing.T) {
	for _, of := range []func(weir.Policy) weir.Policy{
		func(p weir.Policy) weir.Policy { return p },
		func(p weir.Policy) weir.Policy { return weir.All(p) },
		func(p weir.Policy) weir.Policy { return weir.Tiers(weir.All(p)) },
	} {
		p := &weir.TokenBucket{Limit: 7, Per: time.Second}
		l, _ := kit.Frozen(of(p))
		require.Zero(t, kit.Take(t, l, "k", 7).Remaining)
		p.Limit = 10
		assert.Equal(t, 7, kit.Take(t, l, "k", 0).Limit, "not yet")
		kit.SetPolicy(t, l, of(p))
		assert.Equal(t, 10, kit.Take(t, l, "k", 0).Limit)
		assert.False(t, l.Allow("k"))
		n, _, err := l.TakeUpTo(background, "k", 1)
		assert.NoError(t, err)
		assert.Zero(t, n)
		assert.Equal(t, 9, kit.Take(t, l, "new", 1).Remaining)
	}
}

// What a pointer of a function's points to must not change. If it does, the store still tells the
// states of one policy from those of the other.
func TestWithPolicyFor_APointerWhosePolicyHasChanged(t *testing.T) {
	for _, limit := range []int{7, 10} { // states of two words, and of one
		p, store, mock := &weir.TokenBucket{Limit: limit, Per: time.Second}, new(weir.MemStore), clock.NewMock()
		limiter := func() *weir.KeyedLimiter {
			return weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithClock(mock), weir.WithStore(store),
				weir.WithName("name"), weir.WithPolicyFor(func(context.Context, string) weir.Policy { return p })))
		}
		before := limiter()
		require.Zero(t, kit.Take(t, before, "k", limit).Remaining)
		p.Limit = 17 - limit
		for _, l := range []*weir.KeyedLimiter{before, limiter()} {
			assert.False(t, l.Allow("k"))
			n, _, err := l.TakeUpTo(background, "k", 1)
			assert.NoError(t, err)
			assert.Zero(t, n)
		}
	}
}

// mayStart returns a function that reports whether a job of a customer may start now.
func mayStart(unlimited, blocked map[string]bool) func(customer string) bool {
	limiter := weir.Must(weir.New(weir.TokenBucket{Limit: 60, Per: time.Minute}))
	return func(customer string) bool {
		switch {
		case blocked[customer]:
			return false
		case unlimited[customer]:
			return true
		}
		return limiter.Allow(customer)
	}
}

// The function is in docs/choosing.md. In the bubble time stands still, and nothing is earned.
func TestMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := mayStart(map[string]bool{"ann": true}, map[string]bool{"bob": true})
		started := map[string]int{}
		for range 100 {
			for _, customer := range []string{"ann", "bob", "eve"} {
				if may(customer) {
					started[customer]++
				}
			}
		}
		assert.Equal(t, map[string]int{"ann": 100, "eve": 60}, started)
	})
}
