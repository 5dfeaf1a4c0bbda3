package weir

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var zp = map[string]Policy{
	"token":   TokenBucket{1e9, time.Second, 1e9},
	"token7":  TokenBucket{999999937, time.Second, 1e9},
	"leaky":   LeakyBucket{1e9, time.Second, 1e9},
	"fixed":   FixedWindow{1e8, time.Second, false},
	"first":   FixedWindow{1e8, time.Second, true},
	"slide":   SlidingWindow{10000, time.Second, 0},
	"slide10": SlidingWindow{1e9, time.Second, 10},
	"log":     SlidingLog{1000, time.Second},
	"deny":    TokenBucket{1, time.Hour, 1},
}

func BenchmarkZHot(b *testing.B) {
	for _, n := range []string{"token", "deny", "token7", "leaky", "fixed", "first", "slide", "slide10", "log"} {
		l := Must(New(zp[n]))
		b.Run(n, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Allow("0123456789abcdef")
			}
		})
	}
	l := Must(New(zp["token"]))
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			l.Take(context.Background(), "0123456789abcdef", 1)
		}
	})
	b.Run("clock", func(b *testing.B) {
		for b.Loop() {
			l.scope.Now()
		}
	})
	b.Run("hash", func(b *testing.B) {
		sc := l.scope.mem.Load()
		for b.Loop() {
			sc.hash("0123456789abcdef")
		}
	})
	b.Run("find", func(b *testing.B) {
		sc := l.scope.mem.Load()
		h := sc.hash("0123456789abcdef")
		for b.Loop() {
			sc.memory.find(h)
		}
	})
	b.Run("word", func(b *testing.B) {
		sc := l.scope.mem.Load()
		s := uint64(0)
		for b.Loop() {
			s, _ = sc.word.DecideWord(s, 1, Ask{N: 1})
		}
	})
}

func BenchmarkZPar(b *testing.B) {
	for _, n := range []string{"token", "deny", "token7"} {
		l := Must(New(zp[n]))
		b.Run(n, func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					l.Allow("0123456789abcdef")
				}
			})
		})
	}
}

func BenchmarkZ1M(b *testing.B) {
	keys := make([]string, 1<<20)
	for i := range keys {
		keys[i] = fmt.Sprintf("%016x", i)
	}
	rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, n := range []string{"token", "token7"} {
		l := Must(New(zp[n]))
		for _, k := range keys {
			l.Allow(k)
		}
		b.Run(n, func(b *testing.B) {
			i := 0
			for b.Loop() {
				l.Allow(keys[i&(len(keys)-1)])
				i++
			}
		})
		b.Run(n+"par", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				i := rand.IntN(len(keys))
				for pb.Next() {
					l.Allow(keys[i&(len(keys)-1)])
					i++
				}
			})
		})
	}
}
