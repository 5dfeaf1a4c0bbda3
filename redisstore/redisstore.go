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
// would round, such as a SlidingWindow of more than 50,000 a day.
//
// Time is that of the Redis server, in microseconds. The answers are those that the policy gives at that
// instant, exactly; the clocks of the processes don't matter. If a server takes over whose clock is
// behind by more than 100 ms, states go on by its clock: a key is denied no longer than if it had been
// used up just then.
//
// The server must be Redis 5 or later, or Valkey, and allow the client EVALSHA, EVAL, DEL, GET, SET, GETRANGE,
// SETRANGE, PEXPIRE and TIME on the keys; see [WithPrefix].
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/script"
)

// A Client sends commands. Those of go-redis are Clients: *[redis.Client], also one for a failover with
// Sentinel, *[redis.ClusterClient], *[redis.Ring] and [redis.UniversalClient].
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Errors of decisions that were not made. They are wrapped.
var (
	// ErrNoReply means that there was no reply within the time allowed. Whether the events were counted is
	// not known.
	ErrNoReply = errors.New("no reply from Redis in time")

	// ErrBusy means that this command was not sent, because those before it were still under way when its
	// time was over. Nothing was counted.
	ErrBusy = errors.New("commands before this one are still under way to Redis")
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
// pipeline. A hook of the client sees that, and a context that has the values of a caller only where
// the command is sent alone. A cluster or a ring is sent each command alone: with others, it would wait
// for their servers, too.
type Store struct {
	client   Client
	pipeline func() redis.Pipeliner // nil if each command is sent alone
	engine   *script.Engine
	timeout  time.Duration
	queue    *queue
	calls    sync.Pool // of *call

	reload   func(context.Context) // asks a cluster for its topology; nil for other clients
	reloaded atomic.Int64          // when it was last called
}

var _ weir.Store = (*Store)(nil)

// New returns a Store that sends its commands by client. An error names every fault of the options.
func New(client Client, opts ...Option) (*Store, error) {
	c := config{
		prefix: script.DefaultPrefix, maxKeyLen: script.DefaultMaxKeyLen,
		timeout: time.Second, maxInFlight: 1024,
	}
	var err error
	if v := reflect.ValueOf(client); client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		err = errors.New("weir: redisstore.New without a client")
	}
	for _, opt := range opts {
		if opt == nil {
			opt = func(*config) error { return errors.New("weir: redisstore.New with a nil Option") }
		}
		err = errors.Join(err, opt(&c))
	}
	keys, keyErr := script.NewKeys(c.prefix, c.maxKeyLen)
	if err = errors.Join(err, keyErr); err != nil {
		return nil, err
	}
	s := &Store{client: client, timeout: c.timeout, queue: newQueue(c.maxInFlight)}
	s.queue.process = s.process
	if client, ok := client.(*redis.Client); ok {
		s.pipeline = client.Pipeline
		s.queue.maxFlights, s.queue.maxCalls = maxFlights, maxCalls
	}
	s.engine = script.NewEngine(script.Config{Keys: keys, Send: s.send, Budget: c.timeout, Clock: c.clock})
	s.calls.New = func() any { return newCall(s.timeout) }
	if cluster, ok := client.(interface{ ReloadState(context.Context) }); ok {
		s.reload = cluster.ReloadState
	}
	return s, nil
}

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := s.engine.Do(ctx, r)
	if err != nil {
		return weir.Answer{}, fmt.Errorf("redisstore: %w", err)
	}
	return a, nil
}
