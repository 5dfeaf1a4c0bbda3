// Package natsstore keeps the states of limiters in a key-value bucket of NATS JetStream. Processes
// that use the same bucket can share limits:
//
//	js, err := jetstream.New(conn)
//	…
//	store, err := natsstore.New(js, natsstore.Options{})
//	…
//	limiter, err := weir.New(weir.TokenBucket{Limit: 100, Per: time.Second},
//		weir.WithStore(store), weir.WithName("search"))
//
// Give each limiter a name: without one, [weir.New] returns an error. Limiters of the same name
// share their keys, even if they belong to different services that use the same bucket.
//
// The bucket must exist. It must keep one value for each key, and let each key expire at its own
// time. Make it as the example does, and check it with [Store.Check]. A bucket with a
// LimitMarkerTTL may rarely forget a count. The server must have version 2.11 or later.
//
// The store runs every policy. It reads a key's value and decides in the process. For a grant, it
// then replaces the value. If another process has changed the value meanwhile, the store decides
// again: see package [github.com/weir-go/weir/casstore]. A grant usually takes two requests to the
// server, or one if the call waited while the process got another grant for the key. A denial or a
// look (n = 0) usually takes one. Calls for the same key that one process makes at the same time
// share the requests.
//
// The store uses the clock of the limiter, because NATS does not report its time early enough for a
// decision. Synchronize the clocks of the processes.
package natsstore

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/natsstore/internal/bucket"
)

// A Store is a [weir.Store] in NATS JetStream. [New] makes it. It is safe for concurrent use by any
// number of limiters with any policies. It has goroutines only while requests are in flight, and
// need not be closed. It does not close the connection.
//
// If a request that counts events returns an error, the events may have been counted. The Store
// does not send the request again, so no request is counted twice. If a decision takes longer than
// the Timeout in [Options], its error wraps [casstore.ErrNoReply]. If other requests for the key
// always came first, the error wraps [casstore.ErrBusy].
//
// While the connection is down, decisions send nothing. They wait for the connection, at most until
// the Timeout has passed or their context ends. Calls that book events or give them back, such as
// Reserve and Return, may go on for a while after that. If the connection breaks, decisions whose
// request is in flight fail at once.
type Store struct {
	cas     *casstore.Store
	reg     *bucket.Register
	timeout time.Duration
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that sends its requests through the connection of js. js may have a domain or
// a prefix. New itself sends no request. The error lists all faults of the arguments.
func New(js jetstream.JetStream, o Options) (*Store, error) {
	err := o.check()
	if js == nil {
		err = errors.Join(errors.New("weir: natsstore.New with a nil JetStream, must be one"), err)
	}
	if err != nil {
		return nil, err
	}
	r := bucket.New(js, o.bucket())
	return &Store{casstore.New(r, casstore.Options{Timeout: o.timeout()}), r, o.timeout()}, nil
}

// Check asks the server for the settings of the bucket. It returns an error if it cannot get them,
// for example because the bucket does not exist. It also returns an error if the store cannot rely
// on some of them, for example because the bucket could forget counts. The error lists all these
// settings.
//
// Call Check when the program starts. Until a check has succeeded, each decision begins with a
// check, and may return the check's error. Check takes at most the Timeout in [Options], as a
// decision does.
//
// Check does not find out whether the bucket has room, and does not notice later changes of the
// settings. It allows a LimitMarkerTTL, although a count may then be forgotten in a rare case.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.reg.Check(ctx)
}

// Accept implements [weir.Acceptor].
func (s *Store) Accept(l *weir.KeyedLimiter) error { return s.cas.Accept(l) }

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.cas.Do(ctx, r)
}
