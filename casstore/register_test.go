package casstore_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
)

// A memory is a Register in memory. It has versions, as most servers have, and forgets nothing:
// what has expired must not count either way.
type memory struct {
	mu      sync.Mutex
	values  map[string]casstore.Entry
	version int
	now     time.Time                       // of the server; zero if it does not tell
	tells   bool                            // Swap returns what the key holds
	keeps   map[string]time.Duration        // that Swap was given
	gets    int                             // calls of Get
	swaps   int                             // those that have replaced a value
	before  func(ctx context.Context) error // of each call, if not nil
	after   func(ctx context.Context) error // likewise: the call was executed, and its reply is lost
}

func newMemory() *memory {
	return &memory{values: map[string]casstore.Entry{}, keeps: map[string]time.Duration{}}
}

// step makes a call one step, between before and after.
func (m *memory) step(ctx context.Context, f func()) error {
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	m.mu.Lock()
	f()
	m.mu.Unlock()
	if after != nil {
		return after(ctx)
	}
	return ctx.Err()
}

func (m *memory) set(f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func (m *memory) entry(key string) casstore.Entry {
	e := m.values[key]
	e.Value, e.Now = bytes.Clone(e.Value), m.now
	return e
}

func (m *memory) Get(ctx context.Context, key string) (e casstore.Entry, err error) {
	err = m.step(ctx, func() {
		m.gets++
		e = m.entry(key)
	})
	return e, err
}

func (m *memory) Swap(
	ctx context.Context, key string, old casstore.Entry, value []byte, keep time.Duration,
) (now casstore.Entry, ok bool, err error) {
	err = m.step(ctx, func() {
		if ok = m.values[key].Version == old.Version; ok {
			m.version++
			m.swaps++
			m.values[key] = casstore.Entry{Value: value, Version: m.version}
			m.keeps[key] = keep
		}
		if m.tells {
			now = m.entry(key)
		}
	})
	return now, ok, err
}

func (m *memory) Delete(ctx context.Context, key string) error {
	return m.step(ctx, func() { delete(m.values, key) })
}

func newLimiter(tb testing.TB, s weir.Store, p weir.Policy, opts ...weir.Option) *weir.KeyedLimiter {
	tb.Helper()
	l, err := weir.New(p, append([]weir.Option{weir.WithStore(s), weir.WithName("")}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}
