package redisstore

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

var fiveBuckets = weir.All(
	weir.TokenBucket{Limit: 300, Per: time.Minute},
	weir.TokenBucket{Limit: 15_750, Per: time.Hour},
	weir.TokenBucket{Limit: 300_000, Per: 24 * time.Hour},
	weir.TokenBucket{Limit: 1_500_000, Per: 7 * 24 * time.Hour},
	weir.TokenBucket{Limit: 6_000_000, Per: 30 * 24 * time.Hour},
)

// TestDocsMemory holds the table of docs/redis.md against a real server. How much memory a value
// takes depends on the server's allocator; how long it is does not.
func TestDocsMemory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/redis.md")
	require.NoError(t, err)
	doc := string(text)
	server := redistest.Single(t)
	asInDocs := strings.Contains(server.MustDo("INFO").(string), "redis_version:7.0.") &&
		strings.Contains(server.MustDo("INFO").(string), "mem_allocator:jemalloc-5")
	const day = 24 * time.Hour
	for i, row := range []struct {
		name   string
		policy weir.Policy
		events int
	}{
		{"`TokenBucket`", weir.TokenBucket{Limit: 100, Per: time.Hour}, 100},
		{"`LeakyBucket`", weir.LeakyBucket{Limit: 100, Per: time.Hour}, 1},
		{"`FixedWindow`", weir.FixedWindow{Limit: 100, Per: time.Hour}, 100},
		{"`FixedWindow`, `FromFirst`", weir.FixedWindow{Limit: 100, Per: time.Hour, FromFirst: true}, 100},
		{"`SlidingWindow`", weir.SlidingWindow{Limit: 100, Per: time.Hour}, 61},
		{"`SlidingWindow`, `Buckets: 6`", weir.SlidingWindow{Limit: 100, Per: time.Hour, Buckets: 6}, 61},
		{"`SlidingWindow`, `Buckets: 60`", weir.SlidingWindow{Limit: 100, Per: time.Hour, Buckets: 60}, 61},
		{"`SlidingLog`, 5 events", weir.SlidingLog{Limit: 100, Per: time.Hour}, 5},
		{"`SlidingLog`, 100 events", weir.SlidingLog{Limit: 100, Per: time.Hour}, 100},
		{"`SlidingLog`, 10,000 events in 15 minutes", weir.SlidingLog{Limit: 10_000, Per: 15 * time.Minute}, 10_000},
		{"`SlidingLog`, 10,000 events in an hour", weir.SlidingLog{Limit: 10_000, Per: time.Hour}, 10_000},
		{"`SlidingLog`, 10,000 events in a week", weir.SlidingLog{Limit: 10_000, Per: 7 * day}, 10_000},
		{"`CalendarWindow`", weir.CalendarWindow{Limit: 100, Unit: weir.Month}, 100},
		{"`All` of five buckets", fiveBuckets, 100},
	} {
		if row.events > runs.Long(10_000, 100) {
			continue // each call reads and writes all events that are there
		}
		s := newDrivenWith(t, newClient(t, server.Addr()), serverSkew, remote.Config{Prefix: "weir"})
		l := newLimiter(t, s, row.policy, fmt.Sprintf("%04d", i))
		// The first instant of an hour, so that a minute's events are one in each sub-window.
		at := time.Date(2033, 5, 18, 3, 0, 0, 0, time.UTC)
		step := time.Minute
		if row.events > 61 {
			step = time.Millisecond
		}
		for range row.events {
			s.set(at)
			require.True(t, take(t, l, "203.0.113.7", 1).Allowed, row.name)
			at = at.Add(step)
		}
		keys := server.MustDo("KEYS", fmt.Sprintf("*%04d*", i)).([]any)
		require.Len(t, keys, 1)
		key := keys[0].(string)
		length := fmt.Sprintf("| %s | %d |", row.name, server.MustDo("STRLEN", key))
		used := fmt.Sprintf(" %d |", server.MustDo("MEMORY", "USAGE", key, "SAMPLES", "0"))
		t.Log(length + used)
		assert.Contains(t, doc, length)
		if asInDocs {
			assert.Contains(t, doc, length+used)
		}
	}
}

