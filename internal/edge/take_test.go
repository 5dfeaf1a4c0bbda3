package edge_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
	"github.com/weir-go/weir/internal/suite/kit"
)

func limiter(p weir.Policy) *weir.KeyedLimiter { return weir.Must(weir.New(p)) }

var (
	forever = context.Background()
	bucket  = weir.TokenBucket{Limit: 1, Per: time.Second, Burst: 2}
	queue   = weir.LeakyBucket{Limit: 1, Per: time.Second, Capacity: 1}
)

// spread occupies the outlet of a limiter, and the places behind it.
func spread(t *testing.T, l *weir.KeyedLimiter, n int) {
	t.Helper()
	for range n {
		r, err := l.Reserve(forever, "k", 1)
		require.NoError(t, err)
		require.True(t, r.Allowed)
	}
}

func TestTake_WithoutWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(bucket)
		r, waited, err := edge.Take(forever, l, "k", 2, 0, true)
		require.NoError(t, err)
		assert.Equal(t, weir.Result{Allowed: true, Limit: 2, ResetAfter: 2 * time.Second}, r)
		r, _, err = edge.Take(forever, l, "k", 1, 0, true)
		require.NoError(t, err)
		assert.Equal(t, weir.Result{Limit: 2, RetryAfter: time.Second, ResetAfter: 2 * time.Second}, r)
		assert.Zero(t, waited)
	})
}

func TestTake_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(bucket)
		spread(t, l, 2)
		r, waited, err := edge.Take(forever, l, "k", 1, time.Second, true)
		require.NoError(t, err)
		assert.Equal(t, weir.Result{Allowed: true, Limit: 2, ResetAfter: 2 * time.Second}, r, "after the wait")
		assert.Equal(t, time.Second, waited)
		r, _, err = edge.Take(forever, l, "k", 1, time.Second, false)
		require.NoError(t, err)
		assert.Equal(t, weir.Result{Allowed: true}, r)
	})
}

// RetryAfter of a denial is the time after which the same call is granted, if it waits as long
// again.
func TestTake_RetryAfterCountsOnTheWait(t *testing.T) {
	for _, c := range []struct {
		name     string
		policy   weir.Policy
		booked   int
		n        int
		deadline time.Duration
		want     time.Duration
	}{
		{"MaxWait", bucket, 4, 1, time.Hour, 1500 * time.Millisecond},
		{"the call's deadline: granted just before it, the call could do nothing", bucket, 4, 1, 100 * time.Millisecond, 3 * time.Second},
		{"never", bucket, 0, 3, time.Hour, weir.Never},
		{"a full queue", queue, 2, 1, time.Hour, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(c.policy)
			spread(t, l, c.booked)
			ctx, cancel := context.WithTimeout(forever, c.deadline)
			defer cancel()
			r, waited, err := edge.Take(ctx, l, "k", c.n, 1500*time.Millisecond, true)
			require.NoError(t, err)
			assert.False(t, r.Allowed)
			assert.Zero(t, waited, "refused at once")
			assert.Equal(t, c.want, r.RetryAfter, c.name)
			if c.want == weir.Never {
				return
			}
			time.Sleep(c.want)
			again, cancel := context.WithTimeout(forever, c.deadline)
			defer cancel()
			r, _, err = edge.Take(again, l, "k", c.n, 1500*time.Millisecond, true)
			require.NoError(t, err)
			assert.True(t, r.Allowed, c.name)
		})
	}
}

// Events that others wait for are not taken by a call that was refused.
func TestTake_OthersWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(weir.SlidingLog{Limit: 2, Per: time.Second})
		require.True(t, l.Allow("k"))
		done := make(chan error)
		go func() { done <- l.Wait(forever, "k", 2) }()
		synctest.Wait()
		// Without a Return: what it took would be lost.
		r, _, err := edge.Take(forever, struct{ weir.Limiter }{l}, "k", 1, time.Second/2, true)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
		assert.Zero(t, r.Remaining)
		assert.Equal(t, time.Second/2, r.RetryAfter, "when the others are served at the latest")
		assert.NoError(t, <-done)
	})
}

