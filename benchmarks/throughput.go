package benchmarks

import (
	"runtime"
	"sync"
	"time"
)

// batch is how many calls are made between two looks at the clock.
const batch = 256

// A tally counts decisions.
type tally struct{ calls, allowed int }

func (t *tally) add(o tally) {
	t.calls += o.calls
	t.allowed += o.allowed
}

// throughput lets goroutines ask l for the keys, round and round, each from its own place in them,
// for about d. It returns the nanoseconds per decision: the time that passed, divided by the
// decisions of all.
func throughput(l Limiter, keys Keys, goroutines int, d time.Duration) (ns float64, all tally) {
	race(l, keys, goroutines, d/10) // to warm up
	runtime.GC()
	elapsed, all := race(l, keys, goroutines, d)
	return float64(elapsed) / float64(all.calls), all
}

func race(l Limiter, keys Keys, goroutines int, d time.Duration) (elapsed time.Duration, all tally) {
	if goroutines == 1 {
		start := time.Now()
		all = ask(l, keys, 0, start, d)
		return time.Since(start), all
	}
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		gate = make(chan struct{})
		from time.Time // set before the gate opens
	)
	for g := range goroutines {
		wg.Go(func() {
			<-gate
			t := ask(l, keys, g*len(keys)/goroutines, from, d)
			mu.Lock()
			defer mu.Unlock()
			all.add(t)
		})
	}
	from = time.Now()
	close(gate)
	wg.Wait()
	return time.Since(from), all
}

// ask asks for the keys in turn, beginning at i, until d after start.
func ask(l Limiter, keys Keys, i int, start time.Time, d time.Duration) (t tally) {
	for time.Since(start) < d || t.calls == 0 {
		for range batch {
			if l.Allow(keys.At(i)) {
				t.allowed++
			}
			if i++; i == len(keys) {
				i = 0
			}
		}
		t.calls += batch
	}
	return t
}
