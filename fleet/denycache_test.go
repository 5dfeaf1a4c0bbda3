package fleet_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// counting is a store that counts what it is asked.
type counting struct {
	weir.Store
	asked atomic.Int64
}

func (s *counting) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.asked.Add(1)
	return s.Store.Do(ctx, r)
}

// cached is a DenyCache and what it stands in front of.
type cached struct {
	weir.Store
	behind *counting
	clock  *kit.MovingClock
}

func newCached(opts fleet.DenyCacheOptions) *cached {
	behind := &counting{Store: new(weir.MemStore)}
	return &cached{fleet.DenyCache(behind, opts), behind, new(kit.MovingClock)}
}

func (c *cached) limiter(p weir.Policy, name string) *weir.KeyedLimiter {
	return weir.Must(weir.New(p, weir.WithStore(c), weir.WithName(name), weir.WithClock(c.clock)))
}

// asked is how many calls reach the store behind while f runs.
func (c *cached) asked(f func()) int {
	before := c.behind.asked.Load()
	f()
	return int(c.behind.asked.Load() - before)
}

func (c *cached) ask(t *testing.T, s *weir.Plan, key string, ask weir.Ask) weir.Answer {
	t.Helper()
	a, err := c.Do(context.Background(), weir.Request{Plan: s, Key: key, Ask: ask})
	require.NoError(t, err)
	return a
}

func (c *cached) plan(p weir.Policy, name string) *weir.Plan {
	return planOf(p, weir.WithClock(c.clock), weir.WithName(name))
}

// R12: more denials than a process has memory for are refused, in place of a panic.
func TestR12_DenyCacheMaxKeys(t *testing.T) {
	for _, maxKeys := range []int{-1, 10_000_001, math.MaxInt} {
		s := fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{MaxKeys: maxKeys})
		_, err := weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(s))
		assert.EqualError(t, err, fmt.Sprintf("weir: DenyCacheOptions.MaxKeys is %d, must be from 0 to 10000000", maxKeys))
	}
	s := fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{MaxKeys: 10_000_000})
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: century}, weir.WithStore(s)))
	assert.True(t, l.Allow("k"))
	assert.False(t, l.Allow("k"))
}

// A denial is answered from memory up to the instant at which the store grants, and not at it.
func TestDenyCache_UntilItCouldChange(t *testing.T) {
	for _, p := range kit.EveryPolicy {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			c := newCached(fleet.DenyCacheOptions{})
			c.clock.NS.Store(int64(time.Hour + 300*time.Millisecond))
			l := c.limiter(p, "")
			limit := kit.Take(t, l, "k", 0).Limit
			kit.Take(t, l, "k", limit)
			first := kit.Take(t, l, "k", 1)
			require.False(t, first.Allowed)
			assert.Zero(t, c.asked(func() {
				for i := range 100 {
					passed := first.RetryAfter * time.Duration(i) / 100
					c.clock.NS.Store(int64(time.Hour + 300*time.Millisecond + passed))
					r := kit.Take(t, l, "k", 1)
					want := first
					want.RetryAfter -= passed
					want.ResetAfter -= passed
					require.Equal(t, want, r)
					require.False(t, l.Allow("k"))
				}
				c.clock.NS.Store(int64(time.Hour + 300*time.Millisecond + first.RetryAfter - 1))
				assert.EqualValues(t, 1, kit.Take(t, l, "k", 1).RetryAfter)
			}))
			c.clock.NS.Add(1)
			assert.True(t, l.Allow("k"))
		})
	}
}

