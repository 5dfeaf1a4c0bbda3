package waiting_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
)

// slowly returns a store over a network that takes its time, unless ctx ends before.
func slowly(takes time.Duration) weir.Store {
	mem := new(weir.MemStore)
	return kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
		answer, err := mem.Do(context.WithoutCancel(ctx), r)
		select {
		case <-ctx.Done():
			return weir.Answer{}, ctx.Err()
		case <-time.After(takes):
			return answer, err
		}
	})
}

// R16: a caller that is cancelled while the store decides learns what was booked, and gives it back.
// The store has a second for that. A deadline is kept to the instant.
func TestR16_ReserveIsCancelledWhileTheStoreDecides(t *testing.T) {
	for _, test := range []struct {
		store, deadline, returns time.Duration
		want                     error
	}{
		{500 * time.Millisecond, time.Minute, 500 * time.Millisecond, nil},
		{500 * time.Millisecond, 300 * time.Millisecond, 300 * time.Millisecond, context.DeadlineExceeded},
		{time.Minute, time.Hour, time.Second, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := weir.Must(weir.New(weir.SlidingLog{Limit: 9, Per: time.Hour}, weir.WithStore(slowly(test.store))))
			for _, reserve := range []func(context.Context, *weir.Reservation) (*weir.Reservation, error){
				func(ctx context.Context, _ *weir.Reservation) (*weir.Reservation, error) {
					return l.Reserve(ctx, "k", 2)
				},
				func(ctx context.Context, r *weir.Reservation) (*weir.Reservation, error) {
					return r, l.ReserveNow(ctx, "k", 2, r, nil)
				},
			} {
				timed, stop := context.WithTimeout(t.Context(), test.deadline)
				defer stop()
				ctx, cancel := context.WithCancel(timed)
				time.AfterFunc(100*time.Millisecond, cancel)
				if test.want == context.DeadlineExceeded {
					ctx = timed
				}
				start := time.Now()
				r, err := reserve(ctx, new(weir.Reservation))
				require.ErrorIs(t, err, test.want)
				assert.Equal(t, test.returns, time.Since(start))
				if err == nil {
					require.NoError(t, r.Cancel(ctx))
					assert.Equal(t, 9, kit.Take(t, l, "k", 0).Remaining)
				}
			}
		})
	}
}

// R16: nor does a Wait leave a trace that is cancelled while the store decides.
func TestR16_WaitIsCancelledWhileTheStoreDecides(t *testing.T) {
	for _, p := range []weir.Policy{weir.SlidingLog{Limit: 1, Per: time.Hour}, weir.TokenBucket{Limit: 1, Per: time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			l := weir.Must(weir.New(p, weir.WithStore(slowly(500*time.Millisecond))))
			kit.Take(t, l, "k", 1)
			before := kit.Take(t, l, "k", 1)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			require.ErrorIs(t, l.Wait(ctx, "k", 1), context.Canceled)
			after := kit.Take(t, l, "k", 1)
			assert.Less(t, after.RetryAfter, before.RetryAfter, "%v: the turn that it had is free", p)
		})
	}
}

// A deadline of a mock clock has passed by the system's clock, and does not end the call.
func TestReserve_DeadlineOfAMockClock(t *testing.T) {
	l, clock := kit.Frozen(weir.SlidingLog{Limit: 9, Per: time.Hour}, weir.WithStore(slowly(0)))
	clock.Time = time.Unix(0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := l.Reserve(kit.Deadline{Context: ctx, At: clock.Now().Add(time.Second)}, "k", 1)
	assert.NoError(t, err)
}

// R16: who gives back waits for other calls of the key for a second at most, also over a MemStore, where
// only a slow function of WithPolicyFor keeps others waiting.
func TestR16_GivingBackWhileAPolicyIsLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type slow struct{}
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 3, Per: time.Hour}, weir.WithPolicyFor(
			func(ctx context.Context, _ string) weir.Policy {
				if ctx.Value(slow{}) != nil {
					time.Sleep(time.Minute)
				}
				return weir.SlidingLog{Limit: 3, Per: time.Hour}
			})))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		r, another, done := kit.Reserve(t, l, 2), kit.Reserve(t, l, 1), make(chan error)
		go func() { done <- l.Wait(context.WithValue(t.Context(), slow{}, true), "k", 1) }()
		time.Sleep(time.Minute + time.Second) // it looks the policy up once before it stands in line, and then there
		for name, giveBack := range map[string]func() error{
			"Cancel": func() error { return r.Cancel(ended) },
			"Settle": func() error { return another.Settle(ended, 0) },
			"Return": func() error { return l.Return(ended, "k", 1) },
		} {
			start := time.Now()
			assert.Error(t, giveBack(), name)
			assert.Equal(t, time.Second, time.Since(start), name)
		}
		assert.NoError(t, <-done)
	})
}
