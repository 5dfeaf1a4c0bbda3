package weir_test

import (
	"context"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

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
