package edge_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Calls that wait, with deadlines and cancels, at random:
//
//   - A call returns within MaxWait and its context.
//   - What is granted counts. What is denied, cancelled or too late does not.
//   - RetryAfter is tight: after it the same call is granted, and a millisecond before it is not.
func TestTake_RandomCalls(t *testing.T) {
	for seed := range runs.Long[uint64](5000, 500) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			limit := 1 + r.IntN(6)
			policy := []weir.Policy{
				weir.SlidingLog{Limit: limit, Per: time.Second},
				weir.FixedWindow{Limit: limit, Per: time.Second},
			}[r.IntN(2)]
			l := limiter(policy)
			granted := randomTakes(t, r, l, limit)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			counts := 0
			for at, n := range granted {
				_, window := policy.(weir.FixedWindow)
				if window && at.Truncate(time.Second).Equal(time.Now().Truncate(time.Second)) || !window && time.Since(at) < time.Second {
					counts += n
				}
			}
			look, err := l.Take(forever, "k", 0)
			require.NoError(t, err)
			require.Equal(t, counts, look.Limit-look.Remaining, "seed %d: %v", seed, policy)
			retryAfterIsTight(t, l, 1+r.IntN(limit), time.Duration(r.IntN(4))*150*time.Millisecond)
		})
	}
}

// randomTakes makes calls, and returns the events granted at each instant.
func randomTakes(t *testing.T, r *rand.Rand, l weir.Limiter, limit int) map[time.Time]int {
	granted := map[time.Time]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 3 + r.IntN(25) {
		time.Sleep(time.Duration(max(r.IntN(900)-600, 0)) * time.Millisecond)
		n, maxWait := 1+r.IntN(limit+1), time.Duration(r.IntN(4))*400*time.Millisecond
		ctx, cancel := context.WithCancel(forever)
		longest := maxWait
		switch ends := time.Duration(1+r.IntN(1500)) * time.Millisecond; r.IntN(3) {
		case 0:
			ctx, cancel = context.WithTimeout(ctx, ends)
			longest = min(longest, ends)
		case 1:
			time.AfterFunc(ends, cancel)
			longest = min(longest, ends)
		}
		look := r.IntN(2) == 0
		wg.Go(func() {
			defer cancel()
			start := time.Now()
			res, waited, err := edge.Take(ctx, l, "k", n, maxWait, look)
			assert.Equal(t, time.Since(start), waited)
			assert.LessOrEqual(t, waited, longest)
			switch {
			case err != nil:
				assert.ErrorIs(t, err, ctx.Err())
				assert.Error(t, ctx.Err())
			case res.Allowed:
				assert.Zero(t, res.RetryAfter)
				mu.Lock()
				granted[time.Now()] += n
				mu.Unlock()
			default:
				assert.Positive(t, res.RetryAfter)
			}
		})
		if r.IntN(2) == 0 {
			synctest.Wait()
		}
	}
	wg.Wait()
	return granted
}

// retryAfterIsTight asks until it is denied, and then at the end of RetryAfter and just before. It
// returns if the limiter serves all that wait for so long.
func retryAfterIsTight(t *testing.T, l weir.Limiter, n int, maxWait time.Duration) {
	ask := func() weir.Result {
		res, _, err := edge.Take(forever, l, "k", n, maxWait, false)
		require.NoError(t, err)
		return res
	}
	for range 20 {
		denied := ask()
		if denied.Allowed {
			continue
		}
		if early := denied.RetryAfter - time.Millisecond; early > 0 {
			time.Sleep(early)
			require.False(t, ask().Allowed, "%v of %v", early, denied.RetryAfter)
			time.Sleep(time.Millisecond)
		} else {
			time.Sleep(denied.RetryAfter)
		}
		require.True(t, ask().Allowed, "after %v", denied.RetryAfter)
		return
	}
}
