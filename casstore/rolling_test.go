package casstore_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// rolledOut is a policy of another package, with words of its own.
type rolledOut struct {
	weir.SlidingLog
	release int
}

func (p rolledOut) Decider() (weir.Decider, error) {
	d, err := p.SlidingLog.Decider()
	return struct{ weir.Decider }{d}, err
}

// While a release is rolled out, some processes have a policy that others can't know. Both decide on
// the same keys (R13, R14, R21).
func TestR14_RollingChange(t *testing.T) {
	const limit = 12
	bucket := weir.TokenBucket{Limit: limit, Per: time.Hour}
	strange := rolledOut{weir.SlidingLog{Limit: limit, Per: time.Hour}, 1}
	for _, next := range []weir.Policy{
		strange,
		weir.All(bucket, strange),
		weir.All(strange, bucket),
		weir.Tiers(bucket, strange),
		weir.All(weir.All(weir.FixedWindow{Limit: limit, Per: time.Hour}, strange), bucket),
	} {
		for _, old := range []weir.Policy{
			bucket,
			weir.FixedWindow{Limit: limit, Per: time.Hour},
			weir.All(weir.SlidingLog{Limit: limit, Per: time.Hour}, bucket),
		} {
			synctest.Test(t, func(t *testing.T) {
				hours := runs.Long(40, 8)
				registers := newMemory()
				var ls []*weir.KeyedLimiter
				for _, p := range []weir.Policy{old, next} { // each process has a store of its own
					s := casstore.New(registers, casstore.Options{Timeout: time.Hour})
					ls = append(ls, newLimiter(t, s, p, weir.WithName("n")))
				}
				granted := 0
				for i := range 30 * hours {
					r, err := ls[i*i%7%2].Take(context.Background(), "k", 1)
					require.NoError(t, err, "%v and %v", old, next)
					if r.Allowed {
						granted++
					}
					time.Sleep(time.Hour / 30)
				}
				assert.LessOrEqual(t, granted, 2*limit*(hours+2), "%v and %v", old, next)
				assert.GreaterOrEqual(t, granted, limit*hours/2, "%v and %v", old, next)
			})
		}
	}
}

// R14, R15: a policy that other processes can't know has become a component of one that they have.
// Both count in one account.
func TestR14_PartOfARollingChange(t *testing.T) {
	strange := rolledOut{weir.SlidingLog{Limit: 12, Per: time.Hour}, 1}
	bucket := weir.TokenBucket{Limit: 100, Per: time.Hour}
	for _, next := range []weir.Policy{weir.All(strange, bucket), weir.All(bucket, strange), weir.Tiers(strange)} {
		for _, first := range []weir.Policy{strange, next} {
			now := stopped(time.Unix(1_700_000_000, 0))
			registers := newMemory()
			a := newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), first, weir.WithName("n"), weir.WithClock(now))
			take(t, a, 4)
			for _, p := range []weir.Policy{next, strange} {
				require.NoError(t, a.SetPolicy(t.Context(), p))
				take(t, a, 1)
			}
			b := newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), next, weir.WithName("n"), weir.WithClock(now))
			granted, _, err := b.TakeUpTo(t.Context(), "k", 100)
			require.NoError(t, err, "first %v, then %v", first, next)
			assert.Equal(t, 6, granted, "first %v, then %v", first, next)
			assert.False(t, a.Allow("k"))
		}
	}
}

// R6: what a process can't know ends when it ended, however often such a process writes.
func TestR6_EndOfWhatIsNotKnown(t *testing.T) {
	now := stopped(time.Unix(1_700_000_000, 0))
	registers := newMemory()
	a := newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), rolledOut{weir.SlidingLog{Limit: 12, Per: time.Hour}, 1},
		weir.WithName("n"), weir.WithClock(now))
	take(t, a, 1)
	b := newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), weir.TokenBucket{Limit: 100, Per: time.Minute},
		weir.WithName("n"), weir.WithClock(now))
	for range 10 {
		assert.Equal(t, time.Hour, take(t, b, 1).ResetAfter)
	}
}

// stamped is a policy of another package whose state is packed, as that of the policy in it.
type stamped struct {
	weir.FixedWindow
	release int
}

