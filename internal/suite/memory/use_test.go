package memory

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/kit"
	"github.com/weir-go/weir/internal/suite/runs"
)

// perProcessor is what a store keeps for each processor once it has had many keys, in bytes. It
// also keeps up to a hundredth of the memory that it had.
const perProcessor = 4 << 10

// R22: a million keys come once, and then only ten regular ones, for which the limiter allows,
// denies or looks. The store forgets the others, and gives their memory back.
func TestR22_MemoryFollowsTheKeysInUse(t *testing.T) {
	const regular = 10
	once := runs.Long(500_000, 50_000)
	look := func(l *weir.KeyedLimiter, k string) { _, _ = l.Take(context.Background(), k, 0) }
	allow := func(l *weir.KeyedLimiter, k string) { l.Allow(k) }
	take := func(l *weir.KeyedLimiter, k string) { _, _ = l.Take(context.Background(), k, 1) }
	upTo := func(l *weir.KeyedLimiter, k string) { _, _, _ = l.TakeUpTo(context.Background(), k, 1) }
	word := weir.TokenBucket{Limit: 1000, Per: time.Hour, Burst: 1e6}
	aLog := weir.SlidingLog{Limit: 2, Per: time.Minute}
	for _, c := range []struct {
		name   string
		policy weir.Policy
		ask    func(*weir.KeyedLimiter, string)
	}{
		{"a word, granted", word, allow},
		{"a word, taken", word, take},
		{"a word, denied", weir.TokenBucket{Limit: 1, Per: time.Minute}, allow},
		{"a log, denied", aLog, allow},
		{"a log, looked at", aLog, look},
		{"a word, looked at", word, look},
		{"a word, up to", word, upTo},
	}[:runs.Long(7, 5)] {
		t.Run(c.name, func(t *testing.T) {
			mock, store := new(ticking), new(weir.MemStore)
			l := weir.Must(weir.New(c.policy, weir.WithClock(mock), weir.WithStore(store)))
			before := calmHeap()
			for i := range once {
				l.Allow(kit.KeyName(i))
			}
			mock.now.Add(int64(time.Hour))
			peak := calmHeap() - before
			for i := range 4 * once {
				c.ask(l, kit.KeyName(i%regular))
			}
			assert.Less(t, store.Len(), once/20)
			assert.Less(t, calmHeap()-before, peak/100+perProcessor*runtime.GOMAXPROCS(0), "bytes, of %d", peak)
			runtime.KeepAlive(l)
		})
	}
}

// R22: keys that expire and come back in turn are kept. It would cost more to make them again each
// time.
func TestR22_KeysThatComeBackStay(t *testing.T) {
	keys := runs.Long(100_000, 40_000) // more than fit into the 20 ms of the log
	for _, p := range []weir.Policy{
		weir.TokenBucket{Limit: 1000, Per: time.Second},
		weir.SlidingLog{Limit: 5, Per: 20 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			mock, store := new(stepping), new(weir.MemStore)
			l := weir.Must(weir.New(p, weir.WithClock(mock), weir.WithStore(store)))
			for i := range keys {
				l.Allow(kit.KeyName(i))
			}
			for round := range runs.Long(20, 2) {
				for i := range keys {
					mock.now.Add(int64(time.Microsecond)) // each key has expired since it was asked for last
					if !l.Allow(kit.KeyName(i)) {
						require.Fail(t, "denied")
					}
				}
				require.Greater(t, store.Len(), keys-keys/1000, "after round %d", round)
			}
		})
	}
}

// A stepping clock is moved by the test.
type stepping struct{ ticking }

func (c *stepping) Now() time.Time { return time.Unix(0, c.now.Load()) }

// R22: keys of which the store has several words share pages. Where one of a hundred stays in use,
// it takes as much as in a store that has not seen the others.
func TestR22_SurvivorsShareFewPages(t *testing.T) {
	keys := runs.Long(200_000, 50_000)
	for _, p := range []weir.Policy{
		weir.SlidingLog{Limit: 3, Per: time.Hour},
		weir.TokenBucket{Limit: 7, Per: time.Hour},
		weir.SlidingWindow{Limit: 5, Per: time.Hour, Buckets: 10},
	}[:runs.Long(3, 1)] {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			bytes := func(every int) int {
				mock, store := new(ticking), new(weir.MemStore)
				before := calmHeap()
				l := weir.Must(weir.New(p, weir.WithClock(mock), weir.WithStore(store)))
				for i := 0; i < keys; i += every {
					l.Allow(kit.KeyName(i))
				}
				for range 6 {
					mock.now.Add(int64(30 * time.Minute))
					for i := range keys {
						l.Allow(kit.KeyName(i % (keys / 100) * 100))
					}
				}
				require.LessOrEqual(t, store.Len(), keys/100*2)
				defer runtime.KeepAlive(l)
				return calmHeap() - before
			}
			fresh := bytes(100)
			assert.Less(t, bytes(1), 2*fresh+perProcessor*runtime.GOMAXPROCS(0), "bytes, where a fresh store takes %d", fresh)
		})
	}
}

// R22: a limiter costs what its keys need, and next to nothing before it is used.
func TestR22_ManyLimiters(t *testing.T) {
	const meanwhile = 16 << 10 // bytes that the runtime and others may allocate
	limiters := runs.Long(5000, 700)
	for _, p := range kit.EveryPolicy {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			all := make([]*weir.KeyedLimiter, limiters)
			before := calmHeap()
			for i := range all {
				all[i] = weir.Must(weir.New(p))
			}
			made := (calmHeap() - before - meanwhile) / limiters
			for i, l := range all {
				l.Allow(kit.KeyName(i))
				l.Allow(kit.KeyName(i + 1))
			}
			used := (calmHeap() - before - meanwhile) / limiters
			assert.Less(t, made, 800, "bytes of a limiter that was made")
			assert.Less(t, used, 2000, "bytes of a limiter with two keys")
			runtime.KeepAlive(all)
		})
	}
}

// calmHeap is the heap without garbage, including objects that are freed only after the cleanup of
// other garbage.
func calmHeap() int {
	for before := heap(); ; {
		runtime.Gosched()
		now := heap()
		if now >= before {
			return now
		}
		before = now
	}
}
