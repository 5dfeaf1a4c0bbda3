package test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/hotkey"
)

// 64 goroutines ask for one key, on one connection. "bare" is compare-and-swap without a store:
// each reads a count, adds one, and updates it if nobody else has, again and again. In "alone" each
// goroutine has a store of its own, which also compete. In "shared" they have one store, as in a
// program. ns/op is for a decision.
func BenchmarkOneKey(b *testing.B) {
	const goroutines = 64
	js := connect(b, addr(sharedServer(b)))
	bare := func(b *testing.B) func() error {
		kv, err := js.KeyValue(b.Context(), newBucket(b, js))
		require.NoError(b, err)
		_, err = kv.Create(b.Context(), "k", make([]byte, 8))
		require.NoError(b, err)
		return func() error { return increment(b, kv) }
	}
	stores := func(n int) func(b *testing.B) func() error {
		return func(b *testing.B) func() error {
			bucket := newBucket(b, js)
			limiters := make(chan *weir.KeyedLimiter, n)
			for range n {
				limiters <- newLimiter(b, newStore(b, js, bucket), weir.TokenBucket{Limit: 1e9, Per: time.Second})
			}
			return func() error {
				l := <-limiters
				limiters <- l
				_, err := l.Take(b.Context(), "k", 1)
				return err
			}
		}
	}
	for _, c := range []struct {
		name string
		new  func(b *testing.B) func() error
	}{{"bare", bare}, {"alone", stores(goroutines)}, {"shared", stores(1)}} {
		b.Run(c.name, func(b *testing.B) {
			decide := c.new(b)
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			failed := make(chan int)
			b.ResetTimer()
			for range goroutines {
				go func() {
					n := 0
					for range left {
						if decide() != nil {
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

// increment adds one to a count.
func increment(b *testing.B, kv jetstream.KeyValue) error {
	for {
		e, err := kv.Get(b.Context(), "k")
		if err != nil {
			return err
		}
		value := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(e.Value())+1)
		if _, err := kv.Update(b.Context(), "k", value, e.Revision()); !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return err
		}
	}
}

// One goroutine makes a grant: two requests.
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

// A hot key behind a Lease, which seldom asks NATS.
func BenchmarkHotKey(b *testing.B) {
	s, _, _ := newShared(b)
	hotkey.Benchmark(b, s)
}
