package main

import (
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir"
)

// start is the start of the simulation, a Thursday and the first of a month.
var start = time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)

// A clock is a weir.Clock that stands still while the worker works, and jumps when it sleeps. It is for
// one goroutine.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// After lets d pass.
func (c *clock) After(d time.Duration) <-chan time.Time {
	c.sleep(d)
	passed := make(chan time.Time, 1)
	passed <- c.now
	return passed
}

func (c *clock) sleep(d time.Duration) { c.now = c.now.Add(d) }

// arrivals are the arriving codes, at random and independent of each other.
type arrivals struct {
	random *rand.Rand
	mean   float64 // the mean time between two codes
	next   time.Time
}

func newArrivals(from time.Time, perMinute int) *arrivals {
	a := &arrivals{random: rand.New(rand.NewPCG(1, 2)), mean: float64(time.Minute) / float64(perMinute), next: from}
	a.advance()
	return a
}

func (a *arrivals) advance() {
	a.next = a.next.Add(time.Duration(a.random.ExpFloat64() * a.mean))
}

// A provider counts the messages that it gets, by the calendar and independently of weir.
type provider struct {
	clock   *clock
	windows []time.Time // the start of the current window of each quota
	counts  []int
	most    []int // the largest count of each quota so far
	refused int
}

func newProvider(c *clock) *provider {
	n := len(contract)
	return &provider{c, make([]time.Time, n), make([]int, n), make([]int, n), 0}
}

// send takes n messages, or refuses them.
func (p *provider) send(n int) {
	for i, q := range contract {
		if window := startOf(q.unit, p.clock.now); window != p.windows[i] {
			p.windows[i], p.counts[i] = window, 0
		}
	}
	for i, q := range contract {
		if p.counts[i]+n > q.limit {
			p.refused += n
			return
		}
	}
	for i := range contract {
		p.counts[i] += n
		p.most[i] = max(p.most[i], p.counts[i])
	}
}

// startOf returns the start of the current minute, hour, day, week or month.
func startOf(unit weir.Unit, now time.Time) time.Time {
	switch unit {
	case weir.Minute:
		return now.Truncate(time.Minute)
	case weir.Hour:
		return now.Truncate(time.Hour)
	}
	year, month, day := now.Date()
	switch unit {
	case weir.Week:
		day -= (int(now.Weekday()) + 6) % 7 // back to Monday
	case weir.Month:
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
