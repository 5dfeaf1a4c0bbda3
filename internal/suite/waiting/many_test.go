package waiting

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir"
	"github.com/weir-go/weir/internal/suite/runs"
)

// A timerCount is the bubble's clock. It counts the timers that are set and have not yet gone off.
type timerCount struct {
	mu   sync.Mutex
	due  []time.Time
	sets int // how many were set
	most int // how many there were at the same time
}

func (c *timerCount) Now() time.Time { return time.Now() }

func (c *timerCount) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.due = slices.DeleteFunc(c.due, func(due time.Time) bool { return !due.After(now) })
	c.due = append(c.due, now.Add(d))
	c.most, c.sets = max(c.most, len(c.due)), c.sets+1
	return time.After(d)
}

func (c *timerCount) count() (sets, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sets, c.most
}

// However many wait for a key, one timer runs for them, and no goroutine.
func TestWait_ManyShareOneTimerAndNoGoroutine(t *testing.T) {
	waiters := runs.Long(10_000, 1000)
	for _, p := range policiesToWaitFor {
		t.Run(fmt.Sprintf("%T", p), func(t *testing.T) {
			clock := new(timerCount)
			bubble(t, p, func(c *crowd) {
				before := runtime.NumGoroutine()
				for i := range waiters {
					c.come(strconv.Itoa(i), 1)
				}
				assert.LessOrEqual(c.t, runtime.NumGoroutine(), before+waiters, "beside those of the callers")
				sets, _ := clock.count()
				assert.Equal(c.t, 1, sets)
				c.end()
				for i, w := range c.callers {
					require.NoError(c.t, w.err)
					require.Equal(c.t, time.Duration(i)*time.Second, w.at.Truncate(100*time.Microsecond))
				}
				sets, most := clock.count()
				assert.Equal(c.t, 1, most, "timers at the same time")
				assert.LessOrEqual(c.t, sets, waiters)
			}, weir.WithClock(clock))
		})
	}
}

// A waiting caller costs weir a few words, beside the goroutine that the caller brings.
func TestWait_CostsAFewWordsEach(t *testing.T) {
	waiters := runs.Long(5000, 1000)
	for _, p := range policiesToWaitFor {
		synctest.Test(t, func(t *testing.T) {
			l := weir.Must(weir.New(p))
			ctx, cancel := context.WithCancel(context.Background())
			arrive := make(chan struct{})
			var all sync.WaitGroup
			for range waiters {
				all.Go(func() {
					<-arrive
					_ = l.Wait(ctx, "k", 1)
				})
			}
			synctest.Wait() // so that the goroutines are there, and counted, before
			before := heapInUse()
			close(arrive)
			synctest.Wait()
			each := float64(heapInUse()-before) / float64(waiters)
			t.Logf("%T: %.0f bytes", p, each)
			assert.Less(t, each, 400.0, "bytes of heap per waiter")
			cancel()
			all.Wait()
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A thousand keys with ten waiters each: each key goes its own way.
func TestWait_ManyKeys(t *testing.T) {
	for _, p := range policiesToWaitFor {
		bubble(t, p, func(c *crowd) {
			for i := range 10 {
				for key := range 200 {
					c.comeFor(fmt.Sprint("key ", key), fmt.Sprint(i), 1, context.Background())
				}
			}
			assert.Equal(c.t, 200, linesOf(c.l))
			c.end()
			for i, w := range c.callers {
				require.NoError(c.t, w.err)
				require.Equal(c.t, time.Duration(i/200)*time.Second, w.at.Truncate(time.Microsecond))
			}
		})
	}
}
