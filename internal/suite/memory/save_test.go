package memory

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

var everyPolicy = slices.Concat(kit.EveryPolicy, kit.MorePolicies(5, time.Second), []weir.Policy{
	weir.CalendarWindow{Limit: 5, Unit: weir.Week},
	weir.CalendarWindow{Limit: 5, Unit: weir.Month},
	weir.CalendarWindow{Limit: 5, Unit: weir.Year},
})

// A process that is restarted over and over, and one that is not, get the same calls on the
// system's clock, and give the same answers. Package change has this with clocks of the limiters'
// own.
func TestRestartsAreNotObserved(t *testing.T) {
	for seed := range uint64(runs.Long(100, runs.InCI(6, 3))) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			policy := func() weir.Policy { return everyPolicy[random.IntN(len(everyPolicy))] }
			restarted := &kit.Restarted{Every: 1 + random.IntN(5)}
			var sides [2][2]*weir.KeyedLimiter
			var reserved [2][]*weir.Reservation
			first, second := policy(), policy()
			for i, store := range []weir.Store{new(weir.MemStore), restarted} {
				sides[i][0] = weir.Must(weir.New(first, weir.WithStore(store), weir.WithName("first")))
				sides[i][1] = weir.Must(weir.New(second, weir.WithStore(store), weir.WithName("second")))
			}
			for step := range 300 {
				which, key, n := random.IntN(2), kit.KeyName(random.IntN(4)), random.IntN(4)
				op, next, of := random.IntN(20), policy(), random.IntN(100)
				if op < 4 {
					time.Sleep(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
				}
				var answers [2]any
				for i := range sides {
					answers[i] = do(t, sides[i][which], &reserved[i], op, key, n, next, of)
				}
				require.Equal(t, answers[0], answers[1], "seed %d, step %d: call %d of %s, %d", seed, step, op, key, n)
			}
			require.NotZero(t, restarted.Restarts)
		})
	}
}

// do makes a call, and returns all that it answered.
func do(t *testing.T, l *weir.KeyedLimiter, reserved *[]*weir.Reservation, op int, key string, n int, p weir.Policy, of int) any {
	ctx := t.Context()
	var latest *weir.Reservation
	if all := *reserved; len(all) > 0 {
		latest = all[of%len(all)]
	}
	switch {
	case op == 5:
		kit.SetPolicy(t, l, p)
		return nil
	case op == 6:
		return l.Reset(ctx, key)
	case op == 7:
		return l.Return(ctx, key, n)
	case op < 10:
		granted, r, err := l.TakeUpTo(ctx, key, n+1)
		return []any{granted, r, err}
	case op < 13:
		r, err := l.Reserve(ctx, key, n)
		if err != nil {
			return err.Error()
		}
		*reserved = append(*reserved, r)
		return r.Delay()
	case op == 13 && latest != nil:
		return latest.Cancel(ctx)
	case op == 14 && latest != nil:
		return latest.Settle(ctx, n)
	case op == 15:
		return l.Allow(key)
	}
	return kit.Take(t, l, key, n)
}