func TestDenyCache_CoversAsksForMore(t *testing.T) {
	c := newCached(fleet.DenyCacheOptions{})
	l := c.limiter(weir.TokenBucket{Limit: 10, Per: 10 * time.Second}, "")
	s := c.plan(weir.TokenBucket{Limit: 10, Per: 10 * time.Second}, "")
	kit.Take(t, l, "k", 8)
	require.Equal(t, time.Second, kit.Take(t, l, "k", 3).RetryAfter)
	assert.Zero(t, c.asked(func() {
		assert.Equal(t, time.Second, kit.Take(t, l, "k", 3).RetryAfter)
		for n := 4; n <= 10; n++ {
			assert.Equal(t, time.Second, kit.Take(t, l, "k", n).RetryAfter, "which is when it is worth to ask again")
		}
		assert.Equal(t, weir.Never, kit.Take(t, l, "k", 11).RetryAfter)
	}))
	assert.Equal(t, 1, c.asked(func() { assert.True(t, kit.Take(t, l, "k", 2).Allowed) }), "fewer are the store's to decide")

	require.False(t, l.Allow("k"))
	var parts []weir.Result
	ask := func(a weir.Ask) func() { return func() { c.ask(t, s, "k", a) } }
	ask(weir.Ask{N: 1})() // s has a clock of its own, and so a denial
	for _, local := range []weir.Ask{{N: 1}, {N: 5}, {N: 1, Mode: weir.UpTo}, {N: 20, Mode: weir.UpTo}} {
		assert.Zero(t, c.asked(ask(local)), "%+v", local)
	}
	for _, passed := range []weir.Ask{
		{},
		{N: 1, MaxWait: 1},
		{N: 1, ByComponent: &parts},
		{N: 1, Mode: weir.Regardless},
		{N: -1},
	} {
		assert.Equal(t, 1, c.asked(ask(passed)), "%+v", passed)
	}
}

func (offClock) Now() time.Time { return time.Now().Add(-72 * time.Hour) }

func (offClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// It is worth it: of a crowd that asks for a few keys, hardly a denial comes from the store.
func TestDenyCache_AnswersMostDenials(t *testing.T) {
	for _, p := range kit.EveryPolicy {
		c := newCached(fleet.DenyCacheOptions{})
		l := c.limiter(p, "")
		if kit.Take(t, l, "k", 0).Limit > 1000 {
			continue
		}
		granted := 0
		asked := c.asked(func() {
			for i := range 100_000 { // in 10 s, 1000 a second for each of 10 keys
				c.clock.NS.Store(int64(i) * int64(100*time.Microsecond))
				if l.Allow(strconv.Itoa(i % 10)) {
					granted++
				}
			}
		})
		assert.Less(t, asked, 2*granted+100, "%T%+v", p, p)
		assert.Less(t, granted, 1000)
	}
}

func TestDenyCache_DoesNotAllocate(t *testing.T) {
	c := fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{})
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(c)))
	l.Allow("k")
	l.Allow("k")
	ctx := context.Background()
	assert.Zero(t, kit.AllocsPerRun(1000, func() { _, _ = l.Take(ctx, "k", 1) }))
	assert.Zero(t, kit.AllocsPerRun(1000, func() { l.Allow("k") }))
}

// BenchmarkDenyCache compares a denial from memory with a denial by a MemStore.
func BenchmarkDenyCache(b *testing.B) {
	ctx := context.Background()
	for _, store := range []struct {
		name string
		weir.Store
	}{
		{"MemStore", new(weir.MemStore)},
		{"DenyCache", fleet.DenyCache(new(weir.MemStore), fleet.DenyCacheOptions{})},
	} {
		for _, name := range []string{"", "reads"} {
			l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: century}, weir.WithStore(store), weir.WithName(name)))
			const key = "203.0.113.77:443"
			l.Allow(key)
			l.Allow(key)
			run := func(kind string, f func()) {
				b.Run(fmt.Sprintf("store=%s/name=%s/%s", store.name, name, kind), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						f()
					}
				})
			}
			run("Allow", func() { l.Allow(key) })
			run("Take", func() { _, _ = l.Take(ctx, key, 1) })
			if name != "" {
				continue
			}
			b.Run(fmt.Sprintf("store=%s/name=/Take-parallel", store.name), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						_, _ = l.Take(ctx, key, 1)
					}
				})
			})
		}
	}
}

// With Exact, a denial of more events than one takes the place of none that answers for one.
func TestDenyCache_ExactKeepsDenialsOfOneEvent(t *testing.T) {
	c := newCached(fleet.DenyCacheOptions{Exact: true})
	l := c.limiter(weir.FixedWindow{Limit: 10, Per: century}, "")
	require.True(t, kit.Take(t, l, "k", 10).Allowed)
	require.False(t, l.Allow("k"))
	for range 3 {
		assert.Zero(t, c.asked(func() { assert.False(t, l.Allow("k")) }))
		assert.Equal(t, 1, c.asked(func() { assert.False(t, kit.Take(t, l, "k", 2).Allowed) }))
	}
}
