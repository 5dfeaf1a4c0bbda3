package casstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/casstore"
	"github.com/weir-go/weir/fleet"
)

// A server that needs too long for a Get and a Swap fails, even if it replies to the Get well
// before the end. Other requests are not the cause. A Fallback takes the second store then.
func TestSlowServerIsAnOutage(t *testing.T) {
	const budget = 10 * trip
	// The context of the first store ends a sixteenth of the budget before its end.
	for of, slow := range map[int]bool{0: false, 2: false, 4: false, 5: true, 6: true, 8: true, 9: true, 11: true} {
		t.Run(fmt.Sprintf("a round trip of %d tenths of the budget", of), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *memory, s *casstore.Store) {
				m.before = func(context.Context) error {
					time.Sleep(time.Duration(of) * budget / 10)
					return nil
				}
				reports := 0
				f := fleet.Fallback(s, new(weir.MemStore), fleet.FallbackOptions{Budget: budget, Report: func(error) { reports++ }})
				l := newLimiter(t, f, wide)
				r, err := l.Take(t.Context(), "k", 1)
				require.NoError(t, err)
				assert.True(t, r.Allowed)
				assert.Equal(t, slow, r.Degraded)
				assert.Equal(t, slow, reports > 0)
				time.Sleep(10 * budget)
			})
		})
	}
}

// Callers may leave at any instant, also while the line begins to decide for them. The race
// detector watches it.
func TestLeavingAtAnyTime(t *testing.T) {
	m := newMemory()
	s := casstore.New(m, casstore.Options{})
	l := newLimiter(t, s, wide)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				if _, err := l.Take(ctx, "k", 1); err != nil {
					assert.ErrorIs(t, err, context.Canceled)
				}
			}
		})
	}
	all.Wait()
}

// A decision that outlasts its caller does not read the caller's memory: neither the key, if
// Options.Key returns that itself, nor what DoFrom was given.
func TestLeaversMayUseTheirMemoryAgain(t *testing.T) {
	bubble(t, func(t *testing.T, m *memory, _ *casstore.Store) {
		s := casstore.New(m, casstore.Options{Key: func(name, key string) string { return name + key }})
		entry := new(casstore.Entry)
		l := newLimiter(t, storeFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			return s.DoFrom(ctx, r, entry, time.Minute)
		}), wide)
		memory := []byte("ada")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := l.Take(ctx, unsafe.String(&memory[0], len(memory)), 1)
			assert.ErrorIs(t, err, context.Canceled)
			copy(memory, "bob")
			entry.Version = 7
		}()
		synctest.Wait()
		stays := make(chan bool)
		go func() { stays <- l.Allow("ada") }()
		synctest.Wait()
		cancel()
		assert.True(t, <-stays)
		synctest.Wait()
		assert.Zero(t, s.Lines())
		assert.Contains(t, m.values, "ada")
		assert.NotContains(t, m.values, "bob")
	})
}
