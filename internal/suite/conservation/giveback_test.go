package conservation

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
)

// P22: returns of a key run at the same time, also while somebody has booked. Many of them take as
// long as one.
func TestP22_ReturnsGoOnAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 10, Per: time.Hour}, weir.WithStore(new(afterMS))))
		_, err := l.Take(context.Background(), "k", 10)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		var waiting, returns sync.WaitGroup
		waiting.Go(func() { _ = l.Wait(ctx, "k", 10) })
		time.Sleep(time.Second)
		began := time.Now()
		for range 1000 {
			returns.Go(func() { _ = l.Return(context.Background(), "k", 1) })
		}
		returns.Wait()
		assert.Equal(t, time.Millisecond, time.Since(began))
		cancel()
		waiting.Wait()
	})
}

// afterMS is a MemStore that answers after a millisecond.
type afterMS struct{ weir.MemStore }

func (s *afterMS) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	time.Sleep(time.Millisecond)
	return s.MemStore.Do(ctx, r)
}
