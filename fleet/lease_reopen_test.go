package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// The store has denied, and its answer is under way while events are given back. That answer does not
// keep the key shut.
func TestLease_AReturnBeforeAnOlderAnswerOpensTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, hold := new(weir.MemStore), false
		goOn := make(chan struct{})
		l := newLeased(weir.FixedWindow{Limit: 1000, Per: time.Hour}, kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := store.Do(ctx, r)
			if hold && r.N > 0 {
				hold = false
				<-goOn
			}
			return a, err
		}), fleet.LeaseOptions{})
		ask := func() bool {
			time.Sleep(500 * time.Microsecond)
			return l.Allow("k")
		}
		for range 3000 { // uses all up, and goes on being denied
			ask()
		}
		hold = true
		denied := make(chan bool)
		go func() {
			for hold {
				ask()
			}
			denied <- true
		}()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.False(t, hold, "the store was not asked")
		require.NoError(t, l.Return(context.Background(), "k", 500))
		close(goOn)
		<-denied
		synctest.Wait()
		assert.True(t, l.Allow("k"))
		require.NoError(t, l.lease.Release(context.Background()))
	})
}

// A look adds what is held here to what the store has. If that is the whole limit, there is no more.
func TestLease_ALookAtAKeyOfWhichAllRemain(t *testing.T) {
	kit.EachInBubble(t, windows, func(t *testing.T, p weir.Policy) {
		ctx := context.Background()
		l := newLeased(p, new(weir.MemStore), fleet.LeaseOptions{})
		granted := l.busy(t)
		look := func() weir.Result {
			r, err := l.TakeByComponent(ctx, "k", 0, nil)
			require.NoError(t, err)
			return r
		}
		assert.NotZero(t, look().MoreAfter)
		require.NoError(t, l.Return(ctx, "k", granted))
		r := look()
		assert.Equal(t, r.Limit, r.Remaining)
		assert.Zero(t, r.MoreAfter)
		require.NoError(t, l.lease.Release(ctx))
	})
}
