package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A replica is a store that reads, and fails whatever would write.
type replica struct{ weir.MemStore }

func (s *replica) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	look := r
	look.N, look.Forget = 0, false
	a, err := s.MemStore.Do(ctx, look)
	if r.N < 0 || r.Forget || r.N > 0 && a.Remaining >= r.N {
		return weir.Answer{}, kit.ErrStore
	}
	if r.N == 0 {
		return a, err
	}
	return s.MemStore.Do(ctx, r)
}

// Each denial by a read-only replica ended the outage, and the next grant began it again.
func TestFallback_OnlyWhatWritesEndsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, n := new(replica), new(news)
		var writes bool
		store := fleet.Fallback(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if writes {
				return first.MemStore.Do(ctx, r)
			}
			return first.Do(ctx, r)
		}), new(weir.MemStore), fleet.FallbackOptions{Report: n.report})
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(store)))
		writes = true
		kit.Take(t, l, "used up", 1)
		writes = false
		assert.True(t, kit.Take(t, l, "first", 1).Degraded)
		n.told(t, "the store fails")

		for range 60 {
			time.Sleep(time.Second)
			r := kit.Take(t, l, "used up", 1)
			assert.False(t, r.Allowed || r.Degraded, "answered by first")
			assert.False(t, kit.Take(t, l, "k", 0).Degraded, "another request asks first at once")
			assert.True(t, kit.Take(t, l, "k", 1).Degraded)
			n.told(t, "the store fails")
			assert.True(t, kit.Take(t, l, "used up", 0).Degraded, "in the cool-down")
		}

		writes = true
		time.Sleep(time.Second)
		for range 3 {
			assert.False(t, kit.Take(t, l, "used up", 1).Degraded)
		}
		n.told(t)
		assert.False(t, kit.Take(t, l, "new", 1).Degraded)
		n.told(t, "<nil>")
	})
}

func TestFallback_AResetEndsAnOutage(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.fail(kit.ErrStore)
		kit.Take(t, l, "k", 1)
		first.work()
		time.Sleep(time.Second)
		assert.NoError(t, l.Return(context.Background(), "k", 1))
		n.told(t, "the store fails") // there was nothing to give back, and so nothing to write
		assert.NoError(t, l.Reset(context.Background(), "k"))
		n.told(t, "<nil>")
	})
}

// The first store reads the clock when its call is over, a second after the second store has
// decided. The instant that the second store told stands.
func TestR17_ALateFirstStoreMovesNoInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, late, read := new(weir.MemStore), make(chan struct{}), make(chan struct{})
		first := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N == 1 {
				return mem.Do(ctx, r)
			}
			<-late
			r.Now()
			close(read)
			return weir.Answer{}, kit.ErrStore
		})
		second := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := mem.Do(ctx, r)
			time.Sleep(time.Second)
			close(late)
			<-read
			return a, err
		})
		store := fleet.Fallback(first, second, fleet.FallbackOptions{Budget: time.Second})
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 10 * time.Second, Burst: 2}, weir.WithStore(store)))
		kit.Reserve(t, l, 1)
		assert.Equal(t, 8*time.Second, kit.Reserve(t, l, 2).Delay())
	})
}

// aLine is callers that wait for a slot of ten seconds each, behind a call of Allow. It is for a bubble.
type aLine struct {
	*weir.KeyedLimiter
	began time.Time
	all   sync.WaitGroup
	mu    sync.Mutex
	went  map[string]time.Duration // when, in seconds
	leave map[string]context.CancelFunc
}

func newLine(t *testing.T, s weir.Store) *aLine {
	l := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: 10 * time.Second, Capacity: 50}, weir.WithStore(s)))
	require.True(t, l.Allow("k"))
	return &aLine{KeyedLimiter: l, began: time.Now(), went: map[string]time.Duration{}, leave: map[string]context.CancelFunc{}}
}

func (a *aLine) come(name string) {
	var ctx context.Context
	ctx, a.leave[name] = context.WithCancel(context.Background())
	a.all.Go(func() {
		if a.Wait(ctx, "k", 1) == nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.went[name] = time.Since(a.began) / time.Second
		}
	})
	synctest.Wait()
}

// Waiters leave while others of their key leave, come, or give back. The first store needs most of the
// budget for each, and has freed their events in any case: the waiters behind move up, and nobody else
// gets their instants.
func TestR17_BackFromASlowFirstStore(t *testing.T) {
	for name, test := range map[string]struct {
		booked int                    // before the waiters
		before func(*aLine, []func()) // what goes before
		goes   []string               // a slot each
	}{
		"behind another that leaves": {
			0, func(a *aLine, _ []func()) { a.leave["W1"]() },
			[]string{"W2", "W4", "W5", "W7"},
		},
		"behind one that comes": {
			0, func(a *aLine, _ []func()) { a.come("W6") },
			[]string{"W1", "W2", "W4", "W5", "W6", "W7"},
		},
		"behind give-backs that take a second": {
			12, func(a *aLine, cancels []func()) {
				for _, cancel := range cancels {
					a.all.Go(cancel)
				}
			},
			[]string{"W1", "W2", "W4", "W5", "W7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, n := new(shared), new(news)
				a := newLine(t, fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{Report: n.report}))
				cancels := make([]func(), test.booked)
				for i := range cancels {
					r := kit.Reserve(t, a.KeyedLimiter, 1)
					cancels[i] = func() { assert.NoError(t, r.Cancel(context.Background())) }
				}
				for i := range 5 {
					a.come(fmt.Sprint("W", i+1))
				}
				first.takes.Store(int64(80 * time.Millisecond))
				time.Sleep(time.Second)
				test.before(a, cancels)
				time.Sleep(time.Millisecond)
				a.leave["W3"]()
				time.Sleep(3 * time.Second)
				a.come("W7")
				a.all.Wait()
				n.told(t)
				assert.Len(t, a.went, len(test.goes))
				at := a.went[test.goes[0]] // which of the give-backs free something depends on their order
				for i, name := range test.goes {
					assert.Equal(t, at+time.Duration(10*i), a.went[name], name)
				}
				if test.booked == 0 {
					assert.EqualValues(t, 10, at)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
