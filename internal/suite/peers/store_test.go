package peers

import (
	"fmt"
	"runtime"
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

// hammer lets goroutines take single events of the keys for as long as the clock moves, in steps,
// to the end. It returns how many were granted to each key.
func hammer(l *weir.KeyedLimiter, c *kit.MovingClock, step, end time.Duration, keys int) []int64 {
	granted := make([]atomic.Int64, keys)
	var over atomic.Bool
	var turns atomic.Int64
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := g; !over.Load(); i++ {
				if l.Allow(kit.KeyName(i % keys)) {
					granted[i%keys].Add(1)
				}
				turns.Add(1)
				if i%64 == 0 { // else the goroutine of the clock may wait for a time slice of each of these
					runtime.Gosched()
				}
			}
		})
	}
	for at, stop := time.Duration(0), time.Duration(0); at < end; at += step {
		c.NS.Store(int64(at))
		if at >= stop { // some times each key is asked at least 56 times, however late the goroutines run
			stop += end / 4
			for enough := turns.Load() + int64(72*keys); turns.Load() < enough; {
				runtime.Gosched()
			}
		}
		for i := range 20 { // new keys, so that the store sweeps, copies and divides meanwhile
			l.Allow(fmt.Sprintf("%v-%d", at, i))
		}
	}
	over.Store(true)
	all.Wait()
	counts := make([]int64, keys)
	for i := range granted {
		counts[i] = granted[i].Load()
	}
	return counts
}

// P5: elsewhere an entry that is found expired, and used again before it is dropped, is dropped all
// the same, and the key starts afresh. Here each key expires, is swept, and is used again all the
// time, and is never granted more than its rate.
func TestP5_ALiveEntryIsNeverDropped(t *testing.T) {
	end := runs.Long(200*time.Millisecond, 10*time.Millisecond)
	ms := int64(end / time.Millisecond)
	for _, test := range []struct {
		policy weir.Policy
		most   int64 // limit * end/per + limit
	}{
		{weir.TokenBucket{Limit: 1, Per: time.Millisecond}, ms + 1},         // a word, exchanged without a lock
		{weir.TokenBucket{Limit: 3, Per: 4 * time.Millisecond}, 3*ms/4 + 3}, // two words
		{weir.FixedWindow{Limit: 1, Per: time.Millisecond}, ms + 1},
		{weir.FixedWindow{Limit: 1, Per: time.Millisecond, FromFirst: true}, ms + 1},
		{weir.SlidingLog{Limit: 1, Per: time.Millisecond}, ms + 1},
	} {
		t.Run(fmt.Sprintf("%T%+v", test.policy, test.policy), func(t *testing.T) {
			c := new(kit.MovingClock)
			l := weir.Must(weir.New(test.policy, weir.WithClock(c), weir.WithStore(&weir.MemStore{MaxKeys: 500})))
			for i, granted := range hammer(l, c, 100*time.Microsecond, end, 4) {
				assert.LessOrEqual(t, granted, test.most, "key %d", i)
				assert.Greater(t, granted, int64(1), "key %d: the test is to use it again and again", i)
			}
		})
	}
}

// P8: elsewhere a time to live is rounded down to zero seconds, and so the limiter is off. Here a
// period of a nanosecond is kept for a nanosecond.
func TestP8_ShortPeriodsAreKept(t *testing.T) {
	for _, per := range []time.Duration{1, 2, 999, 1001, time.Millisecond - 1, 999 * time.Millisecond} {
		for _, p := range []weir.Policy{
			weir.TokenBucket{Limit: 1, Per: per},
			weir.LeakyBucket{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per},
			weir.FixedWindow{Limit: 1, Per: per, FromFirst: true},
			weir.SlidingWindow{Limit: 1, Per: per},
			weir.SlidingLog{Limit: 1, Per: per},
		} {
			c := new(kit.MovingClock)
			l := weir.Must(weir.New(p, weir.WithClock(c)))
			require.True(t, l.Allow("k"))
			for i := range 300 {
				require.True(t, l.Allow(kit.KeyName(i)), "the store has much to sweep")
				require.False(t, l.Allow("k"), "%T%+v", p, p)
			}
			c.NS.Store(int64(2 * per))
			require.True(t, l.Allow("k"), "%T%+v", p, p)
		}
	}
}

// P9: elsewhere the window is found out before the lock is taken, and an event that comes late to
// it clears the counts of the next. Here 100 in 50 ms are at most 100 in every window, on each key.
func TestP9_ALateEventDoesNotClearTheWindow(t *testing.T) {
	end := runs.Long(2*time.Second, 100*time.Millisecond)
	for _, p := range []weir.Policy{
		weir.FixedWindow{Limit: 100, Per: 50 * time.Millisecond},
		weir.SlidingWindow{Limit: 100, Per: 50 * time.Millisecond},
		weir.SlidingWindow{Limit: 100, Per: 50 * time.Millisecond, Buckets: 5},
	} {
		t.Run(fmt.Sprintf("%T%+v", p, p), func(t *testing.T) {
			c := new(kit.MovingClock)
			l := weir.Must(weir.New(p, weir.WithClock(c)))
			windows := int64(end / (50 * time.Millisecond))
			for i, granted := range hammer(l, c, 500*time.Microsecond, end, 3) {
				assert.LessOrEqual(t, granted, 100*windows, "key %d", i)
				assert.Greater(t, granted, int64(100), "key %d: the test is to use more than a window", i)
			}
		})
	}
}
