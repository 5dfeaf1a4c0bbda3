// Package casstore makes a [weir.Store] of anything that can compare and swap: a database, a cache,
// a key-value service. Write a [Register] of three methods, and hand it to [New]:
//
//	store := casstore.New(register, casstore.Options{})
//	limiter, err := weir.New(policy, weir.WithStore(store), weir.WithName("logins"))
//
// The store keeps one value for each key of a limiter. To decide, it reads the value and lets the
// policy decide. If the decision changes the value, as a grant does, the store swaps the new value
// for the old one. If another process has changed the value meanwhile, the store tries again. The
// package does the rest of what a Store must do:
//
//   - Callers of one process that ask for the same key at the same time share the round trips. One
//     goroutine reads the value, decides for all of them in the order of their arrival, and swaps
//     once.
//   - Values name their policies. After a change of policy the old counts still count, see
//     [weir.Ledger].
//   - Values are checked when they are read. If a value is not one that a store writes, decisions
//     on its key return an error that wraps [weir.ErrRequest]. An empty value counts as no value.
//   - By default, keys are short, and consist of characters that every server allows: see [Key].
//   - A caller gets an error when its context ends, even if the Register still waits.
//
// If the server can run code that decides for some policies, let it do so, and use [Store.Do] for
// all other policies. If that code finds a value on which it cannot decide, use [Store.DoFrom].
package casstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// A Register holds values by key, and replaces a value if it is still the one that was read. You
// write it for your database, and check it with package registertest. It must be safe for
// concurrent use.
//
// The rules:
//
//   - Get sees every Swap and Delete of the key that ended before Get began, in any process. Do not
//     read from a replica that lags behind.
//   - Swap and Delete are atomic. Of several Swaps of the same old Entry at the same time, at most
//     one succeeds.
//   - A Swap or Delete is sent to the server once. If it may have been executed, the Register does
//     not send it again: events would count twice, or newer counts would be deleted.
//   - A key keeps its value for at least the argument keep of the Swap, unless another Swap or a
//     Delete comes first. It may keep the value longer. An expired value does no harm.
//   - An error that wraps [weir.ErrRequest] means that the server works, but has not executed the
//     request. Any other error means that the server failed. If a key has no value, or another
//     value than the old one, that is not an error.
//   - A method returns soon after its context has ended. If the server's client ignores contexts,
//     give the client a timeout. Callers whose contexts have ended return even if the method has
//     not. Later decisions of the same Store on the key wait until a Get or Swap returns. They do
//     not wait for a Delete.
//   - If a method panics, the callers that wait for it get an error that says so.
//
// The context that a method gets has no deadline. It ends when all callers that wait for the method
// have left. It has the values of one caller's context.
type Register interface {
	// Get returns what the key holds.
	Get(ctx context.Context, key string) (Entry, error)

	// Swap replaces the value of the key by value if the key still holds old, and reports whether
	// it did. old is an Entry that Get or Swap returned for the key, or that [Store.DoFrom] got. To
	// find out whether the key still holds it, Swap compares old.Version, or old.Value.
	//
	// Swap returns what the key holds afterwards, whether or not it replaced the value, if the
	// server's reply says so. This can save the store a Get. Otherwise Swap returns the zero Entry.
	//
	// The server may forget the value after keep, but not before. keep is [weir.Never], or a whole
	// number of milliseconds above 0. If the server counts in larger units, round keep up. With
	// weir.Never the value must not be forgotten.
	//
	// value is never empty, and is not changed after the call.
	Swap(ctx context.Context, key string, old Entry, value []byte, keep time.Duration) (now Entry, ok bool, err error)

	// Delete removes the value of the key, whatever it is. If the key has no value, that is not an
	// error.
	Delete(ctx context.Context, key string) error
}

// An Entry is what a key of a [Register] holds.
type Entry struct {
	// Value is what Swap wrote. It is empty if the key has no value. Nobody may change its bytes.
	Value []byte

	// Version is for the Register alone, for example the number of a revision. The Register finds
	// it in the old Entry that Swap gets. A key without a value may have a Version, too. Such a
	// Version may change by itself, for example when the mark of a Delete expires. A Swap of the
	// old Entry then reports false, and the Store decides again.
	//
	// A Version must never come back for the same key with another value, even if the key is
	// deleted and written again in between. A random number of 64 bits is suitable. A sequence of
	// the database is suitable, too, unless it can repeat numbers after a crash or a failover. A
	// counter that starts at 1 with each new row is not suitable.
	Version any

	// Now is the time of the server when it read or wrote the value. It is zero if the server does
	// not report its time. Decisions then use the clock of the limiter: synchronize the clocks of
	// the processes. Values are kept for five seconds longer, because these clocks may still
	// differ.
	Now time.Time
}

