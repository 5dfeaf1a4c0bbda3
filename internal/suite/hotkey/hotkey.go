// Package hotkey measures the decisions on one key for which 64 goroutines ask, over a shared
// store. The modules of stores have a benchmark that calls it:
//
//	go test -run '^$' -bench HotKey -benchtime 2s ./redisstore ./pgstore ./natsstore/internal/test
package hotkey

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// enough is a limit that no machine uses up.
const enough = 1_000_000_000

// Benchmark measures a store, alone and behind a Lease. In "overload" most requests are denied. It
// reports decisions in a second by all goroutines together, the median and the 99th percentile of
// the time of a decision in microseconds, and the calls of the store in a second.
func Benchmark(b *testing.B, store weir.Store) {
	for _, c := range []struct {
		name  string
		limit int // in a second
		lease bool
	}{
		{"alone", enough, false},
		{"Lease", enough, true},
		{"Lease/overload", 100_000, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			shared := &counted{Store: store}
			var front weir.Store = shared
			if c.lease {
				lease := fleet.Lease(shared, fleet.LeaseOptions{})
				defer func() { kit.NoError(b, lease.Release(context.Background())) }()
				front = lease
			}
			l, err := weir.New(weir.FixedWindow{Limit: c.limit, Per: time.Second},
				weir.WithStore(front), weir.WithName(b.Name()))
			kit.NoError(b, err)
			measure(b, l, &shared.calls)
		})
	}
}

type counted struct {
	weir.Store
	calls atomic.Int64
}

// Do implements [weir.Store].
func (c *counted) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	c.calls.Add(1)
	return c.Store.Do(ctx, r)
}

func measure(b *testing.B, l *weir.KeyedLimiter, calls *atomic.Int64) {
	const goroutines = 64
	var (
		mu  sync.Mutex
		all []time.Duration
	)
	b.SetParallelism(max(goroutines/runtime.GOMAXPROCS(0), 1))
	calls.Store(0)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		took := make([]time.Duration, 0, 1024)
		for i := 0; pb.Next(); i++ {
			timed := i%16 == 0 // reading the clock takes as long as a decision from memory
			var sent time.Time
			if timed {
				sent = time.Now()
			}
			if _, err := l.Take(context.Background(), "hot", 1); err != nil {
				b.Error(err)
				return
			}
			if timed {
				took = append(took, time.Since(sent))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, took...)
	})
	seconds := b.Elapsed().Seconds()
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/seconds, "decisions/s")
	b.ReportMetric(float64(calls.Load())/seconds, "calls/s")
	b.ReportMetric(all[len(all)/2].Seconds()*1e6, "p50-µs")
	b.ReportMetric(all[len(all)*99/100].Seconds()*1e6, "p99-µs")
}
