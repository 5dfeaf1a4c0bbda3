package redisstore

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// P13, P14: what several processes are granted is granted once, by whichever script, and by policies
// without one.
func TestP13_P14_ProcessesShareExactly(t *testing.T) {
	server := redistest.Single(t)
	const limit, stores, goroutines = 100, 4, 4
	policies := five(limit)
	policies["without a script"] = inGo{weir.TokenBucket{Limit: limit, Per: time.Hour * 1000}}
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			var granted, denied atomic.Int64
			var wg sync.WaitGroup
			for range stores {
				l := newLimiter(t, newStore(t, newClient(t, server.Addr()), WithTimeout(20*time.Second)), p, name)
				for range goroutines {
					wg.Go(func() {
						for range 20 {
							r, err := l.Take(context.Background(), "k", 1)
							switch {
							case err != nil:
								t.Error(err)
							case r.Allowed:
								granted.Add(1)
							default:
								denied.Add(1)
							}
						}
					})
				}
			}
			wg.Wait()
			assert.Equal(t, int64(limit), granted.Load())
			assert.Equal(t, int64(stores*goroutines*20-limit), denied.Load())
		})
	}
}

// P8: an allowance that recovers within less than a millisecond is kept, and for no longer than that. A
// time to live of zero would be an error, or for ever.
func TestP8_TimeToLiveIsNeverZero(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	for _, per := range []time.Duration{time.Microsecond, 300 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond} {
		for _, p := range []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: per},
			weir.LeakyBucket{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per, FromFirst: true},
			weir.SlidingWindow{Limit: 1, Per: per},
			weir.SlidingLog{Limit: 1, Per: per},
			inGo{weir.SlidingLog{Limit: 1, Per: per}},
		} {
			key := fmt.Sprintf("%T%v", p, per)
			l := newLimiter(t, s, p, "P8")
			for range 20 {
				take(t, l, key, 1)
			}
			ttl := client.PTTL(context.Background(), s.engine.Keys.Key("P8", key)).Val()
			assert.Less(t, ttl, 10*time.Millisecond, "%T of %v", p, per)
			assert.NotEqual(t, time.Duration(-1), ttl, "%T of %v lives for ever", p, per)
		}
	}
	// and the value lives for as long as it is needed
	l := newLimiter(t, s, weir.TokenBucket{Limit: 1, Per: 900 * time.Millisecond}, "")
	require.True(t, l.Allow("k"))
	require.False(t, l.Allow("k"))
	ttl := client.PTTL(context.Background(), "weir:1:{:k}").Val()
	assert.InDelta(t, 900*time.Millisecond, ttl, float64(500*time.Millisecond))
}

// P12: looks and denials write nothing, so that none can lose against a grant and consume.
func TestP12_LooksAndDenialsWriteNothing(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	policies := five(3)
	policies["without a script"] = inGo{weir.TokenBucket{Limit: 3, Per: time.Hour}}
	for name, p := range policies {
		l := newLimiter(t, s, p, name)
		take(t, l, "k", 3)
		key := s.engine.Keys.Key(name, "k")
		before := client.Get(context.Background(), key).Val()
		for range 10 {
			assert.False(t, l.Allow("k"))
			take(t, l, "k", 0)
			take(t, l, "k", 4)
			take(t, l, "new", 0)
		}
		assert.Equal(t, before, client.Get(context.Background(), key).Val(), name)
		assert.Zero(t, client.Exists(context.Background(), s.engine.Keys.Key(name, "new")).Val(), name)
	}
}

// A server that forgets the scripts is told them again, and the event is counted once.
func TestForgottenScripts(t *testing.T) {
	server := redistest.Single(t)
	s := newStore(t, newClient(t, server.Addr()))
	for name, p := range five(100) {
		l := newLimiter(t, s, p, name)
		for want := 99; want > 95; want-- {
			server.MustDo("SCRIPT", "FLUSH")
			assert.Equal(t, want, take(t, l, "k", 1).Remaining, name)
		}
	}
}

