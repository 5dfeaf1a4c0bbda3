// Package redisstore keeps the states of limiters in Redis, or Valkey, so that all processes that use it
// share their limits:
//
//	store, err := redisstore.New(redis.NewClient(&redis.Options{Addr: addr}))
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second}, weir.WithStore(store))
//
// TokenBucket, LeakyBucket, FixedWindow, SlidingWindow and SlidingLog are decided on by a script next to
// the data: a decision is one command for one key. Any other policy, CalendarWindow, those that are composed
// and those of other packages, is decided on in the process, by reading the state and replacing it if no one
// else has; that is two commands for a grant, and one for a denial. So are limits whose numbers Lua
// would round, such as a window of so many nanoseconds that are no whole number of microseconds.
//
// Time is that of the Redis server, in microseconds. The answers are those that the policy gives at that
// instant, exactly; the clocks of the processes don't matter. If a server takes over whose clock is
// behind by more than 100 ms, states go on by its clock: a key is denied no longer than if it had been
// used up just then.
//
// The server must be Redis 5 or later, or Valkey, and allow the client EVALSHA, EVAL, DEL, GET, SET, GETRANGE,
// SETRANGE, PEXPIRE and TIME on the keys, see [WithPrefix]; in a Cluster also ASKING, CLUSTER SLOTS and
// COMMAND. Its C type long must have 64 bits, or each decision is an error: it has not in builds for 32-bit
// processors, nor in old ones for Windows.
package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A Client sends commands. Those of go-redis are Clients: *[redis.Client], also one for a failover with
// Sentinel, *[redis.ClusterClient], *[redis.Ring] and [redis.UniversalClient]. A [redis.Pipeliner] is none, for it
// keeps commands until others send them.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Errors of decisions that were not made. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the time allowed. Whether the events were counted is
	// not known.
	ErrNoReply = remote.ErrNoReply

	// ErrBusy means that this command was not sent, because those before it were still under way when its
	// time was over. Nothing was counted. It comes with [weir.ErrRequest] where others of this process were
	// deciding on the same key for so long, by a policy without a script.
	ErrBusy = remote.ErrBusy
)

// A Store is a [weir.Store] in Redis. It is made by [New], and safe for concurrent use, by any number of
// limiters with any policies. It has no goroutine while no command is under way, and needs no
// closing; the client belongs to the caller.
//
// A command is sent once, and never again where it may have been executed, whatever the client is
// configured to retry. So no event is counted twice. After an error it is not known whether events
// were counted, except that [ErrBusy] means they were not.
//
// A decision returns when its context ends, even while the client still waits, and fails after a second
// at the latest; see [WithTimeout].
//
// With a *[redis.Client], commands of callers who come while others' are under way are sent together, as a
// pipeline; and where several of them ask for one event of the same key, they are one command, so that a
// hot key costs the server little. Each gets the answer that it would have got alone. A pipeline that is
// out for more than a millisecond, because Redis is far away or a connection hangs, holds up no other: the
// next one leaves, by another connection. If a pipeline gets no reply, all its callers get the error.
//
// A hook of the client sees pipelines, and a context that has the values of a caller only where the
// command is sent alone. If a hook panics, those decisions fail with an error that says so. A cluster
// or a ring is sent each command alone: with others, it would wait for their servers, too. See also
// [WithSingleServer].
type Store struct {
	remote   *remote.Store
	limiters weir.Limiters
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands by client. An error names every fault of the options.
func New(client Client, opts ...Option) (*Store, error) {
	s := &sender{client: client}
	d := remote.Driver{Package: "redisstore", Client: client, Send: s.send, NoReply: s.reloadTopology}
	if c, ok := client.(*redis.Client); ok && c != nil {
		d.Pipelines, d.MaxOut = true, c.Options().PoolSize
	}
	if cluster, ok := client.(interface{ ReloadState(context.Context) }); ok {
		s.reload = cluster.ReloadState
	}
	r, err := remote.New(d, opts)
	if _, ok := client.(redis.Pipeliner); ok {
		err = errors.Join(fmt.Errorf("weir: redisstore.New with a %T, must be a client that sends each command at once, such as "+
			"a *redis.Client, a *redis.ClusterClient or a *redis.Ring", client), err)
	}
	if err != nil {
		return nil, err
	}
	return &Store{remote: r}, nil
}

// Accept implements [weir.Acceptor].
func (s *Store) Accept(l *weir.Keyed) error { return s.limiters.Accept(l) }

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.remote.Do(ctx, r)
}
