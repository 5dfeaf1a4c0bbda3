package memory

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A file that is saved while decisions are made, policies change, and keys come and go holds states
// that the keys had at some instant meanwhile.
func TestSaveDuringDecisions(t *testing.T) {
	const limit, keys = 1 << 30, 100
	policies := []weir.Policy{weir.FixedWindow{Limit: limit, Per: 1000 * time.Hour, FromFirst: true}, weir.SlidingWindow{Limit: limit, Per: 1000 * time.Hour, Buckets: 10}}
	store := new(weir.MemStore)
	var limiters []*weir.KeyedLimiter
	for i, p := range policies {
		limiters = append(limiters, weir.Must(weir.New(p, weir.WithStore(store), weir.WithName(strconv.Itoa(i)))))
	}
	changing := weir.Must(weir.New(weir.SlidingLog{Limit: 5, Per: time.Millisecond}, weir.WithStore(store), weir.WithName("changing")))
	var granted [2][keys]atomic.Int64
	var busy sync.WaitGroup
	stop := make(chan struct{})
	for g := range 4 {
		busy.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 5))
			for {
				select {
				case <-stop:
					return
				default:
				}
				which, i := random.IntN(2), random.IntN(keys)
				if limiters[which].Allow(kit.KeyName(i)) {
					granted[which][i].Add(1)
				}
				changing.Allow(kit.KeyName(random.IntN(2000)))
				if random.IntN(50) == 0 {
					assert.NoError(t, changing.SetPolicy(context.Background(), everyPolicy[random.IntN(len(everyPolicy))]))
				}
			}
		})
	}
	for range runs.Long(25, 5) {
		var before [2][keys]int64
		for which := range before {
			for i := range before[which] {
				before[which][i] = granted[which][i].Load()
			}
		}
		loaded := kit.Reloaded(store)
		for which, p := range policies {
			l := weir.Must(weir.New(p, weir.WithStore(loaded), weir.WithName(strconv.Itoa(which))))
			for i := range keys {
				used := int64(limit - kit.Take(t, l, kit.KeyName(i), 0).Remaining)
				require.GreaterOrEqual(t, used, before[which][i])
				require.LessOrEqual(t, used, granted[which][i].Load()+4, "but for those that are being counted")
			}
		}
	}
	close(stop)
	busy.Wait()
}

// A file can be loaded even if far more keys come while it is saved than there were before.
func TestSaveWhileManyKeysCome(t *testing.T) {
	const keys, more = 3000, 240_000
	policy := weir.FixedWindow{Limit: 1, Per: weir.Never}
	store := new(weir.MemStore)
	l := weir.Must(weir.New(policy, weir.WithStore(store)))
	for i := range keys {
		l.Allow(kit.KeyName(i))
	}
	var file bytes.Buffer
	require.NoError(t, store.Save(writerFunc(func(p []byte) (int, error) {
		for i := store.Len(); i < keys+more; i++ {
			l.Allow(kit.KeyName(i))
		}
		return file.Write(p)
	})))
	loaded := new(weir.MemStore)
	require.NoError(t, loaded.Load(&file))
	l = weir.Must(weir.New(policy, weir.WithStore(loaded)))
	for i := range keys {
		require.False(t, l.Allow(kit.KeyName(i)))
	}
}