// P22: while one server is slow, those who ask for other keys don't wait for each other.
func TestP22_KeysDoNotWaitForEachOther(t *testing.T) {
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 50})
	defer client.Close()
	s := newStore(t, client, WithTimeout(20*time.Second))
	for _, p := range []weir.Policy{weir.TokenBucket{Limit: 1, Per: time.Hour}, inGo{weir.TokenBucket{Limit: 1, Per: time.Hour}}} {
		l := newLimiter(t, s, p, fmt.Sprintf("%T", p))
		var wg sync.WaitGroup
		proxy.Delay(100 * time.Millisecond)
		began := time.Now()
		for i := range 40 {
			wg.Go(func() { l.Allow(fmt.Sprint(i)) })
		}
		wg.Wait()
		proxy.Forward()
		assert.Less(t, time.Since(began), 40*100*time.Millisecond, "%T: as long as one after another", p)
	}
}

// A changed limit is carried over, and kept by the new policy's script from then on.
func TestChangedLimitIsCarriedOver(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	old := newLimiter(t, s, weir.TokenBucket{Limit: 10, Per: 10 * time.Hour}, "")
	changed := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 10 * time.Hour}, "")
	take(t, old, "k", 5)
	assert.Equal(t, 49, take(t, changed, "k", 1).Remaining)
	client.ConfigResetStat(context.Background())
	assert.Equal(t, 48, take(t, changed, "k", 1).Remaining)
	assert.NotContains(t, client.Info(context.Background(), "commandstats").Val(), "cmdstat_eval:")
	calls := client.Info(context.Background(), "commandstats").Val()
	assert.Contains(t, calls, "cmdstat_evalsha:calls=1,", "one round trip again")
	assert.Equal(t, 4, take(t, old, "k", 0).Remaining)
}

// What stands at a limiter's key and is none of its states is an error, and stays there.
func TestForeignValues(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	ctx := context.Background()
	s := newStore(t, client)
	for name, p := range map[string]weir.Policy{
		"script": weir.TokenBucket{Limit: 1, Per: time.Hour},
		"log":    weir.SlidingLog{Limit: 1, Per: time.Hour},
		"none":   inGo{weir.SlidingLog{Limit: 1, Per: time.Hour}},
	} {
		l := newLimiter(t, s, p, name)
		for _, value := range []string{"hello", "\x00", "\x7f123", "\x01", "\x01\x01\x01\x01", "\x01\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01", strings.Repeat("\x80", 40)} {
			client.Set(ctx, s.engine.Keys.Key(name, "k"), value, 0)
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorContains(t, err, "the value of the key is not one of a limiter", "%s: %q", name, value)
			assert.Equal(t, value, client.Get(ctx, s.engine.Keys.Key(name, "k")).Val())
		}
		client.Del(ctx, s.engine.Keys.Key(name, "k"))
		client.LPush(ctx, s.engine.Keys.Key(name, "k"), "x")
		_, err := l.Take(ctx, "k", 1)
		assert.ErrorContains(t, err, "WRONGTYPE", name)
	}
}

// A log of 10,000 takes no more than 90 kB, grows with what is used, and shrinks again.
func TestLogIsSmall(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newDriven(t, client, anySkew)
	s.set(time.Unix(1_700_000_000, 0))
	l := newLimiter(t, s, weir.SlidingLog{Limit: 10_000, Per: 100 * time.Hour}, "")
	size := func() int64 { return client.MemoryUsage(context.Background(), s.engine.Keys.Key("", "k")).Val() }
	at := int64(1_700_000_000_000_000)
	for i := range 10_000 {
		s.set(time.UnixMicro(at + int64(i)))
		require.True(t, l.Allow("k"))
		if i == 9 {
			assert.Less(t, size(), int64(300))
		}
	}
	assert.Less(t, size(), int64(90_000))
	require.False(t, l.Allow("k"))
	s.set(time.UnixMicro(at + 9_990).Add(100 * time.Hour))
	require.Equal(t, 9_990, take(t, l, "k", 1).Remaining)
	assert.Less(t, size(), int64(300))
}

// Forget makes a key as if never seen, whatever its policy.
func TestForget(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	var scope *weir.Scope
	l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		scope = r.Scope
		return s.Do(ctx, r)
	}), weir.TokenBucket{Limit: 1, Per: time.Hour}, "")
	require.True(t, l.Allow("k"))
	require.False(t, l.Allow("k"))
	a, err := s.Do(context.Background(), weir.Request{Scope: scope, Key: "k", Forget: true})
	require.NoError(t, err)
	assert.Equal(t, weir.Answer{}, a)
	assert.True(t, l.Allow("k"))
	assert.Equal(t, []string{"weir:1:{:k}"}, client.Keys(context.Background(), "*").Val())
}
