package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/suite/kit"
)

// A replica is a store that reads, and fails whatever would write.
type replica struct{ weir.MemStore }

func (s *replica) Do(ctx context.Context, r weir.Request) (weir.Answer, error) {
	look := r
	look.N, look.Forget = 0, false
	a, err := s.MemStore.Do(ctx, look)
	if r.N < 0 || r.Forget || r.N > 0 && a.Remaining >= r.N {
		return weir.Answer{}, kit.ErrStore
	}
	if r.N == 0 {
		return a, err
	}
	return s.MemStore.Do(ctx, r)
}

// Each denial by a read-only replica ended the outage, and the next grant began it again.
func TestFallback_OnlyWhatWritesEndsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, n := new(replica), new(news)
		var writes bool
		store := fleet.Fallback(kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if writes {
				return first.MemStore.Do(ctx, r)
			}
			return first.Do(ctx, r)
		}), new(weir.MemStore), fleet.FallbackOptions{Report: n.report})
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 1, Per: 24 * time.Hour}, weir.WithStore(store)))
		writes = true
		kit.Take(t, l, "used up", 1)
		writes = false
		assert.True(t, kit.Take(t, l, "first", 1).Degraded)
		n.told(t, "the store fails")

		for range 60 {
			time.Sleep(time.Second)
			r := kit.Take(t, l, "used up", 1)
			assert.False(t, r.Allowed || r.Degraded, "answered by first")
			assert.False(t, kit.Take(t, l, "k", 0).Degraded, "another request asks first at once")
			assert.True(t, kit.Take(t, l, "k", 1).Degraded)
			n.told(t, "the store fails")
			assert.True(t, kit.Take(t, l, "used up", 0).Degraded, "in the cool-down")
		}

		writes = true
		time.Sleep(time.Second)
		for range 3 {
			assert.False(t, kit.Take(t, l, "used up", 1).Degraded)
		}
		n.told(t)
		assert.False(t, kit.Take(t, l, "new", 1).Degraded)
		n.told(t, "<nil>")
	})
}

func TestFallback_AResetEndsAnOutage(t *testing.T) {
	inFallback(t, fleet.FallbackOptions{}, func(t *testing.T, l *weir.KeyedLimiter, first *shared, n *news) {
		first.fail(kit.ErrStore)
		kit.Take(t, l, "k", 1)
		first.work()
		time.Sleep(time.Second)
		assert.NoError(t, l.Return(context.Background(), "k", 1))
		n.told(t, "the store fails") // there was nothing to give back, and so nothing to write
		assert.NoError(t, l.Reset(context.Background(), "k"))
		n.told(t, "<nil>")
	})
}

// The first store reads the clock when its call is over, a second after the second store has
// decided. The instant that the second store told stands.
func TestR17_ALateFirstStoreMovesNoInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, late, read := new(weir.MemStore), make(chan struct{}), make(chan struct{})
		first := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			if r.N == 1 {
				return mem.Do(ctx, r)
			}
			<-late
			r.Now()
			close(read)
			return weir.Answer{}, kit.ErrStore
		})
		second := kit.StoreFunc(func(ctx context.Context, r weir.Request) (weir.Answer, error) {
			a, err := mem.Do(ctx, r)
			time.Sleep(time.Second)
			close(late)
			<-read
			return a, err
		})
		store := fleet.Fallback(first, second, fleet.FallbackOptions{Budget: time.Second})
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 10 * time.Second, Burst: 2}, weir.WithStore(store)))
		kit.Reserve(t, l, 1)
		assert.Equal(t, 8*time.Second, kit.Reserve(t, l, 2).Delay())
	})
}