// Nor are they while the store is full and keys share allowances.
func TestRestartsOfAFullStoreAreNotObserved(t *testing.T) {
	const per = 1000 * time.Hour // nothing expires: which of the expired keys gives way is not the same
	policies := []weir.Policy{
		weir.TokenBucket{Limit: 5, Per: per},
		weir.TokenBucket{Limit: 7, Per: per},
		weir.FixedWindow{Limit: 5, Per: per, FromFirst: true},
		weir.SlidingLog{Limit: 5, Per: per},
		weir.All(weir.TokenBucket{Limit: 5, Per: per}, weir.SlidingLog{Limit: 9, Per: per}),
	}
	for seed := range runs.Long(uint64(50), 3) {
		random := rand.New(rand.NewPCG(seed, 4))
		mock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		var file bytes.Buffer
		require.NoError(t, new(weir.MemStore).Save(&file)) // with other seeds, other keys share
		maxKeys := 1 + random.IntN(20)
		stores := [2]*weir.MemStore{{MaxKeys: maxKeys}, {MaxKeys: maxKeys}}
		for _, s := range stores {
			require.NoError(t, s.Load(bytes.NewReader(file.Bytes())))
		}
		restarted := &kit.Restarted{Store: stores[1], Every: 1 + random.IntN(5)}
		var sides [2]*weir.KeyedLimiter
		for i, store := range []weir.Store{stores[0], restarted} {
			sides[i] = weir.Must(weir.New(policies[0], weir.WithStore(store), weir.WithClock(mock)))
		}
		for step := range runs.Long(300, 100) {
			key, n, op, p := kit.KeyName(random.IntN(60)), random.IntN(3), random.IntN(20), policies[random.IntN(len(policies))]
			mock.Time = mock.Add(time.Duration(random.IntN(1000)))
			var answers [2]any
			for i, l := range sides {
				switch op {
				case 0:
					kit.SetPolicy(t, l, p)
				case 1:
					answers[i] = l.Reset(t.Context(), key)
				default:
					answers[i] = kit.Take(t, l, key, n)
				}
			}
			require.Equal(t, answers[0], answers[1], "seed %d, step %d", seed, step)
			require.Equal(t, stores[0].Len(), restarted.Store.Len(), "seed %d, step %d", seed, step)
		}
	}
}

// Keys that share an allowance share it after a restart on a machine with more processors, or
// fewer.
func TestOverflowOnAnotherMachine(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	policy := weir.SlidingLog{Limit: 3, Per: time.Hour}
	const maxKeys = 5000 // room for several segments
	for _, procs := range [][2]int{{1, 64}, {64, 1}} {
		runtime.GOMAXPROCS(procs[0])
		store := &weir.MemStore{MaxKeys: maxKeys}
		l := weir.Must(weir.New(policy, weir.WithStore(store)))
		asked := 0
		for ; store.Len() < maxKeys; asked++ {
			l.Allow(kit.KeyName(asked))
		}
		for range runs.Long(100_000, 40_000) { // until none of the shared allowances has anything left
			l.Allow(kit.KeyName(asked))
			asked++
		}
		runtime.GOMAXPROCS(procs[1])
		l = weir.Must(weir.New(policy, weir.WithStore(kit.Reloaded(store))))
		for i := range 10_000 {
			require.False(t, l.Allow(kit.KeyName(asked+i)), "a new key, of %v processors", procs)
		}
		require.True(t, l.Allow(kit.KeyName(0)), "a key of its own")
	}
}

// A limiter with another policy than before finds what was counted, as after a SetPolicy.
func TestAnotherPolicyAfterRestart(t *testing.T) {
	for _, before := range everyPolicy {
		for _, after := range everyPolicy {
			clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
			store := new(weir.MemStore)
			l := weir.Must(weir.New(before, weir.WithStore(store), weir.WithClock(clock)))
			kit.Take(t, l, "k", 1)
			kit.Take(t, l, "k", 2)
			loaded := kit.Reloaded(store)
			kit.SetPolicy(t, l, after)
			other := weir.Must(weir.New(after, weir.WithStore(loaded), weir.WithClock(clock)))
			for range runs.Long(20, 8) {
				require.Equal(t, kit.Take(t, l, "k", 1), kit.Take(t, other, "k", 1), "from %v to %v", before, after)
				clock.Time = clock.Add(77 * time.Millisecond)
			}
		}
	}
}

// A policy that was given as a pointer is the same after a restart. The file has its value.
func TestPointersToPoliciesAfterRestart(t *testing.T) {
	log := &weir.SlidingLog{Limit: 3, Per: time.Hour}
	for _, p := range []weir.Policy{log, weir.All(log)} {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		var sides [2]*weir.KeyedLimiter
		for i, store := range []weir.Store{new(weir.MemStore), new(kit.Restarted)} {
			sides[i] = weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(clock)))
		}
		var looks [2]weir.Result
		for _, l := range sides {
			require.True(t, kit.Take(t, l, "k", 2).Allowed)
			require.NoError(t, l.Return(t.Context(), "k", 1))
		}
		clock.Time = clock.Add(time.Second)
		for i, l := range sides {
			kit.SetPolicy(t, l, weir.FixedWindow{Limit: 1000, Per: time.Microsecond, FromFirst: true})
			looks[i] = kit.Take(t, l, "k", 0)
		}
		require.Equal(t, looks[0], looks[1], "%v", p)
	}
}

