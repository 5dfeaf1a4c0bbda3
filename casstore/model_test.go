package casstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A moved clock stands still until it is moved.
type moved struct{ now atomic.Int64 }

func (m *moved) Now() time.Time                          { return time.Unix(0, m.now.Load()) }
func (*moved) After(time.Duration) <-chan time.Time      { return nil }
func (m *moved) advance(d time.Duration) (now time.Time) { return time.Unix(0, m.now.Add(int64(d))) }

// modeled are policies whose answer to a look shows each unit of the limit.
var modeled = []weir.Policy{
	weir.TokenBucket{Limit: 40, Per: time.Second},
	weir.FixedWindow{Limit: 40, Per: time.Second},
	weir.SlidingLog{Limit: 40, Per: time.Second},
	weir.SlidingWindow{Limit: 40, Per: time.Second, Buckets: 4},
	weir.All(weir.FixedWindow{Limit: 40, Per: time.Second}, weir.SlidingLog{Limit: 60, Per: time.Minute}),
	panicking{weir.FixedWindow{Limit: 40, Per: time.Second}},
}

// R10: what goroutines take from several stores on one Register, while time stands still, is what
// they take from a MemStore, and leaves the same state.
func TestR10_AsInMemory(t *testing.T) {
	const stores, goroutines = 3, 12
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range modeled {
		for _, tells := range []bool{false, true} {
			m, clock := newMemory(), new(moved)
			m.tells = tells
			m.before = func(context.Context) error { // others come in between
				runtime.Gosched()
				return nil
			}
			clock.advance(1_700_000_000 * time.Second)
			var ls []*weir.KeyedLimiter
			for range stores {
				ls = append(ls, newLimiter(t, casstore.New(m, casstore.Options{Timeout: time.Hour}), p, weir.WithClock(clock)))
			}
			inMemory := newLimiter(t, new(weir.MemStore), p, weir.WithClock(clock))
			for range runs.Long(200, 20) {
				if random.IntN(2) == 0 {
					clock.advance(time.Duration(random.Int64N(int64(time.Second))))
				}
				asks := 1 + random.IntN(8)
				var granted atomic.Int64
				var all sync.WaitGroup
				for g := range goroutines {
					all.Go(func() {
						for range asks {
							r, err := ls[g%stores].Take(context.Background(), "k", 1)
							if assert.NoError(t, err) && r.Allowed {
								granted.Add(1)
							}
						}
					})
				}
				all.Wait()
				want := int64(0)
				for range goroutines * asks {
					if inMemory.Allow("k") {
						want++
					}
				}
				require.Equal(t, want, granted.Load(), "%v", p)
				require.Equal(t, take(t, inMemory, 0), take(t, ls[random.IntN(stores)], 0), "%v", p)
			}
		}
	}
}

// A faulty Register fails now and then: before a call, after it, slowly, or by a panic.
func faulty(seed uint64) (before, after func(context.Context) error) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	return func(ctx context.Context) error {
			switch draw(20) {
			case 0:
				return errors.New("refused")
			case 1:
				panic("out of order")
			case 2:
				runtime.Goexit()
			case 3:
				<-ctx.Done()
				return ctx.Err()
			}
			runtime.Gosched()
			return nil
		}, func(context.Context) error {
			if draw(20) == 0 {
				return errLost
			}
			return nil
		}
}

// Registers fail and callers leave. Every grant counts, and a call that returned an error may count
// if the error allows that. Nothing else counts. No line is left.
func TestFaultsCountAtMostOnce(t *testing.T) {
	const stores, goroutines, asks = 2, 8, 20
	for seed := range uint64(runs.Long(50, 30)) {
		m := newMemory()
		m.tells = seed%2 == 0
		before, after := faulty(seed)
		m.set(func(m *memory) { m.before, m.after = before, after })
		limit := 1 << 20
		p := weir.FixedWindow{Limit: limit, Per: 1000 * time.Hour}
		var ss []*casstore.Store
		var ls []*weir.KeyedLimiter
		for range stores {
			s := casstore.New(m, casstore.Options{Timeout: time.Hour})
			ss, ls = append(ss, s), append(ls, newLimiter(t, s, p))
		}
		var granted, maybe atomic.Int64
		var all sync.WaitGroup
		for g := range goroutines {
			random := rand.New(rand.NewPCG(seed, uint64(g)))
			all.Go(func() {
				for range asks {
					n := random.IntN(4)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(2000))*time.Microsecond)
					r, err := ls[g%stores].Take(ctx, "k", n)
					cancel()
					switch {
					case err == nil && r.Allowed:
						granted.Add(int64(n))
					case errors.Is(err, casstore.ErrBusy), err != nil && strings.Contains(err.Error(), "nothing was counted"):
					default:
						maybe.Add(int64(n))
					}
				}
			})
		}
		all.Wait()
		m.set(func(m *memory) { m.before, m.after = nil, nil })
		used := int64(limit - take(t, ls[0], 0).Remaining)
		assert.LessOrEqual(t, granted.Load(), used, "seed %d: what was granted counts", seed)
		assert.LessOrEqual(t, used, granted.Load()+maybe.Load(), "seed %d: nothing else does", seed)
		assert.Positive(t, granted.Load())
		for _, s := range ss {
			for s.Lines() > 0 { // a goroutine is about to end
				runtime.Gosched()
			}
		}
	}
}

