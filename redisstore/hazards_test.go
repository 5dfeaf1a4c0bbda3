package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// P13, P14: what several processes are granted is granted once, by whichever script, and by
// policies without one.
func TestP13_P14_ProcessesShareExactly(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	const limit, stores, goroutines = 100, 4, 4
	policies := five(limit)
	policies["without a script"] = inGo{weir.TokenBucket{Limit: limit, Per: time.Hour * 1000}}
	policies["composed"] = weir.All(policies["TokenBucket"], weir.SlidingLog{Limit: 2 * limit, Per: time.Hour})
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			var granted, denied atomic.Int64
			var wg sync.WaitGroup
			for range stores {
				l := newLimiter(t, newStore(t, newClient(t, server.Addr())), p, name)
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

// P8: an allowance that recovers within some milliseconds or less is kept for as long as it limits,
// and for no longer than that. A time to live of zero would be an error, or for ever; one rounded
// down would limit nothing.
func TestP8_TimeToLiveIsNeverZero(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	for _, per := range []time.Duration{time.Microsecond, 300 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, 9900 * time.Microsecond} {
		for _, p := range []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: per},
			weir.LeakyBucket{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per, FromFirst: true},
			weir.SlidingWindow{Limit: 1, Per: per},
			weir.SlidingLog{Limit: 1, Per: per},
			inGo{weir.SlidingLog{Limit: 1, Per: per}},
		} {
			name := fmt.Sprintf("%T%[1]v of %v", p, per)
			var last weir.Answer // by the server's clock, so that it does not matter how fast all this is
			granted, denied := 0, 0
			l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				a, err := s.Do(ctx, r)
				if err != nil || !a.Allowed {
					denied++
					return a, err
				}
				switch p := p.(type) {
				case weir.SlidingWindow: // of one event, which weighs less than one as soon as its window ends
					require.NotEqual(t, last.At/int64(per), a.At/int64(per), name)
				case weir.FixedWindow:
					require.True(t, p.FromFirst || last.At/int64(per) != a.At/int64(per), name)
					require.True(t, !p.FromFirst || a.At-last.At >= int64(per), name)
				default:
					require.GreaterOrEqual(t, a.At-last.At, int64(per), name)
				}
				granted, last = granted+1, a
				return a, nil
			}), p, "P8")
			server.MustDo("CONFIG", "RESETSTAT")
			for range runs.Long(200, runs.InCI(100, 40)) {
				take(t, l, name, 1)
			}
			stats := server.MustDo("INFO", "commandstats").(string)
			assert.Contains(t, stats, fmt.Sprintf("cmdstat_set:calls=%d,", granted), "%s: each grant is written", name)
			ttl := client.PTTL(context.Background(), s.remote.Engine().Keys.Key("P8", name)).Val()
			assert.Less(t, ttl, 30*time.Millisecond, name)
			assert.NotEqual(t, time.Duration(-1), ttl, "%s lives for ever", name)
			for per > 5*time.Millisecond && denied == 0 { // where a machine can be as fast as that
				take(t, l, name, 1)
			}
		}
	}
}

// A value lives for as long as it is needed: of milliseconds, more than 32 bits of them too.
func TestTimeToLive(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	const short, slack = time.Minute, 20 * time.Second // a machine may be as slow as that
	for _, per := range []time.Duration{short, 1<<31*time.Millisecond - slack, 1<<31*time.Millisecond + slack, 400 * 24 * time.Hour} {
		for _, p := range []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: per},
			weir.LeakyBucket{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per, FromFirst: true},
			weir.SlidingLog{Limit: 1, Per: per},
			inGo{weir.TokenBucket{Limit: 1, Per: per}},
			inGo{weir.SlidingLog{Limit: 1, Per: per}},
		} {
			key := fmt.Sprintf("%T%[1]v", p)
			l := newLimiter(t, s, p, "T")
			require.True(t, l.Allow(key))
			require.False(t, l.Allow(key))
			ttl := client.PTTL(context.Background(), s.remote.Engine().Keys.Key("T", key)).Val()
			assert.InDelta(t, per, ttl, float64(slack), "%T of %v", p, per)
		}
		key := fmt.Sprint(per)
		require.True(t, newLimiter(t, s, weir.SlidingWindow{Limit: 1, Per: per}, "T").Allow(key))
		ttl := client.PTTL(context.Background(), s.remote.Engine().Keys.Key("T", key)).Val()
		assert.Greater(t, ttl, per-slack, "SlidingWindow of %v", per)
		assert.LessOrEqual(t, ttl, 2*per+slack, "SlidingWindow of %v", per)
	}
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
		key := s.remote.Engine().Keys.Key(name, "k")
		before := client.Get(context.Background(), key).Val()
		for range 10 {
			assert.False(t, l.Allow("k"))
			take(t, l, "k", 0)
			take(t, l, "k", 4)
			take(t, l, "new", 0)
		}
		assert.Equal(t, before, client.Get(context.Background(), key).Val(), name)
		assert.Zero(t, client.Exists(context.Background(), s.remote.Engine().Keys.Key(name, "new")).Val(), name)
	}
}

