package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/test/checks"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// P22: two connections that hung stopped every caller until the timeout. Now they stop those whose
// commands are on them, one each after a rest, as with the client alone.
func TestP22_HungConnectionStopsNoOthers(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Single(t).Addr())
	l := newLimiter(t, newStore(t, newClient(t, proxy.Addr())), weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	take(t, l, "script", 1)
	const hung, others = 2, 38
	ctx, cancel := context.WithCancel(t.Context())
	var callers, stuck sync.WaitGroup
	proxy.Hang(hung)
	for i := range hung {
		stuck.Go(func() {
			_, err := l.Take(ctx, "stuck", 1)
			assert.ErrorIs(t, err, context.Canceled)
		})
		checks.Eventually(t, "a connection to hang", func() bool { return proxy.Hung() == i+1 })
	}
	for i := range others {
		callers.Go(func() { assert.True(t, l.Allow(fmt.Sprint(i))) })
	}
	callers.Wait()
	cancel()
	stuck.Wait()
	assert.Equal(t, 100, take(t, l, "stuck", 0).Remaining)
}

// As many flights are out as the client has connections, and no more: others would wait in the
// client, and grow no larger meanwhile.
func TestP22_NoMoreFlightsThanConnections(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Single(t).Addr())
	const connections = 3
	client.Options().PoolSize = connections // the store asks for it
	g := &gate{flights: make(chan int, 1000)}
	client.AddHook(g)
	s := newStore(t, client)
	l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	g.mu.Lock()
	var callers sync.WaitGroup
	const waiting = 10
	for i := range connections + waiting {
		callers.Go(func() { assert.True(t, l.Allow(fmt.Sprint(i))) })
		if i < connections {
			<-g.flights
		}
	}
	checks.Eventually(t, "the rest to wait", func() bool { return s.remote.Waiting() == waiting })
	time.Sleep(20 * time.Millisecond) // no flight is new any more
	assert.Empty(t, g.flights)
	g.mu.Unlock()
	callers.Wait()
}
