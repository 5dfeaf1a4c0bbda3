package rueidisstore

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
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// spacious is never used up in a test, and its window doesn't end in one. So what Redis has counted
// is Limit - Remaining, whatever the callers were told.
var spacious = weir.FixedWindow{Limit: 1_000_000, Per: 365 * 24 * time.Hour, FromFirst: true}

// own is a policy for which there is no script.
type own struct{ weir.FixedWindow }

func limiterOn(tb testing.TB, s weir.Store, p weir.Policy) *weir.Keyed {
	return weir.Must(weir.New(p, weir.WithStore(s), weir.WithName(tb.Name())))
}

// counted is how many events Redis has counted for the key. A client has several connections, and may
// not have noticed yet that one is lost.
func counted(t *testing.T, l *weir.Keyed, key string) int {
	t.Helper()
	var r weir.Result
	eventually(t, "a look", func() bool {
		var err error
		r, err = l.Take(context.Background(), key, 0)
		return err == nil
	})
	return r.Limit - r.Remaining
}

// Processes with either client share their limits.
func TestP14_BothClientsGrantTheLimitTogether(t *testing.T) {
	addr := redistest.Single(t).Addr()
	goRedis := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { goRedis.Close() })
	other, err := redisstore.New(goRedis)
	require.NoError(t, err)
	const limit = 100
	for name, p := range map[string]weir.Policy{
		"TokenBucket":   weir.TokenBucket{Limit: limit, Per: 365 * 24 * time.Hour},
		"FixedWindow":   weir.FixedWindow{Limit: limit, Per: 365 * 24 * time.Hour, FromFirst: true},
		"SlidingWindow": weir.SlidingWindow{Limit: limit, Per: 365 * 24 * time.Hour, Buckets: 365},
		"SlidingLog":    weir.SlidingLog{Limit: limit, Per: 365 * 24 * time.Hour},
		"own":           own{weir.FixedWindow{Limit: limit, Per: 365 * 24 * time.Hour, FromFirst: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var granted [2]atomic.Int64
			var callers sync.WaitGroup
			for i, store := range []weir.Store{newStore(t, newClient(t, at(addr))), other} {
				l := limiterOn(t, store, p)
				for range 8 {
					callers.Go(func() {
						for range 30 {
							r, err := l.Take(t.Context(), "k", 1)
							assert.NoError(t, err)
							if r.Allowed {
								granted[i].Add(1)
							}
						}
					})
				}
			}
			callers.Wait()
			assert.EqualValues(t, limit, granted[0].Load()+granted[1].Load())
		})
	}
}

func TestForgottenScriptIsSentAgain(t *testing.T) {
	server := redistest.Single(t)
	l := limiterOn(t, newStore(t, newClient(t, at(server.Addr()))), spacious)
	for i := range 3 {
		server.MustDo("SCRIPT", "FLUSH")
		require.True(t, l.Allow("k"))
		assert.Equal(t, i+1, counted(t, l, "k"))
	}
}

func TestCallsAllocateTwice(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	store := newStore(t, newClient(t, at(redistest.Single(t).Addr())))
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 100, Per: time.Hour},
		weir.LeakyBucket{Limit: 100, Per: time.Hour},
		weir.FixedWindow{Limit: 100, Per: time.Hour},
		weir.SlidingWindow{Limit: 100, Per: time.Hour},
		weir.SlidingWindow{Limit: 100, Per: time.Hour, Buckets: 6},
		weir.SlidingLog{Limit: 100, Per: time.Hour},
	} {
		l, key := limiterOn(t, store, p), fmt.Sprintf("%T%+v", p, p)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		allocs := allocsPerRun(func() {
			_, err := l.Take(ctx, key, 1)
			require.NoError(t, err)
		})
		assert.LessOrEqual(t, allocs, 2.0, "%s: the key and the reply", key)
		allocs = allocsPerRun(func() { l.Allow(key) })
		assert.LessOrEqual(t, allocs, 2.0, "%s: the key and the reply", key)
	}
}

// allocsPerRun is how often f allocates, without what the client does by the way when it is new.
func allocsPerRun(f func()) float64 {
	return min(testing.AllocsPerRun(500, f), testing.AllocsPerRun(500, f), testing.AllocsPerRun(500, f))
}

func TestFaultsOfNew(t *testing.T) {
	_, err := New(nil, WithTimeout(0), WithMaxInFlight(0), WithMaxKeyLen(0), WithPrefix("a{b"), nil)
	for _, want := range []string{
		"weir: rueidisstore.New without a client", "weir: rueidisstore.New with a nil Option",
		"weir: rueidisstore.WithTimeout is 0s, must be above 0",
		"weir: rueidisstore.WithMaxInFlight is 0, must be at least 1",
		`prefix "a{b"`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

func TestLongKeysAreHashed(t *testing.T) {
	server := redistest.Single(t)
	l := limiterOn(t, newStore(t, newClient(t, at(server.Addr())), WithPrefix("p"), WithMaxKeyLen(40)), spacious)
	require.True(t, l.Allow("a key of more than as many as forty bytes"))
	require.True(t, l.Allow("a key"))
	assert.ElementsMatch(t, []any{
		"p:1:{TestLongKeysAreHashed:a key}",
		"p:1:{TestLongKeysAreHashed:%~GZmqZVSiykF_OFtU1KIR3Vc5U422PxYKlV1GdWZHw7E}",
	}, server.MustDo("KEYS", "*"))
}