// BenchmarkDocs counts the commands in the table "How many decisions a second" of docs/redis.md. It
// also reports what 64 goroutines get, and what Redis itself says that a decision takes it.
func BenchmarkDocs(b *testing.B) {
	bucket := weir.TokenBucket{Limit: 1e6, Per: 1e6 * time.Second} // keys that are asked for again are alive
	month := weir.CalendarWindow{Limit: 1e9, Unit: weir.Month}
	for _, row := range []struct {
		name   string
		policy weir.Policy
		keys   int
		config remote.Config
	}{
		{"TokenBucket", bucket, runs.Keys(10_000), remote.Config{}},
		{"TokenBucket,single-server", bucket, runs.Keys(10_000), remote.Config{SingleServer: true}},
		{"CalendarWindow", month, runs.Keys(10_000), remote.Config{}},
		{"All,5", fiveBuckets, runs.Keys(10_000), remote.Config{}},
		{"TokenBucket,one-key", bucket, 1, remote.Config{}},
		{"CalendarWindow,one-key", month, 1, remote.Config{}},
	} {
		b.Run(row.name, func(b *testing.B) {
			server := redistest.Single(b)
			l := newLimiter(b, newStoreWith(b, newClient(b, server.Addr()), row.config), row.policy, "api")
			for i := range row.keys { // so that each key is there, and the scripts
				l.Allow(fmt.Sprint(i))
			}
			server.MustDo("CONFIG", "RESETSTAT")
			var next atomic.Int64
			b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					l.Allow(fmt.Sprint(next.Add(1) % int64(row.keys)))
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
			var calls, micros float64
			_, stat, _ := strings.Cut(server.MustDo("INFO", "commandstats").(string), "cmdstat_evalsha:")
			_, err := fmt.Sscanf(stat, "calls=%f,usec=%f,", &calls, &micros)
			require.NoError(b, err)
			b.ReportMetric(micros/float64(b.N), "redis-µs/op")
			b.ReportMetric(calls/float64(b.N), "commands/op")
		})
	}
}

// BenchmarkDocsRefused is how long it takes to learn that no one listens, by how often go-redis
// tries.
func BenchmarkDocsRefused(b *testing.B) {
	for _, retries := range []int{5, 1} {
		b.Run(fmt.Sprint(retries), func(b *testing.B) {
			client := redis.NewClient(&redis.Options{Addr: "localhost:1", DialerRetries: retries})
			b.Cleanup(func() { client.Close() })
			l := newLimiter(b, newStore(b, client), weir.TokenBucket{Limit: 1, Per: time.Second}, "")
			for b.Loop() {
				_, err := l.Take(b.Context(), "key", 1)
				require.Error(b, err)
			}
		})
	}
}

// BenchmarkDocsKeys is how much more memory Redis takes for each of many keys, in all.
func BenchmarkDocsKeys(b *testing.B) {
	for b.Loop() {
		const keys = 100_000
		server := redistest.Single(b)
		l := newLimiter(b, newStore(b, newClient(b, server.Addr())), weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "api")
		memory := func() (n float64) {
			_, used, _ := strings.Cut(server.MustDo("INFO", "memory").(string), "used_memory:")
			_, err := fmt.Sscan(used, &n)
			require.NoError(b, err)
			return n
		}
		before := memory()
		var callers sync.WaitGroup // who share commands, which takes less time
		for c := range 64 {
			callers.Go(func() {
				for i := c; i < keys; i += 64 {
					assert.True(b, l.Allow(fmt.Sprintf("203.0.%d.%d", i/256, i%256)))
				}
			})
		}
		callers.Wait()
		b.ReportMetric((memory()-before)/keys, "bytes/key")
	}
}
