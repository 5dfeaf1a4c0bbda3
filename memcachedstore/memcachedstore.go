// Package memcachedstore keeps the states of limiters in memcached. Processes that use the same
// servers can share limits:
//
//	client := memcache.New("10.0.0.5:11211")
//	client.MaxIdleConns = 100
//	store, err := memcachedstore.New(client, memcachedstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even if they belong to different services that use the same servers.
//
// The store runs every policy whose states fit into an item. It reads a key's item and decides in
// the process. For a grant, it then replaces the item. If another process has changed the item
// meanwhile, the store decides again: see package [github.com/weir-go/weir/casstore]. A grant
// usually takes two commands (gets, then cas or add), and a denial or a look (n = 0) usually one.
// Calls for the same key that one process makes at the same time share the commands.
//
// The store uses the clock of the limiter. Synchronize the clocks of the processes.
//
// memcached is a cache. It forgets all items when it is restarted, and may forget some when its
// memory is full. A forgotten key starts with a full allowance. docs/stores.md says what to set.
package memcachedstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A Client sends commands. It must be safe for concurrent use, as a [*memcache.Client] is. A Client
// that wraps a *memcache.Client, for example to trace it, must not send a CompareAndSwap or an Add
// again after an error: the server may have executed the first one, and events would count twice.
//
// All processes must send the commands for a key to the same server. docs/stores.md says how, if
// there are several servers.
type Client interface {
	Get(key string) (*memcache.Item, error)
	Add(item *memcache.Item) error
	CompareAndSwap(item *memcache.Item) error
	Delete(key string) error
}

var _ Client = (*memcache.Client)(nil)

// Options determine how a [Store] behaves. The zero value of every field is a good default.
type Options struct {
	// Timeout is the longest time that a decision takes; 0 means one second. An earlier deadline of
	// the context takes precedence.
	//
	// The client has a Timeout of its own, which ends each command. Set the client's Timeout to
	// less than this one. The client's default is 500 ms: a command may wait that long for the
	// connection, and again that long for the reply. When the time of a decision is over, its
	// caller returns. But later decisions on the same key wait until the command in flight ends.
	Timeout time.Duration
}

// A Store is a [weir.Store] in memcached. [New] makes it. It is safe for concurrent use by any
// number of limiters with any policies. It has goroutines only while commands are in flight, and
// need not be closed. It does not close the Client.
//
// A caller whose context ends returns at once. If a command that counts events returns an error,
// the events may have been counted. The Store does not send the command again, so no request is
// counted twice. If a decision takes longer than the Timeout in [Options], its error wraps
// [casstore.ErrNoReply]. If other requests for the key always came first, the error wraps
// [casstore.ErrBusy].
type Store struct {
	cas *casstore.Store
	reg *register
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its commands through client. New itself sends none. The error
// lists all faults of the arguments.
func New(client Client, o Options) (*Store, error) {
	var err error
	if c, ok := client.(*memcache.Client); client == nil || ok && c == nil {
		err = errors.New("weir: memcachedstore.New with a nil Client, must be one")
	}
	if o.Timeout < 0 {
		err = errors.Join(err, fmt.Errorf("weir: memcachedstore.Options.Timeout is %v, must be at least 0", o.Timeout))
	}
	if err != nil {
		return nil, err
	}
	r := &register{client}
	return &Store{casstore.New(r, casstore.Options{Timeout: o.Timeout}), r}, nil
}

// Accept implements [weir.Acceptor].
func (s *Store) Accept(l *weir.KeyedLimiter) error { return s.cas.Accept(l) }

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.cas.Do(ctx, r)
}
