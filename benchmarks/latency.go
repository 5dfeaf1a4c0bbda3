package benchmarks

import (
	"runtime"
	"sync"
	"time"
)

// yieldEvery is how many calls a goroutine makes before it lets the others run. A server's
// goroutine makes one call and then does other things. Without it, the scheduler would stop
// goroutines in the midst of a call, and the longest call would be how long 63 others take,
// whatever is measured.
const yieldEvery = 32

// epoch is what the clock counts from: reading the time since an instant is cheaper than reading
// the time.
var epoch = time.Now()

// latencies lets goroutines ask l for the keys for d, and times each call. The times contain one
// reading of the clock.
func latencies(l Limiter, keys Keys, goroutines int, d time.Duration) (*histogram, tally) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		gate = make(chan struct{})
		end  time.Duration // set before the gate opens
		hist = new(histogram)
		all  tally
	)
	for g := range goroutines {
		h := new(histogram)
		wg.Go(func() {
			<-gate
			t := timeEach(l, keys, g*len(keys)/goroutines, end, h)
			mu.Lock()
			defer mu.Unlock()
			hist.merge(h)
			all.add(t)
		})
	}
	runtime.GC()
	end = time.Since(epoch) + d
	close(gate)
	wg.Wait()
	return hist, all
}

func timeEach(l Limiter, keys Keys, i int, end time.Duration, h *histogram) (t tally) {
	for before := time.Since(epoch); before < end || t.calls == 0; before = time.Since(epoch) {
		for range yieldEvery {
			if l.Allow(keys.At(i)) {
				t.allowed++
			}
			after := time.Since(epoch)
			h.add(uint64(after - before))
			before = after
			if i++; i == len(keys) {
				i = 0
			}
		}
		t.calls += yieldEvery
		runtime.Gosched()
	}
	return t
}
