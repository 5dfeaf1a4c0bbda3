// Package redisstore keeps the states of limiters in Redis, or Valkey. All processes that use the
// same server share their limits:
//
//	store, err := redisstore.New(redis.NewClient(&redis.Options{Addr: addr}), redisstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even if they belong to different services that use the same server.
//
// A decision is made in one of two ways:
//
//   - With a script on the server, for TokenBucket, LeakyBucket, FixedWindow, SlidingWindow and
//     SlidingLog. A decision is one command for one key.
//   - In the process, for any other policy: CalendarWindow, composed policies, and those of other
//     packages. The store reads the state, and replaces it if no other process has changed it. This
//     takes two commands for a grant, and one for a denial. Concurrent callers of the same key
//     share these commands. The store also decides in this way on limits whose numbers Lua would
//     round, such as a window that is not a whole number of microseconds. After a change of policy,
//     it does so until only one policy of the key still counts.
//
// The store reads the time from the Redis server, in microseconds. The answers are exactly the
// policy's answers at that instant. The clocks of the processes don't matter. If another server
// takes over, its clock may be behind the clock of the server before it. If it is behind by more
// than 100 ms, states continue by the new clock. A key is then denied at most 100 ms longer than a
// key that has just used up its limit. For a policy with windows, compare with a key that used up
// its limit at the start of its window.
//
// The server must be Redis 5 or later, or Valkey. It must allow the client these commands:
//
//   - EVALSHA, EVAL, DEL, GET, SET, GETRANGE, SETRANGE, PEXPIRE and TIME on the keys, see Prefix in
//     [Options]
//   - in a Cluster also ASKING, CLUSTER SLOTS and COMMAND
//
// The server's C type long must have 64 bits. In builds for 32-bit processors, and in old builds
// for Windows, it has fewer bits. With such a server, each decision fails with an error.
package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A Client sends commands. The clients of go-redis are Clients: *[redis.Client], including one for
// a failover with Sentinel, *[redis.ClusterClient], *[redis.Ring] and [redis.UniversalClient]. A
// [redis.Pipeliner] is not suitable: it keeps commands until they are executed by another call.
// A Ring moves the keys of a lost server to other servers, where they start with a full allowance.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A Store is a [weir.Store] in Redis. [New] makes it. It is safe for concurrent use by any number
// of limiters with any policies. It has no goroutine while no command is in flight, and need not be
// closed. It does not close the client.
//
// A command that may have been executed is never sent again, whatever retries the client is
// configured for. No event counts twice. After [ErrBusy], no events were counted. After any other
// error, events may or may not have been counted.
//
// A decision returns when its context ends, even while the client still waits. It returns after the
// Timeout in [Options] at the latest. That is one second by default.
//
// With a *[redis.Client], commands that come while others are in flight are collected, and sent
// together as a pipeline. If several of these commands ask for one event each of the same key,
// under equal policies, they become one command. A hot key therefore costs the server little. Each
// caller gets the answer that it would have got alone.
//
// If a pipeline is in flight for more than a millisecond, it no longer delays others: the next one
// is sent by another connection. This happens if Redis is far away, or if a connection hangs. Up to
// 64 commands are in flight for each connection of the pool, see also MaxInFlight in [Options]. If
// a pipeline gets no reply, all its callers get the error.
//
// A hook of the client sees pipelines. The context that a hook gets has the values of a caller only
// if the command is sent alone. If a hook panics, the decisions for which it was called fail with
// an error that reports the panic. With a cluster or a ring, each command is sent alone, because a
// pipeline would wait for all servers of the cluster or ring. See also SingleServer in [Options].
type Store struct {
	remote *remote.Store
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands by client. The error lists all faults of the
// arguments.
func New(client Client, o Options) (*Store, error) { return open(client, o.config()) }

func open(client Client, c remote.Config) (*Store, error) {
	s := &sender{client: client}
	d := remote.Driver{Package: "redisstore", Client: client, Send: s.send, NoReply: s.reloadTopology}
	if one, ok := client.(*redis.Client); ok && one != nil {
		d.Pipelines, d.MaxOut = true, one.Options().PoolSize
	}
	if cluster, ok := client.(interface{ ReloadState(context.Context) }); ok {
		s.reload = cluster.ReloadState
	}
	r, err := remote.New(d, c)
	if _, ok := client.(redis.Pipeliner); ok {
		err = errors.Join(fmt.Errorf("weir: redisstore.New with a %T, must be a client that sends each command at once, such as "+
			"a *redis.Client, a *redis.ClusterClient or a *redis.Ring", client), err)
	}
	if err != nil {
		return nil, err
	}
	return &Store{remote: r}, nil
}

// Accept implements [weir.Acceptor]. It refuses a limiter without [weir.WithName].
func (s *Store) Accept(l *weir.KeyedLimiter) error { return weir.AcceptNamed(l) }

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.remote.Do(ctx, r)
}
