package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
)

// Calls that wait for others of their key are answered when their budget is over, whether first has
// been asked by then or not, and first has not failed.
func TestFallback_BudgetHoldsForTurns(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		ctx := context.Background()
		require.NoError(t, l.Wait(ctx, "k", 10))
		first.takes.Store(int64(80 * time.Millisecond))
		var callers sync.WaitGroup
		began := time.Now()
		at := func(begin, end time.Duration, call func()) {
			callers.Go(func() {
				time.Sleep(begin)
				call()
				assert.Equal(t, end, time.Since(began))
			})
		}
		const ms = time.Millisecond
		reserve := func(degraded bool) func() {
			return func() {
				r, err := l.Reserve(ctx, "k", 1)
				if assert.NoError(t, err) {
					assert.True(t, r.Allowed)
					assert.Equal(t, degraded, r.Degraded)
				}
			}
		}
		const noTurn = "the budget was spent on waiting for other requests of the key"
		wait := func() { assert.NoError(t, l.Wait(ctx, "k", 1)) }
		reset := func() { assert.ErrorContains(t, l.Reset(ctx, "k"), noTurn) }
		at(0, 80*ms, reserve(false))
		at(30*ms, 110*ms, reserve(false)) // at the same time as the one before
		at(31*ms, 131*ms, wait)           // asks at 110 ms, and can't wait for the answer
		at(32*ms, 132*ms, reset)          // likewise
		at(33*ms, 133*ms, reset)          // likewise
		at(34*ms, 134*ms, reserve(true))  // likewise
		at(50*ms, 131*ms, wait)           // with the one that waits already
		at(135*ms, 215*ms, wait)          // all is over
		callers.Wait()
		time.Sleep(time.Second)
		n.told(t)
		assert.Zero(t, first.under.Load())
	})
}

// Whose context ends at the very instant at which the budget is over gets the error of the context:
// middleware tells by it that nobody waits for the answer.
func TestFallback_ContextThatEndsWithTheBudget(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, _ *news) {
		first.hang()
		_, err := l.Take(ending{context.Background(), time.Now().Add(100 * time.Millisecond)}, "k", 1)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// ending is a context that ends at an instant. Its Done is never seen closed: a select that chooses
// at random among what is ready may not see it either.
type ending struct {
	context.Context
	at time.Time
}

func (c ending) Err() error {
	if time.Now().Before(c.at) {
		return nil
	}
	return context.DeadlineExceeded
}
