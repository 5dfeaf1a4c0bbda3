package waiting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Goroutines on the real clock, at rates at which turns come and go while others join and give
// up. With -race it shows data races; and that nobody is forgotten, nor more granted than there is.
func TestWait_OnTheRealClock(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1_000_000, Per: time.Second, Burst: 10},
		weir.TokenBucket{Limit: 700_001, Per: time.Second, Burst: 3},
		weir.LeakyBucket{Limit: 1_000_000, Per: time.Second, Capacity: 200},
		weir.FixedWindow{Limit: 100, Per: 100 * time.Microsecond},
		weir.SlidingWindow{Limit: 100, Per: 100 * time.Microsecond},
		weir.SlidingLog{Limit: 100, Per: 100 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("%T", p), func(t *testing.T) {
			l := weir.Must(weir.New(p))
			var granted atomic.Int64
			var all sync.WaitGroup
			start := time.Now()
			for g := range uint64(16) {
				all.Go(func() {
					random := rand.New(rand.NewPCG(g, 8))
					for range runs.Long(500, runs.InCI(500, 200)) {
						ctx, cancel := context.WithCancel(context.Background())
						if random.IntN(2) == 0 {
							ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(30_000)))
						}
						n := 1 + random.IntN(3)
						switch err := l.Wait(ctx, "k", n); {
						case err == nil:
							granted.Add(int64(n))
						case ctx.Err() == nil:
							assert.True(t, errors.Is(err, weir.ErrTooLate) || errors.Is(err, weir.ErrQueueFull), err)
						}
						cancel()
					}
				})
			}
			all.Wait()
			assert.Zero(t, linesOf(l))
			assert.Positive(t, granted.Load())
			assert.LessOrEqual(t, granted.Load(), time.Since(start).Microseconds()+200)
		})
	}
}

// All granted events are counted. At a frozen clock nothing is earned, so the tokens that are left
// in the bucket tell exactly how many were granted.
func TestWait_CountsWhatItGrants(t *testing.T) {
	const burst = 5000
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour, Burst: burst}, weir.WithClock(standstill{})))
	var granted atomic.Int64
	var all sync.WaitGroup
	for g := range uint64(16) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(g, 9))
			for range 500 {
				n := 1 + random.IntN(4)
				ctx, cancel := context.WithCancel(context.Background())
				giveUp := time.AfterFunc(time.Duration(random.IntN(100_000)), cancel)
				if err := l.Wait(ctx, "k", n); err == nil {
					granted.Add(int64(n))
				} else {
					assert.ErrorIs(t, err, context.Canceled)
				}
				giveUp.Stop()
				cancel()
			}
		})
	}
	all.Wait()
	r, err := l.Take(context.Background(), "k", 0)
	assert.NoError(t, err)
	assert.Equal(t, burst-granted.Load(), int64(r.Remaining))
	assert.Greater(t, granted.Load(), int64(burst-10), "what was given back is not granted again")
	assert.Zero(t, linesOf(l))
}

// standstill is a Clock that stands still.
type standstill struct{}

func (standstill) Now() time.Time                       { return time.Unix(1_000_000, 0) }
func (standstill) After(time.Duration) <-chan time.Time { return nil }
