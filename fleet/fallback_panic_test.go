package fleet_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// inPanic runs a test in a bubble, on a Fallback with the given Report.
func inPanic(t *testing.T, report func(error), test func(t *testing.T, l *weir.KeyedLimiter, first *shared)) {
	synctest.Test(t, func(t *testing.T) {
		first := new(shared)
		store := fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{Report: report})
		defer time.Sleep(2 * time.Hour) // until all that hangs has returned
		test(t, weir.Must(weir.New(weir.SlidingLog{Limit: 100, Per: 24 * time.Hour}, weir.WithStore(store))), first)
	})
}

func outOfPaper(error) { panic("out of paper") }

func isOutOfPaper(t *testing.T, l *weir.KeyedLimiter) {
	t.Helper()
	r, err := l.Take(context.Background(), "k", 1)
	assert.ErrorContains(t, err, "FallbackOptions.Report panicked: out of paper")
	assert.Equal(t, weir.Result{}, r)
}

// A Report that panicked ended the process, since nobody could recover. Now it is an error of the
// request for which it is called, and the outage goes on as if it had returned.
func TestFallback_PanicOfReport(t *testing.T) {
	inPanic(t, outOfPaper, func(t *testing.T, l *weir.KeyedLimiter, first *shared) {
		first.fail(kit.ErrStore)
		isOutOfPaper(t, l)
		assert.True(t, kit.Take(t, l, "k", 1).Degraded)
		assert.EqualValues(t, 1, first.calls.Load(), "first is left alone")
		time.Sleep(time.Second)
		isOutOfPaper(t, l)
		first.work()
		time.Sleep(time.Second)
		isOutOfPaper(t, l) // as it is told that first is back
		assert.False(t, kit.Take(t, l, "k", 1).Degraded)
		first.hang()
		isOutOfPaper(t, l) // when the budget is spent
		assert.True(t, kit.Take(t, l, "k", 1).Degraded)
	})
}

// Of many callers only one gets the error, as Report is called once.
func TestFallback_PanicOfReportAmongMany(t *testing.T) {
	inPanic(t, outOfPaper, func(t *testing.T, l *weir.KeyedLimiter, first *shared) {
		first.fail(kit.ErrStore)
		first.takes.Store(int64(10 * time.Millisecond))
		var mu sync.Mutex
		failed, degraded := 0, 0
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				r, err := l.Take(context.Background(), "k", 1)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					failed++
				case r.Degraded:
					degraded++
				}
			})
		}
		callers.Wait()
		assert.Equal(t, 1, failed)
		assert.Equal(t, 49, degraded)
		assert.Zero(t, first.under.Load())
	})
}

// Where no caller waits any more, a panic of Report is nobody's error.
func TestFallback_PanicOfReportForNobody(t *testing.T) {
	inPanic(t, outOfPaper, func(t *testing.T, l *weir.KeyedLimiter, first *shared) {
		first.hang()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		_, err := l.Take(ctx, "k", 1)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(100 * time.Millisecond)
		assert.True(t, kit.Take(t, l, "k", 1).Degraded, "first has failed")
	})
}

func TestFallback_ReportThatEndsItsGoroutine(t *testing.T) {
	inPanic(t, func(error) { runtime.Goexit() }, func(t *testing.T, l *weir.KeyedLimiter, first *shared) {
		first.fail(kit.ErrStore)
		assert.True(t, kit.Take(t, l, "k", 1).Degraded)
		first.work()
		time.Sleep(time.Second)
		assert.False(t, kit.Take(t, l, "k", 1).Degraded)
		assert.False(t, kit.Take(t, l, "k", 1).Degraded)
	})
}

// FailOpen calls report in the goroutine of the caller, who can recover from its panic.
func TestFailOpen_PanicOfReport(t *testing.T) {
	store := new(kit.Faulty)
	l := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: 24 * time.Hour}, weir.WithStore(fleet.FailOpen(store, fleet.FailOpenOptions{Report: outOfPaper}))))
	for range 3 {
		store.Down.Store(true)
		assert.PanicsWithValue(t, "out of paper", func() { l.Allow("k") })
		assert.PanicsWithValue(t, "out of paper", func() { _ = l.Wait(context.Background(), "k", 1) })
		store.Down.Store(false)
		assert.Equal(t, 2, kit.Take(t, l, "k", 0).Remaining)
	}
	assert.NoError(t, l.Wait(context.Background(), "k", 1), "nobody has kept a turn")
}
