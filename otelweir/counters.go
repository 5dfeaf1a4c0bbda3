package otelweir

import (
	"math/rand/v2"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// A result is the value of weir.result.
type result int

const (
	granted result = iota
	denied
	canceled
	failed
	results // how many there are
)

var resultNames = [results]string{"granted", "denied", "canceled", "error"}

// counters are the counts of all limiters of a name. They are read when metrics are collected. A
// synchronous instrument of the SDK takes about 170 ns for each request, and more if many
// goroutines ask at the same time.
type counters struct {
	cells   [16]cell
	waiting atomic.Int64

	// What an instrument gets with the counts, and with the time of a Wait.
	requests [results][2]metric.ObserveOption // by result, and whether it is degraded
	queued   metric.ObserveOption
	waits    [results][]metric.RecordOption
}

// A cell is a part of the counts. It fills a cache line, so that processors which count at the same
// time seldom wait for each other.
type cell [results][2]atomic.Uint64

func newCounters(name string) *counters {
	of := limiterName(name)
	c := &counters{queued: metric.WithAttributeSet(attribute.NewSet(of))}
	for r, text := range resultNames {
		result := attribute.String("weir.result", text)
		for i := range c.requests[r] {
			c.requests[r][i] = metric.WithAttributeSet(attribute.NewSet(of, result, degradedKey.Bool(i == 1)))
		}
		c.waits[r] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(of, result))}
	}
	return c
}

// add counts a request.
func (c *counters) add(r result, degraded bool) {
	i := 0
	if degraded {
		i = 1
	}
	c.cells[rand.Uint32()%uint32(len(c.cells))][r][i].Add(1)
}

// observe reports the counts. Those of requests that are not degraded are reported from the start,
// as 0. Prometheus does not see the first request of a count that starts with 1.
func (c *counters) observe(o metric.Observer, requests, queued metric.Int64Observable) {
	for r := range results {
		for i := range c.requests[r] {
			n := uint64(0)
			for j := range c.cells {
				n += c.cells[j][r][i].Load()
			}
			if n > 0 || i == 0 {
				o.ObserveInt64(requests, int64(n), c.requests[r][i])
			}
		}
	}
	o.ObserveInt64(queued, c.waiting.Load(), c.queued)
}

// of returns the counters of a name.
func (m *Metrics) of(name string) *counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.limiters[name]
	if !ok {
		c = newCounters(name)
		m.limiters[name] = c
	}
	return c
}
