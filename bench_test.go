package weir_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// These compare two versions of weir:
//
//	go test -run '^$' -bench . -count 10 . >old.txt
//	(change something)
//	go test -run '^$' -bench . -count 10 . >new.txt
//	benchstat old.txt new.txt
//
// The module in benchmarks/ compares weir with other limiters.

func BenchmarkAllow(b *testing.B) {
	benchmark(b, func(l *weir.KeyedLimiter, key string) bool { return l.Allow(key) })
}

func BenchmarkTake(b *testing.B) {
	ctx := context.Background()
	benchmark(b, func(l *weir.KeyedLimiter, key string) bool {
		r, err := l.Take(ctx, key, 1)
		return err == nil && r.Allowed
	})
}

// BenchmarkWait is of calls that are granted at once, with nobody before them.
func BenchmarkWait(b *testing.B) {
	ctx := context.Background()
	wait := func(l *weir.KeyedLimiter, key string) bool { return l.Wait(ctx, key, 1) == nil }
	for _, p := range benchPolicies {
		b.Run("policy="+p.name+"/load=hot", func(b *testing.B) { serial(b, known(p.hot, 1), wait) })
		b.Run("policy="+p.name+"/load=million", func(b *testing.B) { serial(b, known(p.policy, runs.Keys(1_000_000)), wait) })
	}
}

const century = 100 * 365 * 24 * time.Hour

// benchPolicies grant all events that a benchmark asks for. They earn them back so slowly that no
// key expires, because the store would forget it. A queue is not among them: it denies unless its
// outlet is free.
var benchPolicies = []struct {
	name    string
	policy  weir.Policy
	hot     weir.Policy // for a single key
	denying weir.Policy // all but the first event
}{
	{
		"TokenBucket",
		weir.TokenBucket{Limit: 1e8, Per: century},
		weir.TokenBucket{Limit: 1e8, Per: century},
		weir.TokenBucket{Limit: 1, Per: century},
	},
	{
		"LeakyBucket",
		weir.LeakyBucket{Limit: 1e9, Per: time.Second},
		weir.LeakyBucket{Limit: 1e9, Per: time.Second},
		weir.LeakyBucket{Limit: 1, Per: century},
	},
	{
		"FixedWindow",
		weir.FixedWindow{Limit: 1e8, Per: century},
		weir.FixedWindow{Limit: 1e8, Per: century},
		weir.FixedWindow{Limit: 1, Per: century},
	},
	{
		"SlidingWindow",
		weir.SlidingWindow{Limit: 1e8, Per: century},
		weir.SlidingWindow{Limit: 1e8, Per: century},
		weir.SlidingWindow{Limit: 1, Per: century},
	},
	{
		"SlidingLog",
		weir.SlidingLog{Limit: 1e8, Per: century},
		weir.SlidingLog{Limit: 1e5, Per: time.Millisecond}, // it remembers each event
		weir.SlidingLog{Limit: 1, Per: century},
	},
}

// benchmark runs all loads with all policies.
func benchmark(b *testing.B, ask func(l *weir.KeyedLimiter, key string) bool) {
	for _, p := range benchPolicies {
		run := func(load string, f func(b *testing.B)) {
			b.Run(fmt.Sprintf("policy=%s/load=%s", p.name, load), f)
		}
		run("hot", func(b *testing.B) { serial(b, known(p.hot, 1), ask) })
		run("denied", func(b *testing.B) { serial(b, known(p.denying, 1), ask) })
		run("hot-parallel", func(b *testing.B) { parallel(b, known(p.hot, 1), ask) })
		run("denied-parallel", func(b *testing.B) { parallel(b, known(p.denying, 1), ask) })
		run("new", func(b *testing.B) { flood(b, p.policy, ask) })

		million := sync.OnceValue(func() keyed { return known(p.policy, runs.Keys(1_000_000)) })
		run("million", func(b *testing.B) { serial(b, million(), ask) })
		run("million-parallel", func(b *testing.B) { parallel(b, million(), ask) })
	}
}

// keyed is a limiter and keys to ask it for.
type keyed struct {
	*weir.KeyedLimiter
	keys keyring
}

// known is a limiter that has seen n keys.
func known(p weir.Policy, n int) keyed {
	k := keyed{weir.Must(weir.New(p)), newKeyring(n)}
	for i := range n {
		k.Allow(k.keys.at(n - 1 - i))
	}
	return k
}

func serial(b *testing.B, k keyed, ask func(*weir.KeyedLimiter, string) bool) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		ask(k.KeyedLimiter, k.keys.at(i))
		if i++; i == k.keys.len() {
			i = 0
		}
	}
}

func parallel(b *testing.B, k keyed, ask func(*weir.KeyedLimiter, string) bool) {
	b.ReportAllocs()
	b.SetParallelism(16)
	var goroutines atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		i := int(goroutines.Add(1)) * 7919 % k.keys.len()
		for pb.Next() {
			ask(k.KeyedLimiter, k.keys.at(i))
			if i++; i == k.keys.len() {
				i = 0
			}
		}
	})
}

