// Package remote is the common part of the stores of all clients. It decides which commands are
// sent together, how many may be in flight, and how long a decision may take. Package script makes
// the commands.
//
// rueidisstore and valkeystore are modules of their own. A user can have an older release of one of
// them beside a newer one of this package: do not change what is here, but add to it.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/redisstore/internal/script"
)

// Errors of decisions that failed. They are wrapped.
var (
	ErrNoReply = casstore.ErrNoReply
	ErrBusy    = casstore.ErrBusy
)

// Config is the Options of a store, and what its tests set. The zero value of every field stands
// for the default.
type Config struct {
	Prefix       string
	MaxKeyLen    int
	Timeout      time.Duration
	MaxInFlight  int
	SingleServer bool

	Clock    func() int64  // for tests, see script.Config
	Skew     time.Duration // for tests, see script.Config
	Patience time.Duration // for tests: how long a flight delays others
}

// A Driver is a client.
type Driver struct {
	Package string // the name of the driver's package, for messages
	Client  any    // must not be nil

	// Send sends commands in one go, each once, and sets their replies and errors.
	//
	// If the commands are for a single call, the context has the values of that call's context. It
	// ends when the last caller has stopped waiting for the commands. Commands that were not sent
	// before need not be sent.
	Send func(context.Context, []*Command)

	// Pipelines reports that it is useful to send several commands in one go: they all go to one
	// server, or the client sends them on one by one.
	Pipelines bool

	// MaxOut, if above 0, is the number of calls of Send that can run at once. Further calls wait
	// for one.
	MaxOut int

	// Endless reports that a sent command takes up room in the client until it ends, even if the
	// client stops waiting for it. The command must count as in flight until then, and so the
	// client must wait for its end. The context therefore has no deadline, and its Done channel is
	// never closed. Only its Err shows that it has ended.
	Endless bool

	// NoReply, if not nil, is called when there was no reply in time.
	NoReply func()
}

// A Command is a call with its reply or error.
type Command struct {
	script.Call
	InFull bool // send the script, not its hash

	Reply   string
	Err     error
	Unknown bool // Err means that the server doesn't know the script
	Refused bool // Err means that the client may not use a key, or must use it elsewhere

	merged
}

// Set sets the reply or the error of a command. is reports whether err is an error of the server
// that begins with a word, which may be empty.
func (c *Command) Set(reply string, err error, is func(word string) bool) {
	if c.Reply, c.Err = reply, err; err != nil && is("") {
		c.Err = script.OfReply(err)
	}
	c.Unknown = err != nil && is("NOSCRIPT")
	c.Refused = err != nil && (is("NOPERM") || is("CROSSSLOT"))
}

// A Store is a [weir.Store]. It is safe for concurrent use.
type Store struct {
	driver  Driver
	engine  *script.Engine
	timeout time.Duration
	merges  bool // commands that differ only in their key are sent as one
	queue   *queue
	calls   sync.Pool // *call values to use again
}

// New returns a Store. The error lists all faults of the driver and the options.
func New(d Driver, c Config) (*Store, error) {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("weir: "+d.Package+"."+format, args...))
	}
	if v := reflect.ValueOf(d.Client); d.Client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		fault("New without a client")
	}
	if c.MaxKeyLen < 0 {
		fault("Options.MaxKeyLen is %d, must be at least 0", c.MaxKeyLen)
	}
	if c.Timeout < 0 {
		fault("Options.Timeout is %v, must be at least 0", c.Timeout)
	}
	if c.MaxInFlight < 0 {
		fault("Options.MaxInFlight is %d, must be at least 0", c.MaxInFlight)
	}
	if c.SingleServer && !d.Pipelines {
		fault("Options.SingleServer with a %T, must be the client of a single server", d.Client)
	}
	keys, err := script.NewKeys(cmp.Or(c.Prefix, script.DefaultPrefix), cmp.Or(c.MaxKeyLen, script.DefaultMaxKeyLen))
	if err != nil {
		fault("Options.Prefix %w", err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	c.Timeout, c.MaxInFlight, c.Patience = cmp.Or(c.Timeout, time.Second), cmp.Or(c.MaxInFlight, 1024), cmp.Or(c.Patience, patience)
	s := &Store{driver: d, timeout: c.Timeout, merges: c.SingleServer, queue: newQueue(c.MaxInFlight)}
	s.queue.process = s.process
	if d.Pipelines {
		s.queue.maxFlights, s.queue.maxCalls, s.queue.patience = MaxFlights, MaxCalls, c.Patience
		if d.MaxOut > 0 {
			s.queue.maxOut = min(c.MaxInFlight, d.MaxOut)
		}
	}
	s.engine = script.NewEngine(script.Config{Keys: keys, Send: s.send, Budget: c.Timeout, Clock: c.Clock, Skew: c.Skew})
	s.calls.New = func() any { return newCall(s.timeout) }
	return s, nil
}

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	a, err := s.engine.Do(ctx, r)
	if err != nil {
		return weir.Answer{}, fmt.Errorf("%s: %w", s.driver.Package, err)
	}
	return a, nil
}

// The following methods are for tests.

// Waiting returns how many commands wait to be sent.
func (s *Store) Waiting() int { return s.queue.length() }

// Engine returns the engine that makes the commands.
func (s *Store) Engine() *script.Engine { return s.engine }
