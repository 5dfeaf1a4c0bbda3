package remote

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/suite/runs"
)

// A flightTest has a queue whose flights land when they are told to.
type flightTest struct {
	*queue
	mu    sync.Mutex // guards what follows
	began []*flight
	size  []int // of each, as it began
	lands map[*flight]chan struct{}
}

func newFlightTest(maxUnderWay, maxFlights, maxCalls int) *flightTest {
	x := &flightTest{queue: newQueue(maxUnderWay), lands: map[*flight]chan struct{}{}}
	x.maxFlights, x.maxCalls, x.patience = maxFlights, maxCalls, patience
	x.process = func(f *flight) {
		land := make(chan struct{})
		x.mu.Lock()
		x.began, x.size, x.lands[f] = append(x.began, f), append(x.size, len(f.calls)), land
		x.mu.Unlock()
		<-land
	}
	return x
}

// atRest checks that nothing has leaked.
func (q *queue) atRest(t *testing.T) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	assert.Equal(t, [5]int{}, [5]int{q.out, q.seats, q.underWay, q.waits, len(q.recent)})
	assert.Same(t, &q.waiting, q.waiting.next)
	assert.Same(t, &q.waiting, q.waiting.prev)
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
	x.mu.Lock()
	close(x.lands[x.began[i]])
	x.mu.Unlock()
	synctest.Wait()
}

// sizes is how many calls there are in each of the flights that began.
func (x *flightTest) sizes() []int {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.size)
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
		require.Equal(t, []int{1, 1, 3}, x.sizes(), "no more than fit")
		assert.Equal(t, []*call{calls[2], calls[3], calls[5]}, x.began[2].calls, "in order, without the one that left")
		x.land(1)
		assert.Equal(t, []*call{calls[6], calls[7]}, x.began[3].calls)
		x.land(2)
		x.land(3)
		for i, c := range calls {
			assert.Len(t, c.done, map[bool]int{true: 0, false: 1}[i == 4])
		}
		x.atRest(t)
	})
}

// P22: two connections that hung stopped every caller. A flight that is out for long holds up its
// own callers and no others; it counts as under way until its end.
func TestP22_StuckFlightHoldsUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFlightTest(5, 1, 2)
		calls := x.join(8)
		time.Sleep(patience - 1)
		require.Equal(t, []int{1}, x.sizes())
		time.Sleep(2 * time.Nanosecond)
		require.Equal(t, []int{1, 2}, x.sizes())
		time.Sleep(2 * patience)
		require.Equal(t, []int{1, 2, 2}, x.sizes())
		time.Sleep(time.Hour)
		require.Equal(t, []int{1, 2, 2}, x.sizes(), "five are under way")
		x.land(1)
		require.Equal(t, []int{1, 2, 2, 2}, x.sizes(), "two have landed")
		time.Sleep(2 * patience)
		x.land(0)
		require.Equal(t, []int{1, 2, 2, 2, 1}, x.sizes(), "one more has landed")
		for _, i := range []int{3, 2, 4} {
			x.land(i)
		}
		for _, c := range calls {
			assert.Len(t, c.done, 1)
		}
		x.atRest(t)
	})
}

// After a rest a connection may be lost, and so flights are small at first.
func TestP22_FlightsGrowAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFlightTest(1000, MaxFlights, MaxCalls)
		landed := 0
		for range 2 {
			time.Sleep(patience + 1)
			calls := x.join(40)
			time.Sleep(10 * patience)
			want := []int{1, 1, 2, 2, 4, 4, 8, 8, 10}
			require.Equal(t, want, x.sizes()[landed:])
			x.join(40)
			time.Sleep(2 * patience)
			want = append(want, 1, 1, 32, 6) // without a rest they grow on
			require.Equal(t, want, x.sizes()[landed:])
			for range want {
				x.land(landed)
				landed++
			}
			for _, c := range calls {
				assert.Len(t, c.done, 1)
			}
		}
		x.atRest(t)
	})
}

// A flight for which nobody waits any more is called off.
func TestQueueCallsOffWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newFlightTest(5, 1, 2)
		calls := x.join(3)
		time.Sleep(2 * patience)
		require.Equal(t, []int{1, 2}, x.sizes())
		assert.Equal(t, maybeSent, x.leave(calls[0]))
		<-x.began[0].gone
		assert.Equal(t, maybeSent, x.leave(calls[1]))
		select {
		case <-x.began[1].gone:
			t.Error("called off although one waits for it")
		default:
		}
		assert.Equal(t, maybeSent, x.leave(calls[2]))
		<-x.began[1].gone
		x.land(0)
		x.land(1)
		x.atRest(t)
	})
}

// P22: 128 decisions were in flight at most, however far the server was. Now as many are as callers
// ask, up to what is allowed; and near by there are two flights.
func TestP22_InFlightFollowsTheRoundTrip(t *testing.T) {
	const callers = 600
	for _, c := range []struct {
		trip         time.Duration
		allowed, out int
		flights, in  int // at most
		decisions    int // in a second, at least
	}{
		{20 * time.Millisecond, 1000, 1000, callers / 10, callers, callers * 47},
		{20 * time.Millisecond, 500, 1000, 40, 500, 500 * 47},
		{20 * time.Millisecond, 1000, 5, 5, 5 * MaxCalls, 5 * MaxCalls * 47},
		{500 * time.Millisecond, 1000, 1000, callers, callers, callers},
		{patience / 2, 1000, 1000, MaxFlights, MaxFlights * MaxCalls, MaxFlights * MaxCalls * 1900},
	}[:runs.Long(5, 4)] { // the last makes most of the decisions, one after another
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(c.allowed)
			q.maxFlights, q.maxCalls, q.maxOut, q.patience = MaxFlights, MaxCalls, c.out, patience
			var mu sync.Mutex
			var flights, in, mostFlights, mostIn, decisions int
			count := func(f, n int) {
				mu.Lock()
				defer mu.Unlock()
				flights, in = flights+f, in+n
				mostFlights, mostIn, decisions = max(mostFlights, flights), max(mostIn, in), decisions+max(n, 0)
			}
			q.process = func(f *flight) {
				count(1, len(f.calls))
				time.Sleep(c.trip)
				count(-1, -len(f.calls))
			}
			began := time.Now()
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for time.Since(began) < time.Second {
						call := newCall(time.Hour)
						q.join(call)
						<-call.done
					}
				})
			}
			all.Wait()
			assert.LessOrEqual(t, mostFlights, c.flights)
			assert.Equal(t, c.in, mostIn)
			assert.GreaterOrEqual(t, decisions, c.decisions, "%+v", c)
		})
	}
}

// Callers come, give up, and are served at random times. Callers that stay are served, no bound is
// exceeded, and the queue comes to rest.
func TestQueueComesToRest(t *testing.T) {
	for _, bounds := range [][3]int{{1000, 2, 64}, {5, 2, 3}, {1, 2, 64}, {4, 4, 1}} {
		q := newQueue(bounds[0])
		q.maxFlights, q.maxCalls, q.patience = bounds[1], bounds[2], 10*time.Microsecond
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
			return q.out == 0
		}
		require.Eventually(t, atRest, time.Minute, time.Millisecond, "%v: flights that nobody waits for end as well", bounds)
		q.atRest(t)
	}
}
