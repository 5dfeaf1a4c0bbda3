package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
	"github.com/weir-go/weir/storetest"
)

// A shared is a first store that can be told to fail or to be slow, and whether to heed its
// context.
type shared struct {
	weir.MemStore
	takes atomic.Int64 // how long it takes
	deaf  atomic.Bool  // ignores its context
	err   atomic.Pointer[error]

	calls, under, most atomic.Int64 // calls so far, under way, and under way at most
}

func (s *shared) fail(err error) { s.err.Store(&err) }

func (s *shared) work() { s.err.Store(nil); s.takes.Store(0) }

func (s *shared) hang() { s.takes.Store(int64(time.Hour)); s.deaf.Store(true) }

func (s *shared) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	s.calls.Add(1)
	under := s.under.Add(1)
	for most := s.most.Load(); under > most && !s.most.CompareAndSwap(most, under); {
		most = s.most.Load()
	}
	defer s.under.Add(-1)
	if d := time.Duration(s.takes.Load()); d > 0 {
		ended := ctx.Done()
		if s.deaf.Load() {
			ended = nil
		}
		select {
		case <-time.After(d):
		case <-ended:
			return weir.Answer{}, ctx.Err()
		}
	}
	if err := s.err.Load(); err != nil {
		return weir.Answer{}, *err
	}
	return s.MemStore.Do(ctx, r)
}

// news are what a Fallback reports.
type news struct {
	mu  sync.Mutex
	all []string
}

func (n *news) report(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, fmt.Sprint(err))
}

func (n *news) told(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	assert.Equal(t, want, n.all)
	n.all = nil
}

const late = "weir: the first store did not answer within 100ms"

// inFallback runs a test in a bubble, on a limiter that grants a hundred and no more.
func inFallback(t *testing.T, opts fleet.FallbackOptions, test func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news)) {
	synctest.Test(t, func(t *testing.T) {
		first, n := new(shared), new(news)
		opts.Report = n.report
		store := fleet.Fallback(first, new(weir.MemStore), opts)
		defer time.Sleep(2 * time.Hour) // until all that hangs has returned
		test(t, weir.Must(weir.New(weir.SlidingLog{Limit: 100, Per: 24 * time.Hour}, weir.WithStore(store))), first, n)
	})
}

// taking is how long a take takes, and its answer.
func taking(t *testing.T, l *weir.KeyedLimiter) (time.Duration, weir.Result) {
	t.Helper()
	began := time.Now()
	r := kit.Take(t, l, "k", 1)
	return time.Since(began), r
}

func TestFallback_StoreThatWorks(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store {
		runs.Short(t, runs.Server)
		never := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
			t.Error("the second store was asked")
			return weir.Answer{}, kit.ErrStore
		})
		forgets := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.Forget {
				return weir.Answer{}, nil
			}
			return never(ctx, r)
		})
		return fleet.Fallback(new(weir.MemStore), forgets, fleet.FallbackOptions{Budget: time.Hour})
	}, storetest.RoundTrips())
}

func TestFallback_AnswersOfSecond(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		assert.Equal(t, weir.Result{Allowed: true, Limit: 100, Remaining: 99, ResetAfter: 24 * time.Hour}, kit.Take(t, l, "k", 1))
		first.fail(kit.ErrStore)
		want := weir.Result{Allowed: true, Limit: 100, Remaining: 0, ResetAfter: 24 * time.Hour, Degraded: true}
		assert.Equal(t, want, kit.Take(t, l, "k", 100), "second knows nothing of what first granted")
		want.Allowed, want.RetryAfter = false, 24*time.Hour
		assert.Equal(t, want, kit.Take(t, l, "k", 1))
		n.told(t, "the store fails")
	})
}

