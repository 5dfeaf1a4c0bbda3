package pgstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/hotkey"
	"github.com/weir-go/weir/pgstore/internal/test/pgtest"
)

// 64 goroutines ask for one key. In "shared" they have one store, as in a program. In "alone" each
// has a store of its own, so that each reads and swaps for itself: bare compare-and-swap. The pool
// is the same. ns/op is for a decision; those that lost to others all the time are "failed".
func BenchmarkOneKey(b *testing.B) {
	const goroutines = 64
	server := pgtest.Shared(b)
	config := server.URL(server.Addr()) + "&pool_max_conns=64"
	for _, c := range []struct {
		name   string
		stores int
	}{{"alone", goroutines}, {"shared", 1}} {
		b.Run(c.name, func(b *testing.B) {
			pool, o := newPool(b, config), newTable()
			var limiters []*weir.KeyedLimiter
			for range c.stores {
				limiters = append(limiters, newLimiter(b, newStore(b, pool, o), weir.TokenBucket{Limit: 1e9, Per: time.Second}))
			}
			require.NoError(b, newStore(b, pool, o).CreateTable(b.Context()))
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			failed := make(chan int)
			b.ResetTimer()
			for i := range goroutines {
				go func() {
					n := 0
					for range left {
						if _, err := limiters[i%c.stores].Take(b.Context(), "k", 1); err != nil {
							n++
						}
					}
					failed <- n
				}()
			}
			all := 0
			for range goroutines {
				all += <-failed
			}
			b.ReportMetric(float64(b.N-all)/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(float64(all), "failed")
		})
	}
}

// One goroutine makes a grant: two statements.
func BenchmarkTake(b *testing.B) {
	s, _, _ := newShared(b)
	l := newLimiter(b, s, weir.TokenBucket{Limit: 1e9, Per: time.Second})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Take(b.Context(), "k", 1); err != nil {
			b.Fatal(err)
		}
	}
}

// A hot key behind a Lease, which seldom asks the store.
func BenchmarkHotKey(b *testing.B) {
	s, _, _ := newShared(b)
	hotkey.Benchmark(b, s)
}
