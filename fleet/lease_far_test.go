package fleet_test

import (
	"context"
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
)

// If the round trip of a far store is longer than events may be held, what the limit allows is
// granted all the same. Nobody waits for longer than for the call under way and the next, which
// asks for his events.
func TestLease_FarStore(t *testing.T) {
	const trip = 20 * time.Millisecond
	lasts := time.Duration(runs.Long(10, 2)) * time.Second
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1000, Per: time.Second},
		weir.TokenBucket{Limit: 1000, Per: time.Second, Burst: 100},
		weir.FixedWindow{Limit: 1000, Per: time.Second},
		weir.SlidingWindow{Limit: 1000, Per: time.Second},
		weir.SlidingWindow{Limit: 1000, Per: time.Second, Buckets: 100},
	}[:runs.Long(5, 3)] {
		for _, several := range []int{1, 3} {
			t.Run(fmt.Sprint(p, " ", several), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &slowStore{takes: trip}
					l := newLeased(p, store, fleet.LeaseOptions{})
					var all sync.WaitGroup
					var mu sync.Mutex
					granted, longest, start := 0, time.Duration(0), time.Now()
					for i := 0; time.Since(start) < lasts; i++ {
						all.Go(func() {
							asked, n := time.Now(), 1+i%several
							r := kit.Take(t, l.KeyedLimiter, "k", n)
							mu.Lock()
							defer mu.Unlock()
							longest = max(longest, time.Since(asked))
							if r.Allowed {
								granted += n
							}
						})
						time.Sleep(time.Second / 3000 * time.Duration(several+1) / 2)
					}
					all.Wait()
					assert.LessOrEqual(t, longest, 2*trip)
					assert.Greater(t, granted, 980*int(lasts/time.Second))
				})
			})
		}
	}
}

// Nobody waits for longer because others leave before the store answers.
func TestLease_ThoseWhoLeaveDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 20 * time.Millisecond
		l := newLeased(windows[0], &slowStore{takes: trip}, fleet.LeaseOptions{})
		var all sync.WaitGroup
		for i := range 4000 {
			time.Sleep(time.Millisecond)
			all.Go(func() {
				ctx, asked := t.Context(), time.Now()
				if i%10 > 0 {
					short, cancel := context.WithTimeout(ctx, trip/4)
					defer cancel()
					ctx = short
				}
				if _, err := l.Take(ctx, "k", 1); i%10 == 0 {
					assert.NoError(t, err)
					assert.LessOrEqual(t, time.Since(asked), 2*trip)
				}
			})
		}
		all.Wait()
		assert.NoError(t, l.lease.Release(t.Context()))
	})
}

// Nothing is lost of what was asked for those who wait no more.
func TestLease_ThoseWhoLeaveTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := slow(t)
		left := int64(l.look(t).Remaining)
		var granted atomic.Int64
		for range 5 {
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond) // in the second call
					defer cancel()
					if i%2 == 0 {
						ctx = t.Context()
					}
					if r, err := l.Take(ctx, "k", 20); err == nil && r.Allowed {
						granted.Add(20)
					}
				})
			}
			all.Wait()
		}
		assert.NoError(t, l.lease.Release(t.Context()))
		assert.Positive(t, granted.Load())
		assert.Equal(t, left, granted.Load()+int64(l.look(t).Remaining))
	})
}

// While a call hangs, those who have left are not kept.
func TestLease_ThoseWhoLeaveDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		store.takes = time.Hour
		go l.Allow("k")
		synctest.Wait()
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, err := l.Take(ctx, "k", 1)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		assert.LessOrEqual(t, l.lease.Line(l.plan, "k"), 1)
		time.Sleep(2 * time.Hour)
		store.takes = 0
		assert.NoError(t, l.lease.Release(t.Context()))
	})
}

// A lateContext belongs to a caller that goes on late.
type lateContext struct {
	context.Context
	goes chan struct{}
}

func (c lateContext) Done() <-chan struct{} {
	<-c.goes
	return c.Context.Done()
}

// A request that waits may find events of the call before, when the next one already asks for it. If
// the others leave, that call is for nobody: it is called off, and holds up nobody who comes later.
func TestLease_ACallForThoseWhoAreServedIsCalledOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, store := slow(t)
		var all sync.WaitGroup
		all.Go(func() { assert.True(t, l.Allow("k")) })
		synctest.Wait()
		late := lateContext{t.Context(), make(chan struct{})}
		all.Go(func() {
			a, err := l.lease.Do(late, weir.Request{Plan: l.plan, Key: "k", Ask: weir.Ask{N: 1}})
			assert.NoError(t, err)
			assert.True(t, a.Allowed)
		})
		time.Sleep(2 * store.takes)
		store.takes = time.Hour
		held := l.lease.Held(l.plan, "k")
		assert.Positive(t, held)
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() {
			_, err := l.Take(ctx, "k", held+1)
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		assert.EqualValues(t, 1, store.inFlight.Load())
		close(late.goes)
		synctest.Wait()
		cancel()
		all.Wait()
		synctest.Wait()
		assert.Zero(t, store.inFlight.Load())
		assert.NoError(t, l.lease.Release(t.Context()))
	})
}
