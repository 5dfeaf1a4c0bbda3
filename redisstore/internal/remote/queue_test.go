package remote

import (
	"sync"
	"testing"
	"testing/synctest"

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
