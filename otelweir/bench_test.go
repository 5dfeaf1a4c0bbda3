package otelweir_test

import (
	"testing"
	"time"

	"github.com/weir-go/weir"
)

// What the metrics add to a decision is the difference between "alone" and "measured".
func BenchmarkDecision(b *testing.B) {
	m, _ := newMetrics(b)
	alone := weir.Must(weir.New(weir.TokenBucket{Limit: 1_000_000_000, Per: time.Second}))
	for _, contender := range []struct {
		name string
		l    weir.Limiter
	}{
		{"alone", alone},
		{"measured", m.Limiter("api", alone)},
	} {
		b.Run("Allow/"+contender.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				contender.l.Allow("ada")
			}
		})
		b.Run("Take/"+contender.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = contender.l.Take(ctx, "ada", 1)
			}
		})
		b.Run("Wait/"+contender.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = contender.l.Wait(ctx, "ada", 1)
			}
		})
		b.Run("Parallel/"+contender.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					contender.l.Allow("ada")
				}
			})
		})
	}
	plan := planOf(weir.TokenBucket{Limit: 1_000_000_000, Per: time.Second})
	for _, contender := range []struct {
		name string
		s    weir.Store
	}{
		{"alone", new(weir.MemStore)},
		{"measured", m.Store("memory", new(weir.MemStore))},
	} {
		b.Run("Store/"+contender.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = contender.s.Do(ctx, weir.Request{Plan: plan, Key: "ada", Ask: weir.Ask{N: 1}})
			}
		})
	}
}