// P22: while one server is slow, those who ask for other keys don't wait for each other.
func TestP22_KeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 50, ReadTimeout: time.Minute})
	defer client.Close()
	s := newStore(t, client)
	const callers, delay = 40, 300 * time.Millisecond
	for _, p := range []weir.Policy{weir.TokenBucket{Limit: 1, Per: time.Hour}, inGo{weir.TokenBucket{Limit: 1, Per: time.Hour}}} {
		l := newLimiter(t, s, p, fmt.Sprintf("%T", p))
		var wg sync.WaitGroup
		proxy.Delay(delay)
		began := time.Now()
		for i := range callers {
			wg.Go(func() { l.Allow(fmt.Sprint(i)) })
		}
		wg.Wait()
		proxy.Forward()
		assert.Less(t, time.Since(began), callers*delay, "%T: as long as one after another", p)
	}
}

// R16: a give-back to a bucket loses against no grant of its key, even if there is one before each
// of its commands.
func TestR16_GiveBackAmongGrants(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	bucket := weir.TokenBucket{Limit: 1000, Per: 50 * 365 * 24 * time.Hour}
	others, granted := newLimiter(t, newStore(t, client), bucket, ""), 0
	l := newLimiter(t, newStore(t, &fakeClient{process: func(ctx context.Context, cmd redis.Cmder) error {
		if take(t, others, "k", 1).Allowed {
			granted++
		}
		return client.Process(ctx, cmd)
	}}), bucket, "")
	var cancelled, settled weir.Reservation
	require.NoError(t, l.ReserveNow(t.Context(), "k", 100, &cancelled, nil))
	require.NoError(t, l.ReserveNow(t.Context(), "k", 200, &settled, nil))
	require.NoError(t, cancelled.Cancel(t.Context()))
	require.NoError(t, settled.Settle(t.Context(), 150))
	require.NoError(t, l.Return(t.Context(), "k", 20))
	assert.Equal(t, 1000-(150-20)-granted, take(t, others, "k", 0).Remaining)
}

// A key keeps its counts when only numbers of its policy change, and is decided on by the script
// from then on.
func TestChangedLimitIsCarriedOver(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStore(t, client)
	old := newLimiter(t, s, weir.TokenBucket{Limit: 10, Per: 10 * time.Hour}, "")
	changed := newLimiter(t, s, weir.TokenBucket{Limit: 10, Per: 10 * time.Hour, Burst: 100}, "")
	take(t, old, "k", 5)
	assert.Equal(t, 94, take(t, changed, "k", 1).Remaining)
	client.ConfigResetStat(context.Background())
	assert.Equal(t, 93, take(t, changed, "k", 1).Remaining)
	assert.NotContains(t, client.Info(context.Background(), "commandstats").Val(), "cmdstat_eval:")
	calls := client.Info(context.Background(), "commandstats").Val()
	assert.Contains(t, calls, "cmdstat_evalsha:calls=1,", "one round trip again")
	assert.Equal(t, 3, take(t, old, "k", 0).Remaining)
}

// The clocks of the processes don't matter.
func TestClientClocksDoNotMatter(t *testing.T) {
	client := newClient(t, redistest.Single(t).Addr())
	const limit = 10
	policies := five(limit)
	policies["without a script"] = inGo{weir.SlidingLog{Limit: limit, Per: time.Hour}}
	for name, p := range policies {
		granted := 0
		for i := range 3 * limit {
			now := []time.Time{{}, time.Now().Add(time.Second), time.Unix(1<<40, 0)}[i%3]
			l := weir.Must(weir.New(p, weir.WithStore(newStore(t, client)), weir.WithName(name), weir.WithClock(stoppedClock(now))))
			r := take(t, l, "k", 1)
			if r.Allowed {
				granted++
				assert.Equal(t, limit-granted, r.Remaining, name)
			}
		}
		assert.Equal(t, limit, granted, name)
	}
}

type stoppedClock time.Time

func (c stoppedClock) Now() time.Time                       { return time.Time(c) }
func (c stoppedClock) After(time.Duration) <-chan time.Time { return nil }
