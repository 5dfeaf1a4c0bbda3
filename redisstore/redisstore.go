// Package redisstore keeps the states of limiters in Redis, or Valkey. Processes that use the same
// server can share their limits:
//
//	store, err := redisstore.New(redis.NewClient(&redis.Options{Addr: addr}), redisstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even in different services, if they use the same database of the server and the
// same Prefix in [Options].
//
// A decision is made in one of two ways:
//
//   - With a script on the server, for TokenBucket, LeakyBucket, FixedWindow, SlidingWindow and
//     SlidingLog. This usually takes one command.
//   - In the process, for all other policies: CalendarWindow, All, Tiers, the markers, and policies
//     of other packages. The store reads the state, and replaces it if it is still the same.
//     Otherwise it starts again. This usually takes two commands for a grant, and one for a denial.
//     Callers of one Store that ask for the same key at the same time can share these commands.
//
// The process also decides for the first five policies mainly in two cases: the numbers of the
// limit or the request are too large or too fine for a script, or the policy was changed.
// docs/redis.md says when the second case ends, under "Policies without a script".
//
// The store decides by the time of the Redis server, in microseconds, and not by the clocks of the
// processes. The answers are exactly the policy's answers at that instant, unless the policy
// changes, the server loses states, or its clock steps back. If another server takes over, its
// clock may be behind the clock of the server before it. A key without a debt and without bookings
// ahead is then denied at most 100 ms longer than a key that has just used up its limit. For a
// policy with windows, compare with a key that used up its limit at the start of its window.
//
// The server must be Redis 5 or later, or Valkey. It must allow the client these commands:
//
//   - EVALSHA, EVAL, DEL, GET, SET, GETRANGE, SETRANGE and PEXPIRE on the keys that begin with the
//     Prefix in [Options], and TIME
//   - in a Cluster also ASKING, CLUSTER SLOTS and COMMAND
//   - SELECT if the client uses another database than 0
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
// a failover with Sentinel, *[redis.ClusterClient], *[redis.Ring] and [redis.UniversalClient].
// [New] refuses a [redis.Pipeliner]: it keeps commands until they are executed by another call. A
// Ring moves the keys of a lost server to other servers, which do not have the counts of that
// server.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A Store is a [weir.Store] in Redis. [New] makes it. It is safe for concurrent use by any number
// of limiters with any policies. It has goroutines only while callers wait, or commands are in
// flight. It need not be closed, and does not close the client.
//
// A command that may have been executed is never sent again, whatever retries a client of go-redis
// is configured for. The events of one call never count twice. After [ErrBusy], they were not
// counted. After any other error, they may have been counted, unless the text of the error says
// that nothing was counted.
//
// Allow and Take return at the latest when the Timeout in [Options] has passed, by default one
// second. Take also returns when its context ends. The client may still wait for a reply then.
//
// With a *[redis.Client], commands that come while others are in flight can be collected, and sent
// together as a pipeline. In a pipeline, commands for calls of Allow, or of Take for one event,
// become one command if they are for the same key, and by equal policies that have a script. A hot
// key therefore costs the server little. Each caller gets the answer that it would have got alone.
//
// If a pipeline is in flight for more than a millisecond, it no longer delays others: the next one
// is sent by another connection, if the pool has one. This happens if Redis is far away, or if a
// connection hangs. Up to 64 commands are in flight for each connection of the pool, and up to
// MaxInFlight in all, see [Options]. If a pipeline gets no reply, all its callers get the error.
//
// A hook of the client may see pipelines. The context that it gets may lack the values of the
// callers' contexts, because several callers can share a command or a pipeline. If the hook of a
// command or pipeline panics, the decisions for which it was called fail with an error that reports
// the panic.
//
// With any other [Client], such as that of a cluster or a ring, each command is sent alone. A
// pipeline would wait for all servers of the cluster or ring.
type Store struct {
	remote *remote.Store
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands through client. The error lists all faults of the
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
