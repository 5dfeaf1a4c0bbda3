package benchmarks

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A flood is what a limiter does with keys that it has never seen, one after the other.
type flood struct {
	tally
	ns      float64       // per call, one reading of the clock included
	longest time.Duration // of all calls
	overMs  int           // calls of over a millisecond
	allocs  float64       // per call
	peak    float64       // bytes of heap at most, above what there was before
}

func floodWith(l Limiter, keys []string) flood {
	runtime.GC()
	var (
		f             flood
		sum           time.Duration
		heap          = newHeapGauge()
		before, after runtime.MemStats
	)
	runtime.ReadMemStats(&before)
	base := heap.bytes()
	last := time.Since(epoch)
	for i, k := range keys {
		if l.Allow(k) {
			f.allowed++
		}
		now := time.Since(epoch)
		took := now - last
		last = now
		sum += took
		f.longest = max(f.longest, took)
		if took > time.Millisecond {
			f.overMs++
		}
		if i%4096 == 0 { // not within the time of any call
			f.peak = max(f.peak, heap.bytes()-base)
			last = time.Since(epoch)
		}
	}
	f.peak = max(f.peak, heap.bytes()-base)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keys)
	f.calls = len(keys)
	f.ns = float64(sum) / float64(f.calls)
	f.allocs = float64(after.Mallocs-before.Mallocs) / float64(f.calls)
	return f
}

// A heapGauge reads the size of the heap without stopping the world.
type heapGauge []metrics.Sample

func newHeapGauge() heapGauge {
	return heapGauge{{Name: "/memory/classes/heap/objects:bytes"}}
}

func (h heapGauge) bytes() float64 {
	metrics.Read(h)
	return float64(h[0].Value.Uint64())
}
