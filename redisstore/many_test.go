package redisstore

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
	"github.com/weir-go/weir/redisstore/internal/test/redistest"
)

// go-redis leaves a server that says it is read-only, because it is no longer the master, and the
// dialer finds the new one. That works for a command for many keys, too.
func TestServerThatIsReadOnlyIsLeft(t *testing.T) {
	t.Parallel()
	before, after := redistest.Single(t), redistest.Single(t)
	var addr atomic.Value
	addr.Store(before.Addr())
	client := redis.NewClient(&redis.Options{
		PoolSize: maxFlights,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr.Load().(string))
		},
	})
	t.Cleanup(func() { client.Close() })
	s := newStoreWith(t, client, remote.Config{SingleServer: true, Patience: patiently})
	l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	var conns [maxFlights]*redis.Conn // as many as there will be flights, all to the first server
	for i := range conns {
		conns[i] = client.Conn()
		require.NoError(t, conns[i].Ping(t.Context()).Err())
	}
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	take(t, l, "script", 1)
	meanwhile := func() {
		host, port, err := net.SplitHostPort(after.Addr())
		require.NoError(t, err)
		before.MustDo("REPLICAOF", host, port)
		addr.Store(after.Addr())
	}
	// Each flight is on a connection of its own, and those of the callers before only look.
	together(t, client, s, 20, 1, meanwhile, func(i int) {
		if i < maxFlights {
			take(t, l, "look", 0)
			return
		}
		_, err := l.Take(context.Background(), fmt.Sprint(i), 1)
		assert.True(t, redis.IsReadOnlyError(err), "%v", err)
	})
	for i := range maxFlights { // the other connection may still be there, and is left now
		if _, err := l.Take(context.Background(), fmt.Sprint(i), 1); err == nil {
			return
		}
		require.Less(t, i, maxFlights-1)
	}
}

// Callers of a command for many keys get the error of the server that they would have got alone.
func TestErrorsOfManyKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	client := newClient(t, server.Addr())
	s := newStoreWith(t, client, remote.Config{SingleServer: true, Patience: patiently})
	l := newLimiter(t, s, weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}, "")
	take(t, l, "script", 1)
	meanwhile := func() { server.MustDo("CONFIG", "SET", "maxmemory", "1") }
	together(t, client, s, 20, 1, meanwhile, func(i int) {
		if i < maxFlights {
			take(t, l, "look", 0)
			return
		}
		_, err := l.Take(context.Background(), fmt.Sprint(i), 1)
		assert.True(t, redis.IsOOMError(err), "%v", err)
	})
}

// A wrapper is a hook that wraps the errors of commands.
type wrapper struct{ gate }

func (*wrapper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return wrapped(cmd, next(ctx, cmd)) }
}

func (*wrapper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			wrapped(cmd, cmd.Err())
		}
		return err
	}
}

func wrapped(cmd redis.Cmder, err error) error {
	if err != nil {
		err = fmt.Errorf("hook: %w", err)
		cmd.SetErr(err)
	}
	return err
}

// A key that the user may not use fails for its caller only, whatever hooks do with the error.
func TestForbiddenKeyAmongMany(t *testing.T) {
	t.Parallel()
	server := redistest.Single(t)
	server.MustDo("ACL", "SETUSER", "default", "resetkeys", "~weir:1:{mine:*")
	client := newClient(t, server.Addr())
	client.AddHook(new(wrapper))
	s := newStoreWith(t, client, remote.Config{SingleServer: true, Patience: patiently})
	p := weir.TokenBucket{Limit: 100, Per: 1000 * time.Hour}
	mine, others := newLimiter(t, s, p, "mine"), newLimiter(t, s, p, "others")
	together(t, client, s, 20, 1, func() {}, func(i int) {
		if i%2 == 0 {
			take(t, mine, fmt.Sprint(i), 1)
			return
		}
		_, err := others.Take(context.Background(), fmt.Sprint(i), 1)
		assert.ErrorContains(t, err, "hook: NOPERM")
	})
}
