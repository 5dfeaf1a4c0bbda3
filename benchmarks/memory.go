package benchmarks

import (
	"runtime"
	"slices"
	"time"
)

// A footprint is what a limiter costs that has seen n keys.
type footprint struct {
	tally
	perKey float64       // bytes of heap, what it keeps of the keys included
	gc     time.Duration // by how much longer runtime.GC takes
}

func footprintOf(newLimiter func() Limiter, n int) footprint {
	gcBefore := collect()
	before := heapInUse()
	l := newLimiter()
	denied := populate(l, n)
	gcAfter := collect()
	after := heapInUse()
	runtime.KeepAlive(l)
	return footprint{
		tally:  tally{calls: n, allowed: n - denied},
		perKey: float64(int64(after)-int64(before)) / float64(n),
		gc:     gcAfter - gcBefore,
	}
}

// collect returns the median time of a garbage collection.
func collect() time.Duration {
	runtime.GC() // what is garbage by now is not the limiter's state
	times := make([]time.Duration, 7)
	for i := range times {
		start := time.Now()
		runtime.GC()
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