// A wait that ends with MaxWait is a denial, and one that ends with the call is none.
func TestTake_WaitsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, waited, err := edge.Take(forever, endless{}, "k", 1, time.Second, true)
		require.NoError(t, err)
		assert.Equal(t, weir.Result{Limit: 1, RetryAfter: time.Minute - time.Second}, r)
		assert.Equal(t, time.Second, waited)

		ctx, cancel := context.WithTimeout(forever, time.Second/2)
		defer cancel()
		_, waited, err = edge.Take(ctx, endless{}, "k", 1, time.Second, true)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second/2, waited)
	})
}

// endless is a limiter whose waits never end.
type endless struct{}

func (endless) Allow(string) bool { return false }

func (endless) Take(context.Context, string, int) (weir.Result, error) {
	return weir.Result{Limit: 1, RetryAfter: time.Minute}, nil
}

func (endless) Wait(ctx context.Context, _ string, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTake_NoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(forever)
		cancel()
		_, _, err := edge.Take(ended, limiter(bucket), "k", 1, time.Second, true)
		assert.ErrorIs(t, err, context.Canceled)

		l := limiter(bucket)
		spread(t, l, 2)
		brief, cancel := context.WithCancel(forever)
		time.AfterFunc(time.Second/2, cancel)
		_, waited, err := edge.Take(brief, l, "k", 1, time.Hour, true)
		assert.ErrorIs(t, err, context.Canceled, "the client has gone")
		assert.Equal(t, time.Second/2, waited)

		_, _, err = edge.Take(forever, l, "k", -1, time.Second, true)
		assert.ErrorContains(t, err, "-1")
		down := errors.New("down")
		_, _, err = edge.Take(forever, broken{down}, "k", 1, time.Second, true)
		assert.ErrorIs(t, err, down)
	})
}

// A store that takes longer than it allows itself has not denied the call.
func TestTake_TimeLimitOfTheStore(t *testing.T) {
	slow := fmt.Errorf("no reply: %w", context.DeadlineExceeded)
	_, _, err := edge.Take(forever, recovers{broken{slow}}, "k", 1, time.Minute, true)
	assert.ErrorIs(t, err, slow)
}

// If MaxWait passes while the store is asked, that is a denial, whichever of two timers is first: that
// of MaxWait, or that of the context which the store gets. The deadline of the call is no denial.
func TestTake_MaxWaitPassesInTheStore(t *testing.T) {
	mem := new(weir.MemStore)
	l := weir.Must(weir.New(bucket, weir.WithStore(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		select {
		case <-time.After(time.Minute):
			return mem.Do(ctx, r)
		case <-ctx.Done():
			return weir.Answer{}, ctx.Err()
		}
	}))))
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			r, waited, err := edge.Take(forever, l, "k", 1, time.Second, true)
			require.NoError(t, err)
			assert.False(t, r.Allowed)
			assert.Equal(t, time.Second, waited)

			ctx, cancel := context.WithTimeout(forever, time.Second)
			defer cancel()
			_, waited, err = edge.Take(ctx, l, "k", 1, time.Hour, true)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Second, waited)
		})
	}
}

// recovers is a limiter whose store has failed in Wait, and answers afterwards.
type recovers struct{ broken }

func (recovers) Take(context.Context, string, int) (weir.Result, error) {
	return weir.Result{Allowed: true, Limit: 9, Remaining: 9}, nil
}

// A denial whose Result the limiter cannot report is no decision.
func TestTake_NoResult(t *testing.T) {
	down := errors.New("down")
	_, _, err := edge.Take(forever, denying{broken{down}}, "k", 1, time.Second, true)
	assert.ErrorIs(t, err, down)
}

type broken struct{ err error }

func (broken) Allow(string) bool { return false }

func (b broken) Take(context.Context, string, int) (weir.Result, error) { return weir.Result{}, b.err }

func (b broken) Wait(context.Context, string, int) error { return b.err }

type denying struct{ broken }

func (denying) Wait(context.Context, string, int) error { return weir.ErrTooLate }

// What the shared store has not counted is not given back to it: the call is granted.
func TestTake_DegradedAfterADenial(t *testing.T) {
	r, _, err := edge.Take(forever, degraded{}, "k", 1, time.Second, true)
	require.NoError(t, err)
	assert.True(t, r.Allowed)
}

// degraded grants without its shared store, which has denied before.
type degraded struct{ denying }

func (degraded) Take(_ context.Context, _ string, n int) (weir.Result, error) {
	return weir.Result{Allowed: true, Degraded: n > 0}, nil
}

func (degraded) Return(context.Context, string, int) error { panic("the events of another") }