// Options determine how a [Store] behaves. The zero value of every field is a good default.
type Options struct {
	// Timeout is the longest time that a decision takes; 0 means one second. It is real time,
	// whatever clock a limiter has.
	Timeout time.Duration

	// Key returns the key in the Register for a key of the limiter called name; nil means the
	// function [Key]. It must never return the same key for different pairs of name and key.
	// Several goroutines may call it at once.
	Key func(name, key string) string
}

// Errors of decisions that failed. They are wrapped.
var (
	// ErrNoReply means that there was no decision within the timeout. The error's text says whether
	// the events may have been counted. The error also wraps [weir.ErrRequest] if the server works,
	// and other requests for the key used up the time. The server works if it has replied during
	// the call at least as often as one decision needs, and is not silent now. ErrNoReply has a
	// method Timeout that returns true, like timeouts of package net.
	ErrNoReply error = noReply{}

	// ErrBusy means that other requests for the key came first, until the timeout had passed, the
	// caller's context had ended, or 100 attempts to swap had been lost to other processes. Nothing
	// was counted. The server works, and the error also wraps [weir.ErrRequest].
	ErrBusy = errors.New("other requests came first all the time")
)

type noReply struct{}

func (noReply) Error() string { return "no reply from the server in time" }

func (noReply) Timeout() bool { return true }

// A Store is a [weir.Store] on a [Register]. [New] makes it. It is safe for concurrent use by any
// number of limiters with any policies. It has goroutines only while decisions or calls of the
// Register are under way, and need not be closed.
//
// If a Swap returns an error that does not wrap [weir.ErrRequest], it is not known whether the
// events were counted. The Store does not send the Swap again, so no request is counted twice. A
// caller whose context ends during the call gets an error that wraps the context's error. The error
// says whether the events may have been counted.
type Store struct {
	register Register
	timeout  time.Duration
	key      func(name, key string) string
	fault    error
	policies policies

	mu    sync.Mutex
	lines map[string]*line // of the keys that callers are asking for
}

var _ weir.Acceptor = (*Store)(nil)

// New returns a Store that keeps its values in r. If r is nil or an option is out of range,
// [weir.New] returns an error, and so does each decision.
func New(r Register, o Options) *Store {
	s := &Store{register: r, timeout: o.Timeout, key: o.Key, lines: make(map[string]*line)}
	if r == nil {
		s.fault = errors.New("weir: casstore.New with a nil Register, must be one")
	}
	if o.Timeout < 0 {
		s.fault = errors.Join(s.fault, fmt.Errorf("weir: casstore.Options.Timeout is %v, must be at least 0", o.Timeout))
	}
	if s.timeout == 0 {
		s.timeout = time.Second
	}
	if s.key == nil {
		s.key = Key
	} else {
		// Its result may be memory of the caller, and a decision may outlast the caller.
		s.key = func(name, key string) string { return strings.Clone(o.Key(name, key)) }
	}
	return s
}

// Accept implements [weir.Acceptor]. It refuses a limiter without [weir.WithName].
func (s *Store) Accept(l *weir.KeyedLimiter) error {
	if s.fault != nil {
		return s.fault
	}
	return weir.AcceptNamed(l)
}

// Do implements [weir.Store].
func (s *Store) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	return s.DoFrom(ctx, r, nil, s.timeout)
}

// DoFrom is Do for a request for which a round trip was already made. For example, a script in the
// server has found a value on which it cannot decide itself.
//
// found is what the key held in that round trip. The first attempt then needs no Get, if no other
// caller asks for the key at the same time. A nil found means that the content is not known. within
// is how long the decision may take from now on, in place of the timeout. If within is 0 or less,
// DoFrom usually returns an error that wraps [ErrNoReply] at once.
func (s *Store) DoFrom(ctx context.Context, r weir.Request, found *Entry, within time.Duration) (weir.Answer, error) {
	if s.fault != nil {
		return weir.Answer{}, s.fault
	}
	if err := ctx.Err(); err != nil {
		return weir.Answer{}, err
	}
	c := newCall(ctx, r, found)
	if !r.Forget {
		c.policy = s.policies.of(r.Plan)
	}
	l := s.join(s.key(r.Name, r.Key), c)
	timer := time.NewTimer(within)
	defer timer.Stop()
	var cause error
	select {
	case <-c.done:
		return c.returns(r)
	case <-timer.C:
		cause = fmt.Errorf("%w: %v", ErrNoReply, within)
	case <-ctx.Done():
		cause = ctx.Err()
	}
	if err := l.leave(c, cause); err != nil {
		return weir.Answer{}, err
	}
	<-c.done // it has just been answered
	return c.returns(r)
}
