// Package remote is what the stores have in common, whatever client sends their commands: which of them are sent
// together, how many may be under way, and how long a decision may take. What the commands are is
// the business of package script.
package remote

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/redisstore/internal/script"
)

// Errors of decisions that were not made. They are wrapped.
var (
	ErrNoReply = errors.New("no reply from Redis in time")
	ErrBusy    = script.ErrBusy
)

// Config is what options set.
type Config struct {
	Prefix       string
	MaxKeyLen    int
	Timeout      time.Duration
	MaxInFlight  int
	SingleServer bool

	Clock    func() int64  // of tests, see script.Config
	Skew     time.Duration // of tests, likewise
	Patience time.Duration // of tests: for how long a flight holds up others
}

// A Driver is a client.
type Driver struct {
	Package string // whose driver it is, for messages
	Client  any    // must not be nil

	// Send sends commands in one go, and sets what they come to. It sends each once.
	//
	// The context has the values of the caller's, if it is one. It ends when nobody waits for the commands any
	// more. Those that were not sent yet need not be then.
	Send func(context.Context, []*Command)

	// Pipelines tells that it is useful to send several commands in one go: they all go to one server, or the
	// client sends them on one by one.
	Pipelines bool

	// MaxOut, if above 0, is how often Send can be under way at once before one waits for another.
	MaxOut int

	// Endless tells that commands that were sent take up room in the client until their end, even if it stops
	// waiting for them. So that they count as under way as long, it is to wait: the context has no
	// deadline, and is never done, though it has an error at its end.
	Endless bool

	// NoReply, if not nil, is called when there was no reply in time.
	NoReply func()
}

// A Command is a call, and what it comes to.
type Command struct {
	script.Call
	InFull bool // the script is to be sent, not its hash

	Reply   string
	Err     error
	Unknown bool // Err is that the server doesn't know the script
	Refused bool // Err is that the client may not use a key, or must use it elsewhere

	merged
}

// Set tells what a command came to. is tells whether err is an error of the server's that begins with a word.
func (c *Command) Set(reply string, err error, is func(word string) bool) {
	c.Reply, c.Err = reply, err
	c.Unknown = err != nil && is("NOSCRIPT")
	c.Refused = err != nil && (is("NOPERM") || is("CROSSSLOT"))
}

// A Store is a [weir.Store]. It is safe for concurrent use.
type Store struct {
	driver  Driver
	engine  *script.Engine
	timeout time.Duration
	merges  bool // commands that differ in their key alone are sent as one
	queue   *queue
	calls   sync.Pool // of *call
}

// New returns a Store. An error names every fault of the options.
func New[Option ~func(*Config)](d Driver, opts []Option) (*Store, error) {
	c := Config{Prefix: script.DefaultPrefix, MaxKeyLen: script.DefaultMaxKeyLen, Timeout: time.Second, MaxInFlight: 1024, Patience: patience}
	var err error
	fault := func(format string, args ...any) {
		err = errors.Join(err, fmt.Errorf("weir: "+d.Package+"."+format, args...))
	}
	if v := reflect.ValueOf(d.Client); d.Client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		fault("New without a client")
	}
	for _, opt := range opts {
		if opt == nil {
			fault("New with a nil Option")
			continue
		}
		opt(&c)
	}
	if c.Timeout <= 0 {
		fault("WithTimeout is %v, must be above 0", c.Timeout)
	}
	if c.MaxInFlight < 1 {
		fault("WithMaxInFlight is %d, must be at least 1", c.MaxInFlight)
	}
	if c.SingleServer && !d.Pipelines {
		fault("WithSingleServer with a %T, must be the client of a single server", d.Client)
	}
	keys, keyErr := script.NewKeys(c.Prefix, c.MaxKeyLen)
	if err = errors.Join(err, keyErr); err != nil {
		return nil, err
	}
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

// What follows is for tests.

// Waiting is how many commands wait to be sent.
func (s *Store) Waiting() int { return s.queue.length() }

// Engine is what makes the commands.
func (s *Store) Engine() *script.Engine { return s.engine }
