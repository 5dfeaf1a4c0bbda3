package remote

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A flightTest has a queue whose flights land when they are told to.
type flightTest struct {
	*queue
	began []*flight
	lands map[*flight]chan struct{}
}

func newFlightTest(maxUnderWay, maxFlights, maxCalls int) *flightTest {
	x := &flightTest{queue: newQueue(maxUnderWay), lands: map[*flight]chan struct{}{}}
	x.maxFlights, x.maxCalls = maxFlights, maxCalls
	var mu sync.Mutex
	x.process = func(f *flight) {
		land := make(chan struct{})
		mu.Lock()
		x.began, x.lands[f] = append(x.began, f), land
		mu.Unlock()
		<-land
	}
	return x
}

func (x *flightTest) join(n int) (calls []*call) {
	for range n {
		c := newCall(1)
		x.queue.join(c)
		calls = append(calls, c)
		synctest.Wait()
	}
	return calls
}

func (x *flightTest) land(i int) {
	close(x.lands[x.began[i]])
	synctest.Wait()
}

// sizes is how many calls there are in each of the flights that began.
func (x *flightTest) sizes() (n []int) {
	synctest.Wait()
	for _, f := range x.began {
		n = append(n, len(f.calls))
	}
	return n
}

func TestQueueTakesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFlightTest(100, 2, 3)
		calls := x.join(8)
		require.Equal(t, []int{1, 1}, x.sizes())
		assert.Equal(t, notSent, x.leave(calls[4]))
		assert.Equal(t, 5, x.length())
		x.land(0)
		assert.Len(t, calls[0].done, 1)
		assert.Equal(t, hasLanded, x.leave(calls[0]))
		require.Equal(t, []int{3, 1, 3}, []int{3, 1, len(x.began[2].calls)}, "no more than fit")
		assert.Equal(t, []*call{calls[2], calls[3], calls[5]}, x.began[2].calls, "in order, without the one that left")
		x.land(1)
		assert.Equal(t, []*call{calls[6], calls[7]}, x.began[3].calls)
		x.land(2)
		x.land(3)
		for i, c := range calls {
			assert.Len(t, c.done, map[bool]int{true: 0, false: 1}[i == 4])
		}
		assert.Zero(t, x.flights)
		assert.Zero(t, x.underWay)
	})
}

// A flight for which nobody waits any more is called off, and does not hold up others; but it counts as under
// way until its end.
func TestQueueLeavesWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFlightTest(5, 1, 2)
		calls := x.join(8)
		require.Equal(t, []int{1}, x.sizes())
		assert.Equal(t, maybeSent, x.leave(calls[0]))
		require.Equal(t, []int{1, 2}, x.sizes())
		<-x.began[0].gone
		assert.Equal(t, maybeSent, x.leave(calls[1]))
		require.Equal(t, []int{1, 2}, x.sizes(), "one waits for it still")
		select {
		case <-x.began[1].gone:
			t.Error("called off although one waits for it")
		default:
		}
		assert.Equal(t, maybeSent, x.leave(calls[2]))
		require.Equal(t, []int{1, 2, 2}, x.sizes())
		x.leave(calls[3])
		x.leave(calls[4])
		require.Equal(t, []int{1, 2, 2}, x.sizes(), "five are under way")
		x.land(0)
		require.Equal(t, []int{1, 2, 2, 1}, x.sizes(), "one has landed")
		for _, i := range []int{3, 2, 4, 5, 1} {
			x.land(i)
		}
		for _, c := range calls[5:] {
			assert.Len(t, c.done, 1)
		}
		assert.Zero(t, x.flights)
		assert.Zero(t, x.underWay)
	})
}

// Callers come, give up, and are served at any time: whatever happens, those who stay are served, no bound is
// passed, and all comes to rest.
func TestQueueComesToRest(t *testing.T) {
	for _, bounds := range [][3]int{{1000, 2, 64}, {5, 2, 3}, {1, 2, 64}, {4, 4, 1}} {
		q := newQueue(bounds[0])
		q.maxFlights, q.maxCalls = bounds[1], bounds[2]
		var under atomic.Int64
		q.process = func(f *flight) {
			assert.LessOrEqual(t, len(f.calls), bounds[2])
			assert.LessOrEqual(t, under.Add(int64(len(f.calls))), int64(bounds[0]))
			for range rand.IntN(5) {
				runtime.Gosched()
			}
			under.Add(-int64(len(f.calls)))
		}
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				for range 200 {
					c := newCall(time.Hour)
					q.join(c)
					if rand.IntN(3) > 0 || q.leave(c) == hasLanded {
						<-c.done
					}
				}
			})
		}
		callers.Wait()
		atRest := func() bool {
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.flights == 0 && q.boarding == 0 && q.underWay == 0
		}
		require.Eventually(t, atRest, 10*time.Second, time.Millisecond, "%v: flights that nobody waits for end as well", bounds)
		assert.Zero(t, q.waits)
		assert.Same(t, &q.waiting, q.waiting.next)
		assert.Same(t, &q.waiting, q.waiting.prev)
	}
}
