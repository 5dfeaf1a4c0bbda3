package benchmarks

import (
	"fmt"
	"runtime"
	"time"
)

// Settings are the sizes of the workloads.
type Settings struct {
	Time    time.Duration   // of a measurement
	Latency time.Duration   // of W8
	Scale   float64         // of the numbers of keys; 1 for the full ones
	Want    map[string]bool // the workloads to measure; nil for all
}

func (s Settings) keys(n int) int { return max(int(float64(n)*s.Scale), 64) }

func (s Settings) wants(workload string) bool { return s.Want == nil || s.Want[workload] }

// Metrics are the results of a measurement by their names. A name is that of the workload, a dot,
// and that of the figure.
type Metrics map[string]float64

// A Group is what one process measures of one contender: workloads that share a state that takes
// long to make. Each measurement has a fresh process, so that no contender has the heap of another.
type Group struct {
	Name      string
	Workloads []string
	Fits      func(c Contender) bool
	Measure   func(c Contender, s Settings) Metrics
}

// Groups are all of them, in the order of the tables.
func Groups() []Group {
	return []Group{
		{"hot", []string{"W1", "W2", "W3"}, general, hot},
		{"million", []string{"W4", "W4p", "W5"}, general, million},
		{"flood", []string{"W6"}, floodable, measureFlood},
		{"memory", []string{"W7"}, keeper, measureMemory},
		{"latency", []string{"W8"}, general, measureLatency},
		{"growth", []string{"growth"}, leader, growth},
		{"methods", []string{"M1"}, hasMethods, measureMethods},
		{"http", []string{"H1"}, hasMiddleware, measureMiddleware},
	}
}

func general(c Contender) bool { return c.New != nil && c.Only == "" }

func floodable(c Contender) bool { return general(c) || c.Only == "flood" }

func keeper(c Contender) bool { return general(c) && c.Kind != Idle }

func leader(c Contender) bool { return c.Name == Leader }

// Goroutines of the parallel workloads.
func manyGoroutines() int { return 16 * runtime.GOMAXPROCS(0) }
func someGoroutines() int { return runtime.GOMAXPROCS(0) }

// quota is what denies nothing when keys come again and again.
func (c Contender) quota() Quota {
	if c.Kind == Paces || c.Kind == Blocks {
		return paced
	}
	return roomy
}

// hotQuota is the same for one hot key.
func (c Contender) hotQuota() Quota {
	if c.Kind == Logs {
		return logged
	}
	return c.quota()
}

// hot measures W1, W2 and W3: one key that everybody asks for.
func hot(c Contender, s Settings) Metrics {
	m := Metrics{}
	keys := uniform(1)
	if s.wants("W1") {
		m.throughput("W1", c, c.New(c.hotQuota()), keys, 1, s)
	}
	if s.wants("W2") {
		m.throughput("W2", c, c.New(c.hotQuota()), keys, manyGoroutines(), s)
	}
	if s.wants("W3") && c.Kind != Blocks {
		l := c.New(tight)
		l.Allow(keys.At(0))
		ns, t := throughput(l, keys, manyGoroutines(), s.Time)
		m["W3.ns"] = ns
		if c.Kind != Idle {
			m.wrong("W3", t.allowed, t.calls)
		}
	}
	return m
}

// million measures W4 and W5: a million keys, seen before, all alike or after Zipf's law.
func million(c Contender, s Settings) Metrics {
	m := Metrics{}
	n := s.keys(1_000_000)
	l := c.New(c.quota())
	m.wrong("populate", populate(l, n), n)
	keys := uniform(n)
	if s.wants("W4") {
		m.throughput("W4", c, l, keys, 1, s)
	}
	if s.wants("W4p") {
		m.throughput("W4p", c, l, keys, someGoroutines(), s)
	}
	if s.wants("W5") {
		m.throughput("W5", c, l, zipf(n, 2*n), someGoroutines(), s)
	}
	return m
}

// measureFlood measures W6: two million keys never seen before.
func measureFlood(c Contender, s Settings) Metrics {
	keys := newKeys(s.keys(2_000_000))
	f := floodWith(c.New(roomy), keys)
	m := Metrics{
		"W6.ns":      f.ns,
		"W6.longest": float64(f.longest),
		"W6.overMs":  float64(f.overMs),
		"W6.allocs":  f.allocs,
		"W6.peak":    f.peak,
	}
	m.wrong("W6", f.calls-f.allowed, f.calls)
	return m
}

// measureMemory measures W7: the memory for a million keys.
func measureMemory(c Contender, s Settings) Metrics {
	f := footprintOf(func() Limiter { return c.New(roomy) }, s.keys(1_000_000))
	m := Metrics{"W7.bytes": f.perKey, "W7.gc": float64(f.gc)}
	m.wrong("W7", f.calls-f.allowed, f.calls)
	return m
}

// measureLatency measures W8: how long single calls take under load.
func measureLatency(c Contender, s Settings) Metrics {
	n := s.keys(100_000)
	l := c.New(c.quota())
	populate(l, n)
	h, t := latencies(l, drawn(n, 10*n), 64, s.Latency)
	m := Metrics{
		"W8.p50":  h.quantile(.50),
		"W8.p99":  h.quantile(.99),
		"W8.p999": h.quantile(.999),
		"W8.max":  float64(h.max),
	}
	if c.Kind != Paces {
		m.wrong("W8", t.calls-t.allowed, t.calls)
	}
	return m
}

// GrowthKeys and GrowthGoroutines are the sides of the table of growth.
var (
	GrowthKeys       = []int{1_000, 10_000, 100_000, 1_000_000, 10_000_000}
	GrowthGoroutines = []int{1, 2, 4, 8, 16, 64}
)

// GrowthMetric names the decision's cost with so many keys and goroutines.
func GrowthMetric(keys, goroutines int) string { return fmt.Sprintf("growth.%d/%d", keys, goroutines) }

// growth measures how the cost of a decision grows with keys and goroutines.
func growth(c Contender, s Settings) Metrics {
	m := Metrics{}
	for _, nominal := range GrowthKeys {
		n := s.keys(nominal)
		l := c.New(c.quota())
		m.wrong("populate", populate(l, n), n)
		keys := uniform(n)
		for _, g := range GrowthGoroutines {
			ns, t := throughput(l, keys, g, s.Time)
			m[GrowthMetric(nominal, g)] = ns
			m.wrong("growth", t.calls-t.allowed, t.calls)
		}
	}
	return m
}

// throughput measures decisions all of which are to be granted. (But one that paces may deny those
// that ask in the same nanosecond, or as the clock has it.)
func (m Metrics) throughput(workload string, c Contender, l Limiter, keys Keys, goroutines int, s Settings) {
	ns, t := throughput(l, keys, goroutines, s.Time)
	m[workload+".ns"] = ns
	if c.Kind != Paces {
		m.wrong(workload, t.calls-t.allowed, t.calls)
	}
}

// Wrong is the end of the metrics that tell the share of decisions that were not as they must be.
const Wrong = ".wrong"

func (m Metrics) wrong(workload string, decisions, of int) {
	if decisions > 0 {
		m[workload+Wrong] += float64(decisions) / float64(of)
	}
}
