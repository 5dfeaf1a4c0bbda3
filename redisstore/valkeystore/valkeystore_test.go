package valkeystore

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
	"github.com/valkey-io/valkey-go"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore"
	"github.com/weir-go/weir/redisstore/internal/redistest"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/script"
	"github.com/weir-go/weir/storetest"
)

func newStore(t *testing.T, addr string, opts ...Option) *Store {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s, err := New(client, opts...)
	require.NoError(t, err)
	return s
}

func limiterOn(t *testing.T, s weir.Store) *weir.Keyed {
	return weir.Must(weir.New(weir.TokenBucket{Limit: 100, Per: 365 * 24 * time.Hour}, weir.WithStore(s)))
}

// A drivenStore decides by a clock that the test sets.
type drivenStore struct {
	*Store
	now atomic.Int64
}

func TestStore(t *testing.T) {
	const anySkew = 1 << 60 // lets the clock step back as far as a test likes to
	addr, stores := redistest.Single(t).Addr(), 0
	storetest.Run(t,
		func(t *testing.T) weir.Store {
			s := new(drivenStore)
			stores++
			s.Store = newStore(t, addr, WithPrefix(fmt.Sprint("test", stores)), WithTimeout(time.Minute), func(c *remote.Config) {
				c.Clock = func() any { return script.Driven(s.now.Load(), anySkew) }
			})
			return s
		},
		storetest.OwnClock(time.Microsecond, func(s weir.Store, now time.Time) {
			s.(*drivenStore).now.Store(now.UnixNano())
		}),
		storetest.RoundTrips())
}

// Processes with either client share their limits.
func TestP14_BothClientsGrantTheLimitTogether(t *testing.T) {
	addr := redistest.Single(t).Addr()
	goRedis := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { goRedis.Close() })
	other, err := redisstore.New(goRedis)
	require.NoError(t, err)
	var granted atomic.Int64
	var callers sync.WaitGroup
	for _, store := range []weir.Store{newStore(t, addr), other} {
		l := limiterOn(t, store)
		for range 8 {
			callers.Go(func() {
				for range 30 {
					if l.Allow("k") {
						granted.Add(1)
					}
				}
			})
		}
	}
	callers.Wait()
	assert.EqualValues(t, 100, granted.Load())
}

// A script that the server does not know is sent in full. A command whose reply is lost is sent once.
func TestCommandsAreExecutedOnce(t *testing.T) {
	server := redistest.Single(t)
	proxy := redistest.NewProxy(t, server.Addr())
	l := limiterOn(t, newStore(t, proxy.Addr()))
	server.MustDo("SCRIPT", "FLUSH")
	require.True(t, l.Allow("k"))

	proxy.LoseReplies(10, func(command []string) bool { return strings.HasPrefix(strings.ToUpper(command[0]), "EVAL") })
	r, err := l.Take(t.Context(), "k", 10)
	proxy.Forward()
	require.Error(t, err)
	require.Zero(t, r)
	assert.Equal(t, 1, proxy.Lost())
	r, err = l.Take(t.Context(), "k", 0)
	require.NoError(t, err)
	assert.Equal(t, 100-11, r.Remaining)
}

func TestStallHoldsNobody(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	l := limiterOn(t, newStore(t, proxy.Addr(), WithTimeout(300*time.Millisecond), WithMaxInFlight(2)))
	require.True(t, l.Allow("k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := l.Take(ctx, "k", 1)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = l.Take(t.Context(), "k", 1)
	assert.ErrorIs(t, err, ErrNoReply)
	_, err = l.Take(t.Context(), "k", 1)
	assert.ErrorIs(t, err, ErrBusy, "two are under way")
}

func TestFaultsOfNew(t *testing.T) {
	_, err := New(nil, WithTimeout(0), nil)
	for _, want := range []string{
		"weir: valkeystore.New without a client", "weir: valkeystore.New with a nil Option",
		"weir: valkeystore.WithTimeout is 0s, must be above 0",
	} {
		assert.ErrorContains(t, err, want)
	}
}