// R15: a process keeps what a policy has counted that it can't know. A process that knows the policy
// decides as if all did.
func TestR15_WhatIsNotKnownIsKept(t *testing.T) {
	log := weir.SlidingLog{Limit: 10, Per: time.Hour}
	for _, next := range []weir.Policy{
		rolledOut{log, 1},
		stamped{weir.FixedWindow{Limit: 10, Per: time.Hour}, 1},
		weir.All(rolledOut{log, 1}),
		weir.All(weir.TokenBucket{Limit: 20, Per: time.Hour}, rolledOut{log, 1}),
		weir.Tiers(rolledOut{weir.SlidingLog{Limit: 2, Per: time.Hour}, 1}, weir.All(stamped{weir.FixedWindow{Limit: 9, Per: time.Hour}, 1}, log)),
	} {
		for _, old := range []weir.Policy{weir.TokenBucket{Limit: 1000, Per: time.Hour}, weir.LeakyBucket{Limit: 30, Per: time.Hour}} {
			var got [2][]weir.Result
			for i, known := range []bool{true, false} {
				now := &kit.HandClock{Time: time.Unix(1_700_000_000, 0)}
				registers := newMemory()
				stores := []*casstore.Store{casstore.New(registers, casstore.Options{Timeout: time.Hour}), casstore.New(registers, casstore.Options{Timeout: time.Hour})}
				if known {
					stores[1] = stores[0]
				}
				a := newLimiter(t, stores[0], next, weir.WithName("n"), weir.WithClock(now))
				b := newLimiter(t, stores[1], old, weir.WithName("n"), weir.WithClock(now))
				for minute := range 60 * runs.Long(12, 4) {
					now.Time = now.Add(time.Minute)
					if minute%7 == 0 {
						b.Allow("k")
					}
					r, err := a.Take(t.Context(), "k", 1)
					require.NoError(t, err)
					r.ResetAfter = 0 // for others, what is not known ends with a whole second
					got[i] = append(got[i], r)
				}
			}
			assert.Equal(t, got[0], got[1], "%v beside %v", next, old)
		}
	}
}

// R13: processes that don't know each other's policies grant together no more at one instant than
// the most generous of them alone.
func TestR13_WhatIsNotKnownMintsNothing(t *testing.T) {
	own := func(limit int) weir.Policy { return rolledOut{weir.SlidingLog{Limit: limit, Per: time.Hour}, 1} }
	now := &kit.HandClock{Time: time.Unix(1_700_000_000, 0)}
	for _, policies := range [][]weir.Policy{
		{own(3), weir.FixedWindow{Limit: 3, Per: time.Hour}, own(2)},
		{weir.All(own(7), weir.FixedWindow{Limit: 20, Per: time.Hour}), own(2), weir.All(own(6), own(10))},
		{own(7), weir.All(own(6), weir.TokenBucket{Limit: 6, Per: time.Hour}), weir.All(own(8), weir.SlidingLog{Limit: 7, Per: time.Hour})},
		{weir.Tiers(own(3), own(2)), own(5), weir.LeakyBucket{Limit: 4, Per: time.Hour}, weir.All(own(4))},
		{weir.FixedWindow{Limit: 9, Per: time.Hour}, stamped{weir.FixedWindow{Limit: 9, Per: time.Hour}, 1}}, // which count alike
	} {
		for order := range 3 {
			registers, granted := newMemory(), 0
			var ls []*weir.KeyedLimiter
			for _, p := range policies {
				s := casstore.New(registers, casstore.Options{Timeout: time.Hour})
				ls = append(ls, newLimiter(t, s, p, weir.WithName("n"), weir.WithClock(now)))
			}
			for i := range 60 {
				n, _, err := ls[(i*i+order*i)%len(ls)].TakeUpTo(t.Context(), "k", 1+i%2*order)
				require.NoError(t, err)
				granted += n
			}
			most := 0
			for _, p := range policies {
				alone := newLimiter(t, new(weir.MemStore), p, weir.WithClock(now))
				sum := 0
				for alone.Allow("k") {
					sum++
				}
				most = max(most, sum)
			}
			assert.LessOrEqual(t, granted, most, "%v", policies)
		}
	}
}

// R13: of a policy that is not known, the share counts, also if an int does not hold its limit.
func TestR13_WhatIsNotKnownMayBeLarge(t *testing.T) {
	now := &kit.HandClock{Time: time.Unix(1_700_000_000, 0)}
	registers, large := newMemory(), rolledOut{weir.SlidingLog{Limit: math.MaxInt, Per: time.Hour}, 1}
	process := func(p weir.Policy) *weir.KeyedLimiter {
		return newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), p, weir.WithName("n"), weir.WithClock(now))
	}
	require.True(t, take(t, process(weir.Tiers(large, large)), math.MaxInt).Allowed)
	assert.Equal(t, 5, take(t, process(weir.FixedWindow{Limit: 10, Per: time.Hour}), 0).Remaining)
}

// R21: the work of a decision follows the size of the value, not its square, however many components
// a policy has that is not known.
func TestR21_WorkFollowsTheValue(t *testing.T) {
	allocated := func(components int) uint64 {
		registers, now := newMemory(), &kit.HandClock{Time: time.Unix(1_700_000_000, 0)}
		process := func(p weir.Policy) *weir.KeyedLimiter {
			return newLimiter(t, casstore.New(registers, casstore.Options{Timeout: time.Hour}), p, weir.WithName("n"), weir.WithClock(now))
		}
		log := rolledOut{weir.SlidingLog{Limit: 10, Per: time.Hour}, 1}
		a, b := process(weir.FixedWindow{Limit: 10, Per: time.Hour}), process(weir.All(slices.Repeat([]weir.Policy{log}, components)...))
		for _, l := range []*weir.KeyedLimiter{b, a, b} { // the value then has words for each component
			require.True(t, take(t, l, 1).Allowed)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.Equal(t, 6, take(t, a, 1).Remaining)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	assert.Less(t, allocated(800), 3*allocated(400))
}
