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
// The policy determines how a decision is made:
//
//   - By a script on the server, for TokenBucket, LeakyBucket, FixedWindow, SlidingWindow and
//     SlidingLog. A decision usually takes one command.
//   - In the process, for all other policies: CalendarWindow, All, Tiers, the markers, and policies
//     of other packages. The store reads the state of the key and decides. If the decision changes
//     the state, as a grant does, the store replaces it. If the state has changed after the read,
//     the store decides again. A grant usually takes two commands, and a denial one. Calls to one
//     Store for the same key at the same time can share these commands.
//
// For the policies with a script, too, the process sometimes decides. The main cases are a change
// of the policy, and numbers in the limit or the request that are too large or too fine for a
// script. See docs/redis.md, under "Policies without a script".
//
// The store decides by the time of the Redis server, in microseconds, and not by the clocks of the
// processes. The answers are exactly the policy's answers at that instant, unless the policy
// changes, the server loses states, or its clock steps back. If another server takes over, its
// clock may be behind the clock of the server before it. A key without a debt and without bookings
// ahead is then denied for at most 100 ms longer than a key whose limit is used up.
//
// The server must be Redis 5 or later, or Valkey. It must allow the client these commands:
//
//   - TIME
//   - EVALSHA, EVAL, DEL, GET, SET, GETRANGE, SETRANGE and PEXPIRE on the keys that begin with the
//     Prefix in [Options]
//   - in a Cluster also ASKING, CLUSTER SLOTS and COMMAND
//   - SELECT if the client uses another database than 0
//   - PING if the client is a Ring
//
// The server's C type long must have 64 bits. It has fewer in builds for 32-bit processors and in
// old builds for Windows: each decision then fails with an error.
package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A Client sends commands. It can be a client of go-redis: a *[redis.ClusterClient], a
// *[redis.Ring], a [redis.UniversalClient], or a *[redis.Client], also for a failover with
// Sentinel. If a server is lost, a Ring moves the server's keys, without their counts, to other
// servers. [New] refuses a [redis.Pipeliner], because a Pipeliner keeps commands until another call
// executes them.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A Store is a [weir.Store] in Redis. [New] makes it. It is safe for concurrent use by any number
// of limiters with any policies. It has goroutines only while callers wait, or commands are in
// flight. It need not be closed, and does not close the client.
//
// A command that may have been executed is never sent again, even if a client of go-redis is
// configured to retry. The events of one call never count twice. After [ErrBusy], nothing was
// counted. After any other error, the events may have been counted, unless the text of the error
// says that nothing was counted.
//
// Allow and Take return within the Timeout in [Options], by default one second. Take also returns
// when its context ends. The client may then still wait for a reply.
//
// With a *[redis.Client], the Store can collect commands while others are in flight, and send them
// together as a pipeline. Calls of Allow, and of Take for one event, share a command of the
// pipeline if they have the same key, and equal policies with a script. A hot key therefore costs
// the server little. Each caller gets the answer that it would have got alone.
//
// If a pipeline gets no reply within a millisecond, for example because Redis is far away, the
// Store sends the next pipeline by another connection, if the pool has one. Up to 64 commands are
// in flight for each connection of the pool, and up to MaxInFlight in all, see [Options]. If a
// pipeline gets no reply at all, all its callers get the error.
//
// A hook of the client may see pipelines. The context that it gets may lack the values of the
// callers' contexts, because several callers can share a command or a pipeline. If a hook panics,
// the decisions of its command or pipeline fail with an error that reports the panic.
//
// With any other [Client], such as that of a cluster or a ring, each command is sent alone.
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
