package fleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

func TestDenyCache_Exact(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Brief(t, runs.Server)
		return fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{Exact: true})
	})
}

// With few places, other keys take that of a denial all the time.
func TestDenyCache_ExactAndSmall(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Brief(t, runs.Server)
		return fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{MaxKeys: 2, MaxAge: 10 * time.Millisecond, Exact: true})
	})
}

// The server's clock is far off, and the network is slow, now on the way there and now on the way
// back. No denial lasts longer than the server's, and a caller that comes back after RetryAfter is
// granted.
func TestDenyCache_SlowServer(t *testing.T) {
	for _, rtt := range []time.Duration{2 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			policy := weir.FixedWindow{Limit: 1, Per: time.Second, FromFirst: true}
			server, plan := new(weir.MemStore), planOf(policy, weir.WithClock(offClock{}))
			asked, local := 0, 0
			var granted time.Time // at the server
			c := fleet.DenyCache(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				asked++
				out := rtt * time.Duration(asked%3) / 2
				time.Sleep(out)
				r.Plan = plan
				a, err := server.Do(ctx, r)
				if a.Allowed {
					granted = time.Now()
				}
				time.Sleep(rtt - out)
				return a, err
			}), fleet.DenyCacheOptions{})
			l := weir.Must(weir.New(policy, weir.WithStore(c)))
			for round := range 40 {
				for !kit.Take(t, l, "k", 1).Allowed {
				}
				r := kit.Take(t, l, "k", 1)
				for range round % 25 {
					if r.Allowed {
						break
					}
					time.Sleep(50 * time.Millisecond)
					before := asked
					r = kit.Take(t, l, "k", 1)
					if asked == before {
						local++
						require.Less(t, time.Since(granted), time.Second, "denied here, while the server would grant")
					}
				}
				if !r.Allowed {
					time.Sleep(r.RetryAfter)
					require.True(t, kit.Take(t, l, "k", 1).Allowed, "told to come back in %v", r.RetryAfter)
				}
				time.Sleep(2 * time.Second)
			}
			if rtt < time.Second {
				assert.Greater(t, local, 100)
			}
		})
	}
}

// An offClock is a server's, three days behind.
type offClock struct{}

// A twin asks two stores the same at random: one alone, and one behind a DenyCache.
type twin struct {
	t      *testing.T
	rng    *rand.Rand
	alone  weir.Store
	cached *cached
	keys   int
	plans  []*weir.Plan
	at     int64 // of the latest grant
}

func (w *twin) ask() weir.Request {
	r := weir.Request{Plan: w.plans[w.rng.IntN(len(w.plans))], Key: kit.KeyName(w.rng.IntN(w.keys))}
	switch w.rng.IntN(40) {
	case 0:
		r.Forget = true
	case 1:
		r.N = -1 - w.rng.IntN(5)
	case 2:
		r.N, r.GrantedAt = -1-w.rng.IntN(5), w.at
	case 3:
		r.N, r.Mode = 1+w.rng.IntN(12), weir.Regardless
	case 4:
		r.N, r.MaxWait = 1+w.rng.IntN(12), time.Duration(w.rng.Int64N(int64(2*time.Second)))
	case 5, 6:
	case 7, 8, 9, 10:
		r.N, r.Mode = 1+w.rng.IntN(12), weir.UpTo
	case 11, 12, 13, 14, 15, 16, 17, 18:
		r.N = 1 + w.rng.IntN(12)
	default:
		r.N = 1
	}
	r.More = r.N > 0 && r.Mode == weir.AllOrNone && w.rng.IntN(3) == 0
	return r
}

// run compares the answers. If there is but one key, many of the denials must have come from
// memory.
func (w *twin) run(steps int, compare func(r weir.Request, got, want weir.Answer)) {
	local, denied := 0, 0
	for range steps {
		switch w.rng.IntN(12) {
		case 0:
			w.cached.clock.NS.Add(1)
		case 1:
			w.cached.clock.NS.Add(w.rng.Int64N(int64(300 * time.Millisecond)))
		case 2:
			w.cached.clock.NS.Add(w.rng.Int64N(int64(10 * time.Millisecond)))
		}
		r := w.ask()
		want, err := w.alone.Do(context.Background(), r)
		require.NoError(w.t, err)
		var got weir.Answer
		asked := w.cached.asked(func() {
			got, err = w.cached.Do(context.Background(), r)
			require.NoError(w.t, err)
		})
		if !want.Allowed && !r.Forget {
			denied++
			local += 1 - asked
		} else if r.N > 0 {
			w.at = want.At
		}
		compare(r, got, want)
	}
	if w.keys == 1 {
		assert.GreaterOrEqual(w.t, local, denied/4)
	}
}

