package fleet_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The budget holds whether or not first heeds its context, and is spent once, not by every request.
func TestFallback_Budget(t *testing.T) {
	for _, deaf := range []bool{true, false} {
		inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
			first.takes.Store(int64(10 * time.Minute))
			first.deaf.Store(deaf)
			d, r := taking(t, l)
			assert.True(t, r.Allowed && r.Degraded)
			assert.LessOrEqual(t, d, 100*time.Millisecond)
			assert.GreaterOrEqual(t, d, 87*time.Millisecond)
			for range 50 {
				d, r = taking(t, l)
				assert.True(t, r.Allowed && r.Degraded)
				assert.Zero(t, d)
			}
			assert.EqualValues(t, 1, first.calls.Load())
			if deaf {
				n.told(t, late)
			} else {
				n.told(t, context.DeadlineExceeded.Error())
			}
		})
	}
}

// First is waited for after its context has ended, as long as the budget lasts: an answer may be
// there that nobody had the time to read.
func TestFallback_AnswerAtTheLastMoment(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.hang()
		first.takes.Store(int64(99 * time.Millisecond))
		d, r := taking(t, l)
		assert.Equal(t, 99*time.Millisecond, d)
		assert.True(t, r.Allowed && !r.Degraded)
		n.told(t)
	})
}

// Calls share deadlines; none has more than the budget, nor much less.
func TestFallback_BudgetAtAnyTime(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{Budget: 1600 * time.Microsecond, CoolDown: 1}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, _ *news) {
		first.hang()
		for i := range 200 {
			d, r := taking(t, l)
			require.True(t, r.Degraded)
			require.LessOrEqual(t, d, 1600*time.Microsecond)
			require.GreaterOrEqual(t, d, 1500*time.Microsecond)
			first.work()
			for range 3 {
				time.Sleep(time.Duration(i+1) * time.Microsecond)
				require.False(t, kit.Take(t, l, "other", 0).Degraded)
			}
			first.hang()
		}
	})
}

// A caller that gives up gets its error at once. That says nothing of first: it has its budget all
// the same.
func TestFallback_ImpatientCallers(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		hurry := func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, 5*time.Millisecond, time.Since(began))
		}
		first.takes.Store(int64(20 * time.Millisecond)) // slow, but well
		for range 100 {
			hurry()
		}
		time.Sleep(time.Second)
		assert.False(t, kit.Take(t, l, "k", 0).Degraded)
		assert.EqualValues(t, 101, first.calls.Load())
		n.told(t)

		first.hang()
		for range 10 {
			hurry()
		}
		time.Sleep(100 * time.Millisecond)
		n.told(t, late)
		d, r := taking(t, l)
		assert.True(t, r.Degraded)
		assert.Zero(t, d)

		// The one who tries is in a hurry, too.
		time.Sleep(time.Second)
		hurry()
		time.Sleep(100 * time.Millisecond)
		n.told(t, late)
		first.work()
		time.Sleep(time.Second)
		assert.False(t, kit.Take(t, l, "other", 1).Degraded)
		n.told(t, "<nil>")
	})
}

// However many callers there are, a first store that hangs for ever costs no more goroutines than
// it may.
func TestFallback_BoundsWhatIsInFlight(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{MaxInFlight: 7, CoolDown: 10 * time.Millisecond}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.hang()
		for range 100 {
			for range 20 {
				go func() { assert.True(t, kit.Take(t, l, "other", 0).Degraded) }()
			}
			time.Sleep(time.Second)
		}
		assert.EqualValues(t, 7, first.calls.Load())
		assert.EqualValues(t, 7, first.under.Load())
		first.work()
		d, r := taking(t, l)
		assert.True(t, r.Degraded)
		assert.Zero(t, d, "who comes while so many hang does not wait for another")
		time.Sleep(time.Hour) // they return
		assert.False(t, kit.Take(t, l, "k", 1).Degraded)
		assert.Zero(t, first.under.Load())
	})
}

