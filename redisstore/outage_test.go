package redisstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/redistest"
)

// P22: a server that hangs, and a network that swallows all, add no more than the timeout, or the
// context's; also to those who wait for a connection. All is well when it is back.
func TestP22_OutageAddsNoMoreThanTheTimeout(t *testing.T) {
	for name, keeps := range map[string]bool{"by default": false, "with a client that keeps deadlines": true} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Single(t)
			proxy := redistest.NewProxy(t, server.Addr())
			client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), PoolSize: 3, ContextTimeoutEnabled: keeps})
			t.Cleanup(func() { client.Close() })
			s := newStore(t, client, WithTimeout(200*time.Millisecond))
			require.Equal(t, keeps, s.keepsDeadlines)
			l := newLimiter(t, s, weir.TokenBucket{Limit: 1000, Per: 1000 * time.Hour}, "")
			take(t, l, "k", 1)

			for _, outage := range []struct{ begin, end func() }{
				{server.Pause, server.Resume},
				{proxy.Stall, proxy.Forward},
			} {
				outage.begin()
				began := time.Now()
				var wg sync.WaitGroup
				for range 20 {
					wg.Go(func() {
						_, err := l.Take(context.Background(), "k", 1)
						assert.ErrorIs(t, err, ErrNoReply)
					})
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
						defer cancel()
						_, err := l.Take(ctx, "k", 1)
						assert.ErrorIs(t, err, context.DeadlineExceeded)
					})
				}
				wg.Wait()
				assert.Less(t, time.Since(began), 2500*time.Millisecond, "go-redis alone waits for three seconds, and then again")
				outage.end()
				assert.Eventually(t, func() bool { return l.Allow("k") }, 8*time.Second, 10*time.Millisecond)
			}
		})
	}
}

// A server that refuses connections is an error at once.
func TestRefusedConnections(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	l := newLimiter(t, newStore(t, newClient(t, proxy.Addr())), weir.TokenBucket{Limit: 10, Per: 1000 * time.Hour}, "")
	take(t, l, "k", 1)
	proxy.Refuse()
	for range 3 {
		_, err := l.Take(context.Background(), "k", 1)
		assert.Error(t, err)
	}
	proxy.Forward()
	assert.Eventually(t, func() bool { return l.Allow("k") }, 8*time.Second, 10*time.Millisecond)
}

// A policy that a process does not know, because another one wrote it, is carried over by what was used
// up of it.
func TestUnknownPolicyIsCarriedOver(t *testing.T) {
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	old := newLimiter(t, newStore(t, client), inGo{weir.TokenBucket{Limit: 10, Per: 1000 * time.Hour}}, "")
	take(t, old, "k", 4)
	take(t, old, "all", 10)
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: 50 * 365 * 24 * time.Hour},
		inGo{weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}},
	} {
		other := newLimiter(t, newStore(t, client), p, "")
		assert.Equal(t, 60, take(t, other, "k", 0).Remaining)
		assert.False(t, other.Allow("all"))
	}
	assert.Equal(t, 6, take(t, old, "k", 0).Remaining, "looks and denials have kept nothing")
	other := newLimiter(t, newStore(t, client), inGo{weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}}, "")
	assert.Equal(t, 50, take(t, other, "k", 10).Remaining)
	assert.Equal(t, 5, take(t, old, "k", 0).Remaining)
}
