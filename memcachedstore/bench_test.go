package memcachedstore_test

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/memcachedstore/internal/test/memcachedtest"
)

var bucket = weir.TokenBucket{Limit: 1e9, Per: time.Second}

// 64 goroutines ask for one key. In "shared" they have one store, as in a program. In "bare" each
// reads the item, decides, and swaps it, and starts again if another was faster. The policy and the
// client are the same.
func BenchmarkOneKey(b *testing.B) {
	const goroutines = 64
	addr := memcachedtest.Shared(b).Addr()
	for _, c := range []struct {
		name string
		take func(*memcache.Client) func() error
	}{{"bare", bare(b)}, {"shared", limited(b)}} {
		b.Run(c.name, func(b *testing.B) {
			take := c.take(newClient(b, addr))
			var left atomic.Int64
			left.Store(int64(b.N))
			errs := make(chan error)
			b.ResetTimer()
			for range goroutines {
				go func() {
					var err error
					for err == nil && left.Add(-1) >= 0 {
						err = take()
					}
					errs <- err
				}()
			}
			for range goroutines {
				require.NoError(b, <-errs)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

var errDenied = errors.New("denied")

// limited returns what takes one event by a limiter.
func limited(tb testing.TB) func(*memcache.Client) func() error {
	return func(client *memcache.Client) func() error {
		l := newLimiter(tb, newStore(tb, client), bucket, newName())
		return func() error {
			if r, err := l.Take(tb.Context(), "k", 1); err != nil || r.Allowed {
				return err
			}
			return errDenied
		}
	}
}

// bare returns what takes one event without a store. The item is the word of the bucket's state.
func bare(tb testing.TB) func(*memcache.Client) func() error {
	d, err := bucket.Decider()
	require.NoError(tb, err)
	return func(client *memcache.Client) func() error {
		key := casstore.Key(newName(), "k")
		require.NoError(tb, client.Set(&memcache.Item{Key: key, Value: make([]byte, 8)}))
		return func() error {
			for {
				item, err := client.Get(key)
				if err != nil {
					return err
				}
				state := []uint64{binary.BigEndian.Uint64(item.Value)}
				state, answer := d.Decide(state, time.Now().UnixNano(), weir.Ask{N: 1})
				if !answer.Allowed {
					return errDenied
				}
				binary.BigEndian.PutUint64(item.Value, state[0])
				if err = client.CompareAndSwap(item); !errors.Is(err, memcache.ErrCASConflict) {
					return err
				}
			}
		}
	}
}

// One goroutine makes a grant: two commands.
func BenchmarkTake(b *testing.B) {
	l := newLimiter(b, newStore(b, newClient(b, memcachedtest.Shared(b).Addr())), bucket, newName())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Take(b.Context(), "k", 1); err != nil {
			b.Fatal(err)
		}
	}
}
