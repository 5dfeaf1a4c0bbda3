package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// Waiters leave while others of their key leave, or come. The first store needs most of the budget for
// each, and has freed their events in any case: the waiters behind move up, and nobody else gets their
// instants.
func TestR17_BackFromASlowFirstStore(t *testing.T) {
	for name, behind := range map[string]string{"another that leaves": "W1", "one that comes": "W6"} {
		t.Run("behind "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, n := new(shared), new(news)
				l := weir.Must(weir.New(weir.LeakyBucket{Limit: 1, Per: 10 * time.Second, Capacity: 50}, weir.WithStore(
					fleet.Fallback(first, new(weir.MemStore), fleet.FallbackOptions{Report: n.report}))))
				began := time.Now()
				require.True(t, l.Allow("k"))
				var all sync.WaitGroup
				var mu sync.Mutex
				went := map[string]time.Duration{}
				leave := map[string]context.CancelFunc{}
				come := func(name string) {
					var ctx context.Context
					ctx, leave[name] = context.WithCancel(context.Background())
					all.Go(func() {
						if l.Wait(ctx, "k", 1) == nil {
							mu.Lock()
							defer mu.Unlock()
							went[name] = time.Since(began) / time.Second
						}
					})
					synctest.Wait()
				}
				for i := range 5 {
					come(fmt.Sprint("W", i+1))
				}
				first.takes.Store(int64(80 * time.Millisecond))
				time.Sleep(time.Second)
				if behind == "W6" {
					come(behind)
				} else {
					leave[behind]()
				}
				time.Sleep(time.Millisecond)
				leave["W3"]()
				time.Sleep(time.Second)
				come("W7")
				all.Wait()
				n.told(t)
				want := map[string]time.Duration{"W2": 10, "W4": 20, "W5": 30, "W7": 40}
				if behind == "W6" {
					want = map[string]time.Duration{"W1": 10, "W2": 20, "W4": 30, "W5": 40, "W6": 50, "W7": 60}
				}
				assert.Equal(t, want, went)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
