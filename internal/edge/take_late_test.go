package edge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/edge"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A store that answers too late once has denied the call. Nobody waits for what remains, so the next
// call may come at once, and not when the window has ended.
func TestTake_StoreIsSlowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, stall := new(weir.MemStore), 300*time.Millisecond
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 10, Per: 24 * time.Hour}, weir.WithStore(
			kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				select {
				case <-time.After(stall):
					return mem.Do(ctx, r)
				case <-ctx.Done():
					stall = 0
					return weir.Answer{}, ctx.Err()
				}
			}))))
		r, _, err := edge.Take(forever, l, "k", 1, 200*time.Millisecond, true)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
		assert.EqualValues(t, 1, r.RetryAfter)
		assert.Equal(t, 10, r.Remaining)
		r, _, err = edge.Take(forever, l, "k", 1, 200*time.Millisecond, true)
		require.NoError(t, err)
		assert.True(t, r.Allowed)
	})
}

// A dry run refuses nothing, however slow the store is. It asks once, and tells what it has seen.
func TestTake_DryRunOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, asked := new(weir.MemStore), 0
		l := weir.Must(weir.New(weir.FixedWindow{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(
			kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				asked++
				select {
				case <-time.After(300 * time.Millisecond):
					return mem.Do(ctx, r)
				case <-ctx.Done():
					return weir.Answer{}, ctx.Err()
				}
			}))))
		refusals := 0
		dry := weir.Shadow(l, func(weir.Refusal) { refusals++ })
		for i := range 3 {
			r, waited, err := edge.Take(forever, dry, "k", 1, 200*time.Millisecond, true)
			require.NoError(t, err)
			assert.True(t, r.Allowed)
			assert.Equal(t, 1, r.Limit)
			assert.Equal(t, 300*time.Millisecond, waited)
			assert.Equal(t, i, refusals)
			assert.Equal(t, i+1, asked)
		}

		require.NoError(t, dry.Enforce(1))
		r, _, err := edge.Take(forever, dry, "k", 1, 200*time.Millisecond, true)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
	})
}

// A call whose time is up while others before it wait for more is told that nothing remains, as one that
// is refused at once is.
func TestTake_LateBehindOthersWhoWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(weir.SlidingLog{Limit: 10, Per: 10 * time.Second})
		require.True(t, kit.Take(t, l, "k", 10).Allowed)
		time.Sleep(9400 * time.Millisecond)
		var others sync.WaitGroup
		for _, n := range []int{5, 10} { // go after 10 s, and after 20 s
			others.Go(func() { assert.NoError(t, l.Wait(forever, "k", n)) })
			synctest.Wait()
		}
		time.Sleep(100 * time.Millisecond)
		for _, c := range []struct{ waited, retryAfter time.Duration }{
			{time.Second, 8500 * time.Millisecond}, // after 10.5 s, which leaves 9.5 s
			{0, 8500 * time.Millisecond},
		} {
			r, waited, err := edge.Take(forever, l, "k", 1, time.Second, true)
			require.NoError(t, err)
			assert.Equal(t, weir.Result{Limit: 10, RetryAfter: c.retryAfter, ResetAfter: c.retryAfter + time.Second}, r)
			assert.Equal(t, c.waited, waited)
		}
		others.Wait()
	})
}

// A call that is denied just before its time is up, with nobody else in line, may come again when it would
// be granted, and not only when the key has recovered.
func TestTake_DeniedJustBeforeItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := new(weir.MemStore)
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Hour}, weir.WithStore(
			kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
				time.Sleep(20 * time.Millisecond)
				return mem.Do(ctx, r)
			}))))
		require.True(t, kit.Take(t, l, "k", 1).Allowed) // counts at 20 ms
		time.Sleep(35 * time.Millisecond)
		require.True(t, kit.Take(t, l, "k", 1).Allowed) // counts at 75 ms
		time.Sleep(time.Hour - 1025*time.Millisecond)
		time.AfterFunc(950*time.Millisecond, func() { kit.Take(t, l, "k", 1) }) // takes the event that the call waits for
		r, _, err := edge.Take(forever, l, "k", 1, time.Second, true)
		require.NoError(t, err)
		assert.False(t, r.Allowed)
		assert.EqualValues(t, 1, r.RetryAfter, "the other event has come back since")
		r, _, err = edge.Take(forever, l, "k", 1, time.Second, true)
		require.NoError(t, err)
		assert.True(t, r.Allowed)
	})
}