// Expired states are neither written nor read. States of a limiter that does not come again are
// dropped like all others.
func TestSavedStatesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(weir.MemStore)
		quick := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.WithStore(store), weir.WithName("quick")))
		slow := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.WithStore(store), weir.WithName("slow")))
		for i := range 1000 {
			quick.Allow(kit.KeyName(i))
			slow.Allow(kit.KeyName(i))
		}
		saved := func(s *weir.MemStore) []byte {
			var file bytes.Buffer
			require.NoError(t, s.Save(&file))
			return file.Bytes()
		}
		load := func(file []byte) *weir.MemStore {
			s := new(weir.MemStore)
			require.NoError(t, s.Load(bytes.NewReader(file)))
			return s
		}
		early := saved(store)
		require.Equal(t, 2000, load(early).Len())
		time.Sleep(time.Second)
		require.Equal(t, 1000, load(saved(store)).Len(), "not written")
		require.Equal(t, 1000, load(early).Len(), "not read")

		loaded := load(early)
		again := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Second}, weir.WithStore(loaded), weir.WithName("again")))
		time.Sleep(time.Hour)
		for range 50_000 {
			again.Allow("k")
			time.Sleep(time.Millisecond)
		}
		require.Less(t, loaded.Len(), 10)
	})
}

// A wall clock that was set back grants nothing twice, and delays by no more than its step. One
// that was set forward is time that has passed.
func TestWallClockStepsBetweenProcesses(t *testing.T) {
	const step = 10 * time.Minute
	for _, p := range everyPolicy {
		clock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithStore(store), weir.WithClock(clock)))
		for l.Allow("k") && kit.Take(t, l, "k", 0).Limit < 1000 {
		}
		reset := kit.Take(t, l, "k", 0).ResetAfter
		loaded := kit.Reloaded(store)
		back := &kit.HandClock{Time: clock.Add(-step)}
		l = weir.Must(weir.New(p, weir.WithStore(loaded), weir.WithClock(back)))
		r := kit.Take(t, l, "k", 0)
		if r.Limit < 1000 {
			require.Zero(t, r.Remaining, "%v", p)
		}
		require.LessOrEqual(t, r.ResetAfter, reset+step, "%v", p)
		back.Time = back.Add(reset + step)
		require.Zero(t, kit.Take(t, l, "k", 0).ResetAfter, "%v", p)
	}
}

// More keys than MaxKeys are loaded, and no key is forgotten. New ones share until there is room.
func TestMoreKeysThanMaxKeysAreLoaded(t *testing.T) {
	mock := &kit.HandClock{Time: time.Unix(0, kit.T0)}
	policy := weir.FixedWindow{Limit: 1, Per: time.Hour}
	store := new(weir.MemStore)
	l := weir.Must(weir.New(policy, weir.WithStore(store), weir.WithClock(mock)))
	for i := range 100 {
		l.Allow(kit.KeyName(i))
	}
	var file bytes.Buffer
	require.NoError(t, store.Save(&file))
	loaded := &weir.MemStore{MaxKeys: 10}
	require.NoError(t, loaded.Load(&file))
	l = weir.Must(weir.New(policy, weir.WithStore(loaded), weir.WithClock(mock)))
	for i := range 100 {
		require.False(t, l.Allow(kit.KeyName(i)))
	}
	assert.True(t, l.Allow("new"))
	assert.False(t, l.Allow("another"), "shares")
	assert.Equal(t, 100, loaded.Len())
	mock.Time = mock.Add(time.Hour)
	for i := range 1000 {
		l.Allow(kit.KeyName(1000 + i))
	}
	assert.Equal(t, 10, loaded.Len())
}