// twice is a policy like p with two times the limit. The store carries states from one to the other
// whenever it sees them, also on a denial.
func twice(p weir.Policy) weir.Policy {
	switch p := p.(type) {
	case weir.TokenBucket:
		p.Limit, p.Burst = 2*p.Limit, 2*p.Burst
		return p
	case weir.LeakyBucket:
		p.Limit *= 2
		return p
	case weir.FixedWindow:
		p.Limit *= 2
		return p
	case weir.SlidingWindow:
		p.Limit *= 2
		return p
	case weir.SlidingLog:
		p.Limit *= 2
		return p
	}
	panic(p)
}

func eachTwin(t *testing.T, opts fleet.DenyCacheOptions, test func(w *twin)) {
	for _, p := range kit.EveryPolicy {
		for _, keys := range []int{1, 30} {
			t.Run(fmt.Sprintf("%T%+v, keys=%d", p, p, keys), func(t *testing.T) {
				c := newCached(opts)
				plans := []*weir.Plan{c.plan(p, "a"), c.plan(p, "a"), c.plan(p, "b"), c.plan(twice(p), "b")}
				test(&twin{t: t, rng: rand.New(rand.NewPCG(1, uint64(keys))), alone: new(weir.MemStore), cached: c, keys: keys, plans: plans})
			})
		}
	}
}

// With Exact, a store behind a DenyCache answers as the store alone, whatever is asked, in every
// field.
func TestDenyCache_ExactlyAsTheStoreAlone(t *testing.T) {
	eachTwin(t, fleet.DenyCacheOptions{Exact: true, MaxKeys: 50}, func(w *twin) {
		w.run(runs.Long(10_000, 500), func(r weir.Request, got, want weir.Answer) {
			require.Equal(w.t, want, got, "%+v", r.Ask)
		})
	})
}

// Without, what is allowed is the same; and the rest, but for the RetryAfter and the Remaining of
// asks for several events, which may be too low, and a MoreAfter, which may be unknown.
func TestDenyCache_AsTheStoreAlone(t *testing.T) {
	eachTwin(t, fleet.DenyCacheOptions{MaxKeys: 50}, func(w *twin) {
		w.run(runs.Long(10_000, 500), func(r weir.Request, got, want weir.Answer) {
			if r.N > 1 && !want.Allowed {
				require.LessOrEqual(w.t, got.RetryAfter, want.RetryAfter)
				require.Positive(w.t, got.RetryAfter)
				require.LessOrEqual(w.t, got.Remaining, want.Remaining)
				got.RetryAfter, got.Remaining = want.RetryAfter, want.Remaining
			}
			if r.N > 1 || got.MoreAfter == 0 {
				require.LessOrEqual(w.t, got.MoreAfter, want.MoreAfter)
				got.MoreAfter = want.MoreAfter
			}
			require.Equal(w.t, want, got, "%+v", r.Ask)
		})
	})
}

// R10: takes, give-backs and resets of many goroutines at once.
func TestDenyCache_Concurrent(t *testing.T) {
	c := fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{MaxKeys: 3})
	s := planOf(weir.SlidingLog{Limit: 3, Per: 24 * time.Hour})
	held := make([]atomic.Int64, 5)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 3000 {
				k := (g + i) % len(held)
				a, err := c.Do(context.Background(), weir.Request{Plan: s, Key: kit.KeyName(k), Ask: weir.Ask{N: 1}})
				if !assert.NoError(t, err) || !a.Allowed {
					continue
				}
				assert.LessOrEqual(t, held[k].Add(1), int64(3))
				held[k].Add(-1)
				_, err = c.Do(context.Background(), weir.Request{Plan: s, Key: kit.KeyName(k), Ask: weir.Ask{N: -1}})
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	for k := range held {
		a, err := c.Do(context.Background(), weir.Request{Plan: s, Key: kit.KeyName(k), Ask: weir.Ask{N: 3}})
		require.NoError(t, err)
		assert.True(t, a.Allowed, "all was given back, and no denial was left behind")
	}
}
