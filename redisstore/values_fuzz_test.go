package redisstore

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// fuzzed are policies of every form of value.
func fuzzed() []weir.Policy {
	hour := weir.TokenBucket{Limit: 5, Per: time.Hour}
	log := weir.SlidingLog{Limit: 6, Per: time.Hour}
	return []weir.Policy{
		hour,
		weir.LeakyBucket{Limit: 3, Per: time.Hour},
		weir.TokenBucket{Limit: 299_993, Per: 24 * time.Hour},
		weir.FixedWindow{Limit: 5, Per: time.Hour},
		weir.FixedWindow{Limit: 5, Per: time.Hour, FromFirst: true},
		weir.SlidingWindow{Limit: 5, Per: time.Minute},
		weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 6},
		log,
		weir.SlidingLog{Limit: 500, Per: time.Hour},
		weir.CalendarWindow{Limit: 5, Unit: weir.Month},
		weir.All(hour, log),
		weir.All(log, weir.SlidingLog{Limit: 7, Per: time.Minute}, weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 6}),
		weir.Tiers(hour, weir.All(log, weir.CalendarWindow{Limit: 5, Unit: weir.Day})),
		weir.SingleRateMarker{Committed: hour, Excess: 3},
		weir.TwoRateMarker{Committed: hour, Peak: weir.TokenBucket{Limit: 7, Per: time.Hour}},
		inGo{log},
	}
}

// Redis may have any bytes under a limiter's key. Every call still returns in time, with an answer,
// or with an error that is about that request alone. It leaves no goroutine behind.
//
// The second policy is one that the key is asked by in turn: values of several policies are among
// the seeds.
func FuzzR21_AnyValue(f *testing.F) {
	server := redistest.Single(f)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), DialerRetries: 1})
	f.Cleanup(func() { _ = client.Close() })
	store := newStore(f, client)
	ctx := context.Background()
	key := store.remote.Engine().Keys.Key("n", "k")
	ps := fuzzed()
	var limiters []*weir.KeyedLimiter
	for _, p := range ps {
		limiters = append(limiters, newLimiter(f, store, p, "n"))
	}
	for i := range ps {
		for _, j := range []int{i, (i + 1) % len(ps), (i + 5) % len(ps)} {
			require.NoError(f, client.Del(ctx, key).Err())
			for range 3 {
				limiters[i].Allow("k")
				limiters[j].Allow("k")
			}
			value, err := client.Get(ctx, key).Bytes()
			require.NoError(f, err)
			f.Add(value, uint8(i), uint8(j), uint16(0), uint8(0))
			f.Add(value, uint8(j), uint8(i), uint16(8*len(value)-9), uint8(1))
		}
	}
	before := runtime.NumGoroutine()
	f.Fuzz(func(t *testing.T, value []byte, first, second uint8, bit uint16, n uint8) {
		if at := int(bit / 8); at < len(value) {
			value[at] ^= 1 << (bit % 8)
		}
		require.NoError(t, client.Set(ctx, key, value, time.Minute).Err())
		check := func(err error) {
			if err != nil && !errors.Is(err, weir.ErrRequest) {
				t.Fatalf("by %v and %v, on %q: %v", ps[int(first)%len(ps)], ps[int(second)%len(ps)], value, err)
			}
		}
		for _, i := range []uint8{first, second} {
			l := limiters[int(i)%len(ps)]
			_, err := l.Take(ctx, "k", 0)
			check(err)
			_, err = l.Take(ctx, "k", 1+int(n%4))
			check(err)
			_, _, err = l.TakeUpTo(ctx, "k", int(n))
			check(err)
			r, err := l.Reserve(ctx, "k", 1)
			check(err)
			check(l.Return(ctx, "k", 1+int(n%3)))
			if r != nil {
				check(r.Settle(ctx, int(n%5)))
			}
		}
		if now := runtime.NumGoroutine(); now > before+20 {
			t.Fatalf("%d goroutines, and %d at the start", now, before)
		}
	})
}
