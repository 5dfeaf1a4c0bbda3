// Package registertest checks most of the rules for a [casstore.Register]. It does not check what
// happens when the server or the network fails. If you write a Register, call [Run] from its tests:
//
//	func TestRegister(t *testing.T) {
//		registertest.Run(t, func(t *testing.T) casstore.Register { return newRegister(connect(t)) })
//	}
//
// Each case is a subtest. The cases are:
//
//	Model     a Swap succeeds if, and only if, the key still holds what was read
//	Race      of several Swaps of one old Entry at once, one succeeds
//	Delete    a deleted value is gone for all processes, and an old Entry of it cannot be swapped
//	Keys      different results of casstore.Key are different keys in the server
//	Values    any bytes come back as they were, and are not changed later
//	Keep      a value stays for at least the time keep of the Swap
//	Contexts  a call with an ended context returns, and so does the next one
//
// One of the values in the case Values has 100,000 bytes. If the server does not take values of
// that size, Swap must return an error that wraps [weir.ErrRequest].
//
// With a server that answers within a millisecond, the cases together take two or three seconds,
// and some 3,000 requests. When they pass, use package storetest to check the Store that
// [casstore.New] makes of your Register. Its options LostReplies and Hangs add faults.
package registertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-go/weir/casstore"
)

// Run runs all cases as subtests of t.
//
// open returns a Register of the server under test. It is called twice for each case. Both
// Registers must work on the same data, as the Registers of two processes do. Each case uses keys
// that nothing else uses. The server may therefore have other data, and need not be emptied.
func Run(t *testing.T, open func(t *testing.T) casstore.Register) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(newEnv(t.Context(), open(t), open(t))); err != nil {
				t.Fatal(err)
			}
		})
	}
}

type testCase struct {
	name string
	run  func(*env) error
}

var cases = []testCase{
	{"Model", model},
	{"Race", race},
	{"Delete", deletes},
	{"Keys", keys},
	{"Values", values},
	{"Keep", keep},
	{"Contexts", contexts},
}

// An env is what a case has: two Registers on the same data, and a name that no other case has.
type env struct {
	ctx      context.Context
	regs     [2]casstore.Register
	name     string
	patience time.Duration // how long a call may take whose context has ended
}

func newEnv(ctx context.Context, a, b casstore.Register) *env {
	name := fmt.Sprintf("registertest\r\n%x", rand.Uint64())
	return &env{ctx, [2]casstore.Register{a, b}, name, 30 * time.Second}
}

// key is a key of the case, as a Store would name it.
func (e *env) key(key string) string { return casstore.Key(e.name, key) }

// long is how long values are kept that must not expire during a case.
const long = time.Hour

// A held value is what Get must return.
type held []byte

func (want held) check(e casstore.Entry) error {
	if string(e.Value) != string(want) {
		return fmt.Errorf("the key holds %s, want %s", short(e.Value), short(want))
	}
	return nil
}

// get returns what a key holds for a Register, which must be want.
func (e *env) get(r casstore.Register, key string, want held) (casstore.Entry, error) {
	entry, err := r.Get(e.ctx, key)
	if err != nil {
		return entry, fmt.Errorf("a Get of %q: %w", key, err)
	}
	if err := want.check(entry); err != nil {
		return entry, fmt.Errorf("a Get of %q: %w", key, err)
	}
	return entry, nil
}

// put reads a key, and swaps its value, which must succeed.
func (e *env) put(r casstore.Register, key string, value []byte, keep time.Duration) error {
	old, err := r.Get(e.ctx, key)
	if err != nil {
		return fmt.Errorf("a Get of %q: %w", key, err)
	}
	now, ok, err := r.Swap(e.ctx, key, old, value, keep)
	if err == nil && !ok && len(old.Value) == 0 { // what a Delete has left may have expired meanwhile
		if old, err = r.Get(e.ctx, key); err == nil {
			now, ok, err = r.Swap(e.ctx, key, old, value, keep)
		}
	}
	if err == nil && !ok {
		err = errors.New("it reports that the key holds something else, and nothing else was written")
	}
	if err == nil {
		err = told(now, value)
	}
	if err != nil {
		return fmt.Errorf("a Swap of %q to %s, kept for %v: %w", key, short(value), keep, err)
	}
	return nil
}

// putAgain puts a value, and tries again if earlier calls, which may still be under way, have
// changed the key.
func (e *env) putAgain(r casstore.Register, key string, value []byte, keep time.Duration) (err error) {
	for range 100 {
		if err = e.put(r, key, value, keep); err == nil {
			return nil
		}
	}
	return fmt.Errorf("in each of 100 attempts: %w", err)
}

// told checks what Swap returned. Swap may return the zero Entry.
func told(now casstore.Entry, want held) error {
	if now.Value == nil && now.Version == nil {
		return nil
	}
	if err := want.check(now); err != nil {
		return fmt.Errorf("it returns a wrong Entry: %w", err)
	}
	return nil
}

// short is a value as errors show it.
func short(value []byte) string {
	switch n := len(value); {
	case n == 0:
		return "no value"
	case n > 20:
		return fmt.Sprintf("%d bytes %x…", n, value[:20])
	default:
		return fmt.Sprintf("%d bytes %x", n, value)
	}
}