// A call that was given up goes on, but no longer uses the caller's memory.
func TestFallback_WhatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		first := kit.StoreFunc(func(_ context.Context, r weir.Request) (weir.Answer, error) {
			time.Sleep(time.Second)
			keys = append(keys, r.Key)
			*r.ByComponent = append((*r.ByComponent)[:0], weir.Result{Limit: 1}, weir.Result{Limit: 2})
			return weir.Answer{Result: weir.Result{Limit: 3}}, nil
		})
		store := fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{})
		var parts []weir.Result
		buffer := []byte("k")
		a, err := store.Do(context.Background(), weir.Request{
			Plan: planOf(twofold{weir.TokenBucket{Limit: 5, Per: time.Second}}),
			Key:  unsafe.String(&buffer[0], len(buffer)),
			Ask:  weir.Ask{N: 1, ByComponent: &parts},
		})
		require.NoError(t, err)
		assert.True(t, a.Degraded)
		buffer[0] = 'x' // the request's buffer is used for the next
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"k"}, keys)
		require.Len(t, parts, 2)
		assert.Equal(t, 4, parts[0].Remaining)
		assert.True(t, parts[0].Degraded)
	})
}

func TestFallback_PartsOfFirst(t *testing.T) {
	parts := []weir.Result{{Limit: 9}}
	store := fleet.Fallback(new(weir.MemStore), new(weir.MemStore), fleet.FallbackOptions{Budget: time.Hour})
	_, err := store.Do(context.Background(), weir.Request{
		Plan: planOf(twofold{weir.TokenBucket{Limit: 5, Per: time.Hour}}),
		Ask:  weir.Ask{N: 1, ByComponent: &parts},
	})
	require.NoError(t, err)
	require.Len(t, parts, 2)
	assert.Equal(t, 4, parts[1].Remaining)
}

type ctxKey struct{}

// First gets a context with the caller's values, that ends with the budget, and that others can be
// derived from.
func TestFallback_ContextOfFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller, cancel := context.WithCancel(context.WithValue(context.Background(), ctxKey{}, "trace 7"))
		began, asked := time.Now(), false
		first := kit.StoreFunc(func(ctx context.Context, _ weir.Request) (weir.Answer, error) {
			asked = true
			assert.Equal(t, "trace 7", ctx.Value(ctxKey{}))
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, began.Add(93_750*time.Microsecond), deadline)
			derived, stop := context.WithTimeout(ctx, time.Hour)
			defer stop()
			cancel()
			<-derived.Done()
			assert.Equal(t, deadline, time.Now())
			assert.ErrorIs(t, derived.Err(), context.DeadlineExceeded)
			assert.Equal(t, "trace 7", derived.Value(ctxKey{}))
			return weir.Answer{}, ctx.Err()
		})
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{}))))
		_, err := l.Take(caller, "k", 1)
		assert.ErrorIs(t, err, context.Canceled)
		assert.True(t, asked)
		synctest.Wait()
		time.Sleep(time.Second)
	})
}

// A first store that panics, or ends its goroutine, has failed like others.
func TestFallback_PanicOfFirst(t *testing.T) {
	for want, fault := range map[string]func(){
		"weir: the first store panicked: out of paper": func() { panic("out of paper") },
		"weir: the first store ended its goroutine":    runtime.Goexit,
	} {
		var told error
		first := kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) { fault(); return weir.Answer{}, nil })
		store := fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{Budget: time.Hour, Report: func(err error) { told = err }})
		r := kit.Take(t, weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(store))), "k", 1)
		assert.True(t, r.Allowed && r.Degraded)
		assert.ErrorContains(t, told, want)
	}
}

func BenchmarkFallback(b *testing.B) {
	ctx := context.WithValue(context.Background(), ctxKey{}, 1)
	policy := weir.TokenBucket{Limit: 1e8, Per: century}
	mem := new(weir.MemStore)
	for _, store := range []struct {
		name string
		weir.Store
	}{
		{"none", kit.StoreFunc(mem.Do)},
		{"works", fleet.Fallback(mem, new(weir.MemStore), fleet.FallbackOptions{Budget: time.Hour})},
		{"rests", fleet.Fallback(kit.StoreFunc(func(context.Context, weir.Request) (weir.Answer, error) {
			return weir.Answer{}, kit.ErrStore
		}), mem, fleet.FallbackOptions{CoolDown: century})},
	} {
		l := weir.Must(weir.New(policy, weir.WithStore(store.Store)))
		ask := func() { _, _ = l.Take(ctx, "203.0.113.77:443", 1) }
		b.Run("first="+store.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
		b.Run("first="+store.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					ask()
				}
			})
		})
	}
}
