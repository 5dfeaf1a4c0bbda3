package edge

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A drain is what becomes of the calls that come after a hold.
type drain struct {
	passed, refused int           // of those that came in the last 10 seconds
	slowest         time.Duration // of the former
}

// afterHold makes a call every so often for a minute. In the second second, a hold begins.
func afterHold(t *testing.T, l weir.Limiter, every, hold time.Duration) (d drain) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var mu sync.Mutex
		var wg sync.WaitGroup
		time.AfterFunc(time.Second, func() { g.Hold("k", hold, 0, 0) })
		for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(every) {
			came := time.Now()
			wg.Go(func() {
				err := g.Pass(t.Context(), l, "k")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, weir.ErrQueueFull):
					d.refused++
				case err != nil:
					t.Error(err)
				case came.Sub(begin) >= 50*time.Second:
					d.passed++
					d.slowest = max(d.slowest, time.Since(came))
				}
			})
		}
		wg.Wait()
		assert.Empty(t, g.lines.byKey)
	})
	return d
}

// Calls that come after a hold queue up behind those that were held back. If fewer come than the
// limiter allows, all pass, also those for whom the limiter has no room in its queue.
func TestGate_AfterHold(t *testing.T) {
	for _, policy := range []weir.Policy{
		weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 1},
		weir.TokenBucket{Limit: 10, Per: time.Second},
		weir.SlidingLog{Limit: 10, Per: time.Second},
	} {
		d := afterHold(t, weir.Must(weir.New(policy)), 125*time.Millisecond, 5*time.Second)
		assert.Equal(t, 80, d.passed, "%v", policy)
		assert.Zero(t, d.refused, "%v", policy)
		assert.Less(t, d.slowest, time.Second, "%v", policy)
	}
}

// A hold has no effect for ever. If more calls come than the limiter allows, it refuses some again.
func TestGate_AfterHoldMoreThanAllowed(t *testing.T) {
	for _, every := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 90 * time.Millisecond} {
		l := weir.Must(weir.New(weir.LeakyBucket{Limit: 10, Per: time.Second, Capacity: 5}))
		d := afterHold(t, l, every, time.Second)
		assert.InDelta(t, 100, d.passed, 2, "%v", every)
		assert.NotZero(t, d.refused, "%v", every)
		assert.LessOrEqual(t, d.slowest, 500*time.Millisecond, "%v", every)
	}
}

// If the store is far away, more calls may come than pass one at a time, and fewer than allowed.
func TestGate_AfterHoldFarStore(t *testing.T) {
	mem := new(weir.MemStore)
	far := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		time.Sleep(20 * time.Millisecond)
		return mem.Do(ctx, r)
	})
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1000, Per: time.Second}, weir.WithStore(far)))
	d := afterHold(t, l, 5*time.Millisecond, time.Second)
	assert.Equal(t, drain{passed: 2000, slowest: 20 * time.Millisecond}, d)
}

// A late limiter grants an event a second, and is late to give callers their places: it may be
// interrupted before that.
type late struct {
	weir.Limiter
	mu     sync.Mutex
	placed []int
}

type number struct{}

func (l *late) Wait(ctx context.Context, _ string, _ int) error {
	n := ctx.Value(number{}).(int)
	time.Sleep(time.Duration(10-n) * time.Millisecond)
	l.mu.Lock()
	l.placed = append(l.placed, n)
	l.mu.Unlock()
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Calls that go to the limiter together get their places there in the order in which they came.
// Otherwise, a call whose goroutine is interrupted on the way is behind all that came after it.
func TestR18_GateAfterHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var l late
		var wg sync.WaitGroup
		g.Hold("k", time.Second, 0, 0)
		for n := range 8 { // the first is held back, the others then come faster than it passes
			ctx := context.WithValue(t.Context(), number{}, n)
			wg.Go(func() { assert.NoError(t, g.Pass(ctx, &l, "k")) })
			if synctest.Wait(); n == 0 {
				time.Sleep(1500 * time.Millisecond)
			}
		}
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, l.placed)
	})
}
