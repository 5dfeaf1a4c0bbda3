package weir_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// planned is a limiter whose function chooses *plan for any key.
func planned() (l *weir.KeyedLimiter, plan *weir.Policy) {
	plan = new(weir.Policy)
	l = weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithPolicyFor(
		func(context.Context, string) weir.Policy { return *plan })))
	return l, plan
}

func manyPlans(n int) []weir.Policy {
	plans := make([]weir.Policy, n)
	for i := range plans {
		plans[i] = weir.TokenBucket{Limit: 1e8 + i, Per: century}
	}
	return plans
}

// Of 100,000 keys, by how many plans they have.
func BenchmarkR22_ManyPlansAreAsFastAsFew(b *testing.B) {
	keys := make([]string, 100_000)
	for i := range keys {
		keys[i] = kit.KeyName(i)
	}
	for _, n := range []int{100, 1024, 1025, 20_000, 100_000} {
		l, plan := planned()
		plans := manyPlans(n)
		for i := range 5 * len(keys) {
			k := i % len(keys)
			*plan = plans[k%n]
			l.Allow(keys[k])
		}
		b.Run(fmt.Sprintf("plans=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k := i % len(keys)
				*plan = plans[k%n]
				l.Allow(keys[k])
			}
		})
	}
}

// R22: a plan that is in use stays ready, however many there are.
func TestR22_ManyPlansAreAsFastAsFew(t *testing.T) {
	l, plan := planned()
	plans := manyPlans(20_000)
	keys := make([]string, len(plans))
	for i := range keys {
		keys[i] = kit.KeyName(i)
	}
	round := func() {
		for i := range plans {
			*plan = plans[i]
			l.Allow(keys[i])
		}
	}
	for range 5 { // until the limiter knows how many are in use
		round()
	}
	assert.Less(t, kit.AllocsPerRun(1, round), float64(len(plans))/100)
}

// P23: a function that makes up policies beside those in use does not fill the memory, nor does it
// drive out those in use.
func TestP23_PoliciesInUseAreKept(t *testing.T) {
	l, plan := planned()
	inUse := manyPlans(3000)
	use := func(p weir.Policy) {
		*plan = p
		_, err := l.Take(background, "k", 0)
		require.NoError(t, err)
	}
	for i := range 12 * len(inUse) {
		use(inUse[i%len(inUse)])
		if i%4 == 0 {
			use(weir.SlidingLog{Limit: 1 + i, Per: century})
		}
	}
	assert.LessOrEqual(t, weir.PoliciesKnown(l), 4*len(inUse)*8/7) // a few new ones pass for known
	assert.Less(t, kit.AllocsPerRun(1, func() {
		for _, p := range inUse {
			use(p)
		}
	}), float64(len(inUse))/10)
}

// Policies beyond those that are remembered, in many goroutines at once, are decided on like any
// other.
func TestR10_ManyPlans(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithPolicyFor(
		func(_ context.Context, key string) weir.Policy {
			return weir.FixedWindow{Limit: len(key), Per: century}
		})))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 6000 {
				n := 1 + (i*(g+1))%3000
				r, err := l.Take(background, strings.Repeat(strconv.Itoa(g), n), 1)
				if err != nil || r.Limit != n {
					t.Errorf("%d: %v, %v", n, r, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// drawn is a policy of another package with a number that is none, and so is equal to nothing.
type drawn struct {
	weir.TokenBucket
	share float64
}

// R22: nothing is left of a policy that is equal to nothing, when no limiter and no key has it.
func TestR22_PoliciesThatEqualNothingAreForgotten(t *testing.T) {
	l, plan := planned()
	*plan = drawn{weir.TokenBucket{Limit: 1, Per: century}, math.NaN()}
	store := new(weir.MemStore)
	for i := range 100 {
		kit.Take(t, weir.Must(weir.New(*plan, weir.WithStore(store), weir.WithName(kit.KeyName(i)))), "k", 0)
		kit.Take(t, l, "k", 0)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return weir.Writers(store) == 0
	}, time.Minute, time.Millisecond)
}

// R22: beside 20,000 plans in use, one that comes and goes costs as much as alone.
func TestR22_PlansThatComeAndGo(t *testing.T) {
	store := new(weir.MemStore)
	made := make([]*weir.KeyedLimiter, 20_000)
	for i, p := range manyPlans(len(made)) {
		made[i] = weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(kit.KeyName(i))))
		kit.Take(t, made[i], "k", 0)
	}
	clear(made[len(made)/2:])
	require.Eventually(t, func() bool {
		runtime.GC()
		return weir.Writers(store) <= len(made)/2
	}, time.Minute, time.Millisecond)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 1000 {
		kit.Take(t, weir.Must(weir.New(weir.SlidingLog{Limit: 1 + i, Per: century}, weir.WithStore(store), weir.WithName(kit.KeyName(-i)))), "k", 0)
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(made)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1000*8000))
}