// After a cool-down one at a time asks first, however many come.
func TestFallback_OneTriesWhetherFirstIsBack(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{MaxInFlight: 60}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.fail(kit.ErrStore)
		taking(t, l)
		crowd := func() (asked int64, slow int) {
			before := first.calls.Load()
			var waited atomic.Int64
			for range 50 {
				go func() {
					if d, r := taking(t, l); d > 0 {
						waited.Add(1)
						assert.LessOrEqual(t, d, 100*time.Millisecond)
					} else {
						assert.True(t, r.Degraded)
					}
				}()
			}
			synctest.Wait()
			time.Sleep(150 * time.Millisecond)
			return first.calls.Load() - before, int(waited.Load())
		}

		time.Sleep(time.Second - 1)
		asked, _ := crowd()
		assert.Zero(t, asked, "in the cool-down")
		n.told(t, "the store fails")

		first.hang()
		for range 3 {
			time.Sleep(time.Second)
			asked, waited := crowd()
			assert.EqualValues(t, 1, asked)
			assert.Equal(t, 1, waited)
		}
		n.told(t, late, late, late)

		first.work()
		first.takes.Store(int64(10 * time.Millisecond))
		time.Sleep(time.Second)
		asked, waited := crowd()
		assert.EqualValues(t, 1, asked)
		assert.Equal(t, 1, waited)
		n.told(t, "<nil>")
		assert.False(t, kit.Take(t, l, "k", 0).Degraded)
		asked, _ = crowd()
		assert.EqualValues(t, 50, asked)
		n.told(t)
	})
}

// A request that first cannot decide says nothing of first, and is not decided elsewhere.
func TestFallback_RequestAtFault(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		fault := fmt.Errorf("a key of 9 MB: %w", weir.ErrRequest)
		refused := func() {
			first.fail(fault)
			_, err := l.Take(context.Background(), "k", 1)
			assert.ErrorIs(t, err, weir.ErrRequest)
			first.work()
		}
		refused()
		assert.False(t, kit.Take(t, l, "k", 1).Degraded)
		n.told(t)

		first.fail(kit.ErrStore)
		assert.True(t, kit.Take(t, l, "k", 1).Degraded)
		time.Sleep(time.Second)
		refused() // it was the one to try
		n.told(t, "the store fails")
		assert.False(t, kit.Take(t, l, "k", 1).Degraded, "so another tries at once")
		n.told(t, "<nil>")
	})
}

func TestFallback_BothFail(t *testing.T) {
	errSecond := errors.New("the second fails")
	fails := func(err error) weir.Store {
		return kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
			return weir.Answer{Result: weir.Result{Allowed: true}}, err
		})
	}
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(fleet.Fallback(fails(kit.ErrStore), fails(errSecond), fleet.FallbackOptions{}))))
	r, err := l.Take(context.Background(), "k", 1)
	assert.Equal(t, weir.Result{}, r)
	assert.ErrorIs(t, err, kit.ErrStore)
	assert.ErrorIs(t, err, errSecond)
}

// A reset reaches both stores, and fails if it did not reach the first.
func TestFallback_Reset(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, _ *weir.KeyedLimiter, _ *shared, _ *news) {
		first, second := new(shared), new(weir.MemStore)
		store := fleet.Fallback(first, second, fleet.FallbackOptions{})
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(store)))
		forget := weir.Request{Plan: planOf(weir.SlidingLog{Limit: 1, Per: 24 * time.Hour}), Key: "k", Forget: true}

		kit.Take(t, l, "k", 1)
		first.fail(kit.ErrStore)
		kit.Take(t, l, "k", 1)
		_, err := store.Do(context.Background(), forget)
		assert.Error(t, err)
		assert.True(t, l.Allow("k"), "second has forgotten")
		first.work()
		time.Sleep(time.Second)
		assert.False(t, l.Allow("k"), "first has not")

		_, err = store.Do(context.Background(), forget)
		assert.NoError(t, err)
		assert.Zero(t, first.Len()+second.Len())
		assert.True(t, l.Allow("k"))
	})
}

// The bound: however often first comes and goes, a key gets no more than both stores allow.
func TestFallback_NoMoreThanBothAllow(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{CoolDown: time.Millisecond}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, _ *news) {
		granted := 0
		for i := range 5000 {
			if i%3 == 0 {
				first.fail(kit.ErrStore)
			} else {
				first.work()
			}
			if l.Allow("k") {
				granted++
			}
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, 200, granted)
	})
}
