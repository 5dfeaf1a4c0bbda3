// Package rueidisstore keeps the states of limiters in Redis, or Valkey, by the client rueidis:
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
//	…
//	store, err := rueidisstore.New(client, rueidisstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even in different services, if they use the same database of the server and the
// same Prefix in [Options].
//
// This package uses the same scripts and keys as package redisstore, which is for go-redis.
// Limiters that use one of these packages can share keys with limiters that use the other. The
// documentation of redisstore describes how a decision is made, the clock, and the requirements for
// the server. The differences from redisstore are:
//
//   - Allow makes two allocations if a script decides. With redisstore it makes about ten.
//   - The client can send commands of many goroutines together, also in a Cluster.
//   - The server must also allow the command PING, and need not allow COMMAND. If it allows only
//     what the store needs, the client needs some options: see docs/redis.md, under "Permissions".
//
// Package valkeystore is the same for the client valkey-go.
//
// # Options of the client
//
// Leave ConnLifetime at zero. Otherwise, if a connection has lasted for ConnLifetime and a reply
// does not come within another second, the client may send the command again. The events may then
// count twice.
//
// In a Cluster, set ClusterOption.ShardsRefreshInterval to about a second. By default, the client
// asks which servers are the masters only after an error, such as a closed connection or the reply
// MOVED. But the connection to a lost master may stay open, without any reply. The client then
// treats it as closed after ConnWriteTimeout, ten seconds by default, and a second or two more.
package rueidisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A Store is a [weir.Store] in Redis. [New] makes it. It is safe for concurrent use by any number
// of limiters with any policies. It has goroutines only while callers wait, or commands are in
// flight. It need not be closed, and does not close the client.
//
// If ConnLifetime of the client is zero, a command that may have been executed is never sent again,
// and the events of one call never count twice. After [ErrBusy], nothing was counted. After any
// other error, the events may have been counted, unless the text of the error says that nothing was
// counted.
//
// Allow and Take return within the Timeout in [Options], by default one second. Take also returns
// when its context ends. The client may then still wait for a reply.
type Store struct {
	remote *remote.Store
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands through client. The client can be for a single
// server, for Sentinel, or for a Cluster. The error lists all faults of the arguments.
func New(client rueidis.Client, o Options) (*Store, error) { return open(client, o.config()) }

func open(client rueidis.Client, c remote.Config) (*Store, error) {
	d := remote.Driver{Package: "rueidisstore", Client: client, Endless: true}
	d.Send = func(ctx context.Context, cmds []*remote.Command) { send(ctx, client, cmds) }
	// In a Cluster the client waits for the replies of all nodes before it returns any.
	d.Pipelines = client != nil && client.Mode() != rueidis.ClientModeCluster
	r, err := remote.New(d, c)
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

func send(ctx context.Context, client rueidis.Client, cmds []*remote.Command) {
	if len(cmds) == 1 {
		set(cmds[0], client.Do(ctx, build(client, cmds[0])))
		return
	}
	all := make([]rueidis.Completed, len(cmds))
	for i, c := range cmds {
		all[i] = build(client, c)
	}
	for i, result := range client.DoMulti(ctx, all...) {
		set(cmds[i], result)
	}
}

// build makes a command that the client does not send again after an error that leaves open whether
// it was executed. The client sends a command again only if it is built as reading, or as
// retryable. An arbitrary command is neither.
func build(client rueidis.Client, c *remote.Command) rueidis.Completed {
	if c.Script == nil {
		return client.B().Arbitrary("DEL").Keys(c.Key).Build()
	}
	keys := c.Keys()
	b := client.B().Arbitrary("EVALSHA", c.Script.SHA, strconv.Itoa(len(keys)))
	if c.InFull {
		b = client.B().Arbitrary("EVAL", c.Script.Source, strconv.Itoa(len(keys)))
	}
	b = b.Keys(keys...)
	for _, arg := range c.Args {
		if s, ok := arg.(string); ok { // no arguments follow a nil
			b = b.Args(s)
		}
	}
	return b.Build()
}

func set(c *remote.Command, result rueidis.RedisResult) {
	reply, _ := result.ToString() // no string if it is an error, or the number of a DEL
	c.Set(reply, result.Error(), func(word string) bool {
		e, ok := rueidis.IsRedisErr(result.Error())
		return ok && strings.HasPrefix(e.Error(), word)
	})
}
