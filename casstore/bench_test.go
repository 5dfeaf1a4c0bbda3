package casstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// BenchmarkHotKey is what 64 goroutines get of one key over a round trip of about a millisecond: if
// they share rounds, and with bare compare-and-swap, where each competes with all others.
func BenchmarkHotKey(b *testing.B) {
	const goroutines = 64
	for _, stores := range []int{1, 4, goroutines} {
		for _, tells := range []bool{false, true} {
			b.Run(fmt.Sprintf("stores=%d,tells=%t", stores, tells), func(b *testing.B) {
				m := newMemory()
				m.tells = tells
				m.before = func(context.Context) error {
					time.Sleep(time.Millisecond)
					return nil
				}
				p := weir.FixedWindow{Limit: 1 << 30, Per: 1000 * time.Hour}
				var ls []*weir.KeyedLimiter
				for range stores {
					ls = append(ls, newLimiter(b, casstore.New(m, casstore.Options{Timeout: time.Hour}), p))
				}
				var next, failed atomic.Int64
				b.SetParallelism(goroutines / runtime.GOMAXPROCS(0))
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					l := ls[next.Add(1)%int64(stores)]
					for pb.Next() {
						if !l.Allow("k") {
							failed.Add(1)
						}
					}
				})
				b.ReportMetric((float64(b.N)-float64(failed.Load()))/b.Elapsed().Seconds(), "decisions/s")
				b.ReportMetric(float64(failed.Load())/float64(b.N), "failed/op")
				b.ReportMetric(float64(m.gets+m.swaps)/float64(b.N), "trips/op")
			})
		}
	}
}

// BenchmarkAlone is what a decision costs beside the Register's own time.
func BenchmarkAlone(b *testing.B) {
	l := newLimiter(b, casstore.New(newMemory(), casstore.Options{}), weir.TokenBucket{Limit: 1 << 30, Per: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		l.Allow("k")
	}
}
