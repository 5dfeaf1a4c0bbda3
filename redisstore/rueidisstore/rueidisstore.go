// Package rueidisstore keeps the states of limiters in Redis, or Valkey, by the client rueidis:
//
//	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
//	…
//	store, err := rueidisstore.New(client)
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second}, weir.WithStore(store))
//
// It does what package redisstore does for go-redis, by the same scripts on the same keys. Processes may
// use either, and share their limits; see there for what is decided how, and by which clock. Here a
// decision makes two allocations in place of some ten, and in a Cluster, too, the commands of many
// goroutines are sent together. In exchange, all that was sent to a server that stalls is executed
// when it goes on, even if the callers have given up. Package valkeystore is the same for the client valkey-go.
//
// # Options of the client
//
// Leave ConnLifetime at zero. When a connection has reached its age, and a command on it gets no reply for
// another second, the client sends that command once more, and its events may be counted twice. No
// other option does that.
//
// In a Cluster, set ClusterOption.ShardsRefreshInterval to a second or so. By default the client asks for
// the masters when a connection was closed or refused, and so not while a master that is lost neither
// replies nor refuses; it takes such a connection for closed after ConnWriteTimeout and a second,
// which are eleven seconds if not set.
package rueidisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/remote"
)

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
// A command is sent once, and never again where it may have been executed. So no event is counted twice.
// After an error it is not known whether events were counted, except that [ErrBusy] means they
// were not.
//
// A decision returns when its context ends, even while the client still waits, and fails after a second
// at the latest; see [WithTimeout].
type Store struct {
	remote   *remote.Store
	limiters weir.Limiters
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands by client: one for a single server, for Sentinel, or for a
// Cluster. An error names every fault of the options.
func New(client rueidis.Client, opts ...Option) (*Store, error) {
	d := remote.Driver{Package: "rueidisstore", Client: client, Endless: true}
	d.Send = func(ctx context.Context, cmds []*remote.Command) { send(ctx, client, cmds) }
	// In a Cluster the client waits for the replies of all nodes before it returns any.
	d.Pipelines = client != nil && client.Mode() != rueidis.ClientModeCluster
	r, err := remote.New(d, opts)
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

// build makes a command such that the client does not send it again after an error that does not tell whether
// it was executed: it does so only with those that are built as ones that read, or that may be.
// An arbitrary one is neither.
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
		if s, ok := arg.(string); ok { // none after the first nil
			b = b.Args(s)
		}
	}
	return b.Build()
}

func set(c *remote.Command, result rueidis.RedisResult) {
	reply, _ := result.ToString() // or an error, or the number of a DEL
	c.Set(reply, result.Error(), func(word string) bool {
		e, ok := rueidis.IsRedisErr(result.Error())
		return ok && strings.HasPrefix(e.Error(), word)
	})
}

// An Option changes a store that [New] makes.
type Option func(*remote.Config)

// WithPrefix sets what all keys in Redis begin with; "weir" if not given. A key is
//
//	prefix:1:{name:key}
//
// with the name of the limiter, see [weir.WithName], and the key that it was asked for. Bytes of them that
// have a meaning there, or in a pattern, are written as % and two hexadecimal digits. The 1 changes
// when a release of this package can't read what those before have left.
//
// The prefix must be of printable ASCII, without spaces and the characters * ? [ ] { } % \, and the same for
// all who share limits.
func WithPrefix(prefix string) Option {
	return func(c *remote.Config) { c.Prefix = prefix }
}

// WithMaxKeyLen sets how long a key is kept as it is, in bytes, at least 1; 128 if not given. In place of
// a longer one, or of a longer name, stands its SHA-256. It must be the same for all who share limits.
func WithMaxKeyLen(n int) Option {
	return func(c *remote.Config) { c.MaxKeyLen = n }
}

// WithTimeout sets how long a decision may take, above 0; a second if not given. A deadline of the context that
// comes earlier counts. One that is over returns [ErrNoReply] while the client may still wait, or
// [ErrBusy] if the command was not even sent.
func WithTimeout(d time.Duration) Option {
	return func(c *remote.Config) { c.Timeout = d }
}

// WithMaxInFlight sets how many commands may be in flight, at least 1; 1024 if not given. A command whose caller has
// given up counts until the client gives it up, too. When all places are taken, callers wait for one. They get
// [ErrBusy] if none is free in time. A server that does not reply costs no more than that.
//
// The farther away Redis is, the more commands are in flight, up to this number. For d decisions a second over a
// round trip of t set at least d × t: 50,000 a second over 20 ms need 1,000.
func WithMaxInFlight(n int) Option {
	return func(c *remote.Config) { c.MaxInFlight = n }
}

// WithSingleServer tells that one server has all keys, and that the client, which must not be one of a Cluster,
// speaks to it: directly, by Sentinel, or through a proxy. Where others' commands are under way, callers who ask for
// different keys then share a script call, too; how much that saves is in docs/stores.md. Each gets the
// answer or the error that it would have got alone.
//
// Don't set it where a proxy divides keys between servers: one that goes by the first key of a command would have
// the others counted on a server that is not theirs, and so more granted than their limit.
func WithSingleServer() Option {
	return func(c *remote.Config) { c.SingleServer = true }
}
