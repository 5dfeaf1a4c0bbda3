package weir_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// Allow has a way of its own through MemStore; it must answer as Take does.
func TestAllowIsTakeOfOne(t *testing.T) {
	kit.EachInBubble(t, kit.EveryPolicy, func(t *testing.T, p weir.Policy) {
		mock := clock.NewMock()
		a := weir.Must(weir.New(p, weir.WithClock(mock)))
		b := weir.Must(weir.New(p, weir.WithClock(mock)))
		for i := range runs.Long(2000, 600) {
			require.Equal(t, kit.Take(t, a, "k", 1).Allowed, b.Allow("k"), "call %d", i)
			require.Equal(t, kit.Take(t, a, "k", 0), kit.Take(t, b, "k", 0), "after call %d", i)
			mock.Add(time.Duration(i*i%97) * time.Millisecond / 3)
		}
	})
}

// R6: only expired states are forgotten, in the course of other calls. For each processor the store
// has room for some 1,500 keys, so that processors seldom meet. Expired keys may stay there.
func TestR6_MemStoreForgets(t *testing.T) {
	kit.EachInBubble(t, kit.EveryPolicy, func(t *testing.T, p weir.Policy) {
		mock := clock.NewMock()
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithClock(mock), weir.WithStore(store)))
		for i := range 3000 {
			l.Allow(kit.KeyName(i))
		}
		require.Equal(t, 3000, store.Len(), "nothing can be forgotten yet")
		mock.Add(time.Minute)
		room := 1500 * runtime.GOMAXPROCS(0)
		for i := range max(4*room, 10_000) {
			l.Allow(kit.KeyName(3000 + i))
			mock.Add(time.Millisecond)
		}
		assert.Less(t, store.Len(), 2000+room)
	})
}

// A look, and what is given back to a new key, take up no memory.
func TestNewKeysThatCountNothing(t *testing.T) {
	kit.EachInBubble(t, kit.EveryPolicy, func(t *testing.T, p weir.Policy) {
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithStore(store)))
		kit.Take(t, l, "k", 0)
		require.NoError(t, l.Return(t.Context(), "k", 2))
		assert.Zero(t, store.Len())
	})
}

// R11: whatever bytes a key holds, and however long it is, it is a key of its own.
func TestR11_KeysAndNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	keys := []string{
		"", "\x00", "\x00\x00", "a", "a\x00", "\x00a", "a:b", "a:b:c", "{a}", "\xff\xfe", "\xff",
		long, long + "y", "y" + long, long[1:],
	}
	store := new(weir.MemStore)
	for _, name := range []string{"", "a", "a:", "a:b", "\x00"} {
		l := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Hour}, weir.WithStore(store), weir.WithName(name)))
		for _, k := range keys {
			require.True(t, l.Allow(k), "name %q, a key of %d bytes", name, len(k))
		}
	}
	assert.Equal(t, 5*len(keys), store.Len())
	again := weir.Must(weir.New(weir.SlidingLog{Limit: 2, Per: time.Hour}, weir.WithStore(store), weir.WithName("a:")))
	assert.Zero(t, kit.Take(t, again, "a:b", 1).Remaining, "the same name shares")
}

// A key's bytes may change after the call, as those of a request's buffer do.
func TestMemStoreKeepsNoKey(t *testing.T) {
	l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}))
	for range 2 {
		buffer := []byte("abc")
		l.Allow(unsafe.String(&buffer[0], len(buffer)))
		copy(buffer, "xyz")
	}
	assert.False(t, l.Allow("abc"))
	assert.True(t, l.Allow("xyz"))
}

// R10: while segments fill, divide and are copied, and other goroutines make it so, nothing is
// granted twice or lost.
func TestR10_MemStoreWhileItGrows(t *testing.T) {
	const keys, goroutines, limit = 20_000, 8, 5
	kit.EachInBubble(t, []weir.Policy{
		weir.TokenBucket{Limit: limit, Per: time.Hour},
		weir.TokenBucket{Limit: 7, Per: time.Hour, Burst: limit},
		weir.SlidingLog{Limit: limit, Per: time.Hour},
	}, func(t *testing.T, p weir.Policy) {
		store := new(weir.MemStore)
		l := weir.Must(weir.New(p, weir.WithClock(clock.NewMock()), weir.WithStore(store)))
		var granted atomic.Int64
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for i := range keys {
					if l.Allow(kit.KeyName(i)) {
						granted.Add(1)
					}
				}
			})
		}
		all.Wait()
		assert.EqualValues(t, keys*limit, granted.Load())
		assert.Equal(t, keys, store.Len())
	})
}

func TestMemStoreOptions(t *testing.T) {
	_, err := weir.New(weir.SlidingLog{Limit: 1, Per: 1}, weir.WithStore(&weir.MemStore{MaxKeys: -3}))
	assert.EqualError(t, err, "weir: MemStore.MaxKeys is -3, must be at least 0")
	assert.Zero(t, new(weir.MemStore).Len())
	_, err = weir.New(weir.SlidingLog{Limit: 1, Per: 1}, nil)
	assert.EqualError(t, err, "weir: New with a nil Option")
}

// P23: a policy that is changed every second, for years, or limiters that come and go on one store,
// do not fill the memory with policies that nobody uses.
func TestP23_PoliciesThatAreGone(t *testing.T) {
	store, mock := new(weir.MemStore), clock.NewMock()
	churn := func(first int) {
		l := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: time.Hour}, weir.WithStore(store), weir.WithClock(mock)))
		for i := range 100 {
			require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: first + i, Per: time.Hour}))
			l.Allow("a key that is carried from one to the next")
			l.Allow(kit.KeyName(first + i)) // one that keeps its policy
		}
	}
	for i := range 10 {
		churn(2 + 100*i)
		runtime.GC()
	}
	mock.Add(time.Hour)
	require.Eventually(t, func() bool {
		runtime.GC()
		last := weir.Must(weir.New(weir.TokenBucket{Limit: 1, Per: 1}, weir.WithStore(store), weir.WithClock(mock)))
		for i := range 2000 {
			last.Allow(kit.KeyName(i)) // lets the store sweep
		}
		return weir.Writers(store) <= 10
	}, time.Minute, time.Millisecond)
}

// A policy whose keys are still counted is remembered, though no limiter has it any more.
func TestPoliciesOfKeysThatCount(t *testing.T) {
	store, mock := new(weir.MemStore), clock.NewMock()
	old := weir.TokenBucket{Limit: 2, Per: time.Hour}
	l := weir.Must(weir.New(old, weir.WithStore(store), weir.WithClock(mock)))
	require.True(t, l.Allow("k"))
	require.NoError(t, l.SetPolicy(background, weir.TokenBucket{Limit: 4, Per: time.Hour}))
	for range 20 {
		runtime.GC()
	}
	assert.Equal(t, 2, kit.Take(t, l, "k", 0).Remaining)
}