// Stores that do not know each other's policies charge each other's events, as one in memory does
// that knows both.
func TestChangedPolicies(t *testing.T) {
	hour := func(limit int) weir.TokenBucket { return weir.TokenBucket{Limit: limit, Per: time.Hour} }
	month := weir.CalendarWindow{Limit: 40, Unit: weir.Month}
	for i, ps := range [][]weir.Policy{
		{hour(10), hour(20)},
		{hour(10), weir.SlidingLog{Limit: 20, Per: time.Hour}},
		{weir.All(hour(10), month), weir.All(hour(20), month)},
		{weir.Tiers(hour(10), hour(100)), weir.Tiers(hour(20), hour(100))},
		{month, weir.FixedWindow{Limit: 7, Per: time.Minute}, weir.LeakyBucket{Limit: 50, Per: time.Minute}, hour(30), hour(31), month},
	} {
		m, clock, inMemory := newMemory(), new(moved), new(weir.MemStore)
		clock.advance(1_700_000_000 * time.Second)
		var there, here []*weir.KeyedLimiter
		for _, p := range ps {
			there = append(there, newLimiter(t, casstore.New(m, casstore.Options{Timeout: time.Hour}), p, weir.WithClock(clock), weir.WithName("n")))
			here = append(here, newLimiter(t, inMemory, p, weir.WithClock(clock), weir.WithName("n")))
		}
		random := rand.New(rand.NewPCG(3, uint64(i)))
		for range runs.Long(2000, 200) {
			clock.advance(time.Duration(random.Int64N(int64(20 * time.Second))))
			by, n := random.IntN(len(ps)), random.IntN(3)
			require.Equal(t, take(t, here[by], n), take(t, there[by], n), "%v of %v", ps[by], ps)
			if random.IntN(5) == 0 {
				require.NoError(t, here[by].Return(t.Context(), "k", 1))
				require.NoError(t, there[by].Return(t.Context(), "k", 1))
			}
		}
	}
}

// A state may be of a policy that only another process knows. A process that does not know the
// policy charges what it has used up. The process that knows it finds its state again.
func TestUnknownPolicies(t *testing.T) {
	m := newMemory()
	on := func(p weir.Policy, key string) *weir.KeyedLimiter {
		return newLimiter(t, casstore.New(m, casstore.Options{Timeout: time.Hour}), p, weir.WithName(key))
	}
	week := 168 * time.Hour
	own := panicking{weir.FixedWindow{Limit: 10, Per: 100 * week, FromFirst: true}} // it has no text of its own
	old := on(own, "n")
	take(t, old, 4)
	for _, p := range []weir.Policy{
		weir.SlidingLog{Limit: 100, Per: 1000 * week},
		panicking{weir.FixedWindow{Limit: 100, Per: 1000 * week, FromFirst: true}},
	} {
		assert.Equal(t, 60, take(t, on(p, "n"), 0).Remaining, "%v", p)
	}
	assert.Equal(t, 6, take(t, old, 0).Remaining, "looks have kept nothing")
	third := on(weir.SlidingLog{Limit: 100, Per: 1000 * week}, "n")
	assert.Equal(t, 50, take(t, third, 10).Remaining)
	assert.Equal(t, 5, take(t, on(own, "n"), 0).Remaining, "40 %% of its own, and 10 %% of the other")
	assert.Equal(t, 4, take(t, old, 1).Remaining)

	// Policies of functions have the same name. Each is decided on by its own Decider.
	of := func(limit int) weir.Policy {
		return made{func() weir.Policy { return weir.FixedWindow{Limit: limit, Per: 100 * week, FromFirst: true} }}
	}
	for limit := 1; limit <= 3; limit++ {
		l := on(of(limit), fmt.Sprint(limit))
		assert.Equal(t, limit-1, take(t, l, 1).Remaining)
		assert.Equal(t, limit > 1, take(t, l, 1).Allowed)
	}
	both := casstore.New(m, casstore.Options{Timeout: time.Hour})
	one := newLimiter(t, both, of(5), weir.WithName("both"))
	other := newLimiter(t, both, of(50), weir.WithName("both"))
	assert.Equal(t, 2, take(t, one, 3).Remaining)
	assert.Equal(t, 46, take(t, other, 1).Remaining, "they can't be told apart")
}

// A made policy has a function that makes the policy. Nothing else tells what it allows.
type made struct{ policy func() weir.Policy }

func (m made) Decider() (weir.Decider, error) { return m.policy().Decider() }