// flood asks for keys never seen before.
func flood(b *testing.B, p weir.Policy, ask func(*weir.KeyedLimiter, string) bool) {
	b.ReportAllocs()
	keys := newKeyring(runs.Keys(1 << 20))
	l, i := weir.Must(weir.New(p)), 0
	for b.Loop() {
		ask(l, keys.at(i))
		if i++; i == keys.len() {
			b.StopTimer()
			l, i = weir.Must(weir.New(p)), 0
			b.StartTimer()
		}
	}
}

// A keyring is keys of 16 bytes, one after the other without a pointer: to read the next costs next
// to nothing.
type keyring string

const keyLen = 16

// newKeyring makes n keys in a random order, the same each time.
func newKeyring(n int) keyring {
	var all strings.Builder
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		fmt.Fprintf(&all, "%0*d", keyLen, i)
	}
	return keyring(all.String())
}

func (k keyring) len() int        { return len(k) / keyLen }
func (k keyring) at(i int) string { return string(k[i*keyLen : (i+1)*keyLen]) }

// classic are five limits at once, as operators of messaging services set them. burst is what they
// all allow at once, or 0 for their limits.
func classic(burst int) []weir.Policy {
	const day = 24 * time.Hour
	return []weir.Policy{
		weir.TokenBucket{Limit: 300, Per: time.Minute, Burst: burst},
		weir.TokenBucket{Limit: 15_750, Per: time.Hour, Burst: burst},
		weir.TokenBucket{Limit: 300_000, Per: day, Burst: burst},
		weir.TokenBucket{Limit: 1_500_000, Per: 7 * day, Burst: burst},
		weir.TokenBucket{Limit: 6_000_000, Per: 30 * day, Burst: burst},
	}
}

// mixed are five of different kinds, all of fixed size.
func mixed(burst int) []weir.Policy {
	return []weir.Policy{
		weir.TokenBucket{Limit: 300, Per: time.Minute, Burst: burst},
		weir.FixedWindow{Limit: max(burst, 15_750), Per: time.Hour},
		weir.SlidingWindow{Limit: 8_000_000, Per: 24 * time.Hour},
		weir.FixedWindow{Limit: max(burst, 1_500_000), Per: 168 * time.Hour, FromFirst: true},
		weir.TokenBucket{Limit: 6_000_000, Per: 720 * time.Hour, Burst: burst},
	}
}

// BenchmarkAll compares five limits in one decision, "all", with "sum": the decisions of the five
// alone, one after the other. The rest is what a store adds, once for all five; "one" is the first
// alone, and "one-of-words" the same kept as a state of several words, which a store can't exchange
// at once.
func BenchmarkAll(b *testing.B) {
	for _, set := range []struct {
		name  string
		parts func(burst int) []weir.Policy
	}{{"classic", classic}, {"mixed", mixed}} {
		for _, load := range []string{"granted", "denied-by-first", "denied-by-last"} {
			parts := set.parts(1e9)
			switch load {
			case "denied-by-first":
				parts[0] = weir.TokenBucket{Limit: 1, Per: century}
			case "denied-by-last":
				parts[4] = weir.TokenBucket{Limit: 1, Per: century}
			}
			b.Run("policies="+set.name+"/load="+load, func(b *testing.B) {
				b.Run("decide=sum", func(b *testing.B) { benchDecide(b, parts) })
				b.Run("decide=all", func(b *testing.B) { benchDecide(b, []weir.Policy{weir.All(parts...)}) })
				b.Run("take=one", func(b *testing.B) { benchTake(b, parts[0]) })
				b.Run("take=one-of-words", func(b *testing.B) { benchTake(b, weir.All(parts[0])) })
				b.Run("take=all", func(b *testing.B) { benchTake(b, weir.All(parts...)) })
				b.Run("allow=one", func(b *testing.B) { benchAllow(b, parts[0]) })
				b.Run("allow=all", func(b *testing.B) { benchAllow(b, weir.All(parts...)) })
			})
		}
	}
}

// benchDecide asks for one event of each policy. Time moves on as fast as events are asked for, so
// that all are granted.
func benchDecide(b *testing.B, policies []weir.Policy) {
	var ds []weir.Decider
	var states [][]uint64
	for _, p := range policies {
		d, err := p.Decider()
		if err != nil {
			b.Fatal(err)
		}
		ds, states = append(ds, d), append(states, make([]uint64, d.Words()))
	}
	now := kit.T0
	b.ReportAllocs()
	for b.Loop() {
		now += 1_000_000
		for i, d := range ds {
			states[i], _ = d.Decide(states[i], now, weir.Ask{N: 1})
		}
	}
}

func benchTake(b *testing.B, p weir.Policy) {
	ctx := context.Background()
	serial(b, known(p, 1), func(l *weir.KeyedLimiter, key string) bool {
		r, err := l.Take(ctx, key, 1)
		return err == nil && r.Allowed
	})
}

func benchAllow(b *testing.B, p weir.Policy) {
	serial(b, known(p, 1), func(l *weir.KeyedLimiter, key string) bool { return l.Allow(key) })
}
