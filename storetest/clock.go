package storetest

import (
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// A manualClock stands still until it is set. It can be set to any instant.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
	made   chan struct{} // receives a signal for each timer that is made
}

type timer struct {
	at   time.Time
	fire chan time.Time
}

var _ weir.Clock = (*manualClock)(nil)

func newManualClock() *manualClock {
	return &manualClock{now: start, made: make(chan struct{}, 100)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = append(c.timers, timer{c.now.Add(d), make(chan time.Time, 1)})
	fire := c.timers[len(c.timers)-1].fire
	c.fireDue()
	select {
	case c.made <- struct{}{}:
	default:
	}
	return fire
}

func (c *manualClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	c.fireDue()
}

// fireDue requires that c.mu is held.
func (c *manualClock) fireDue() {
	left := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			left = append(left, t)
		} else {
			t.fire <- c.now
		}
	}
	c.timers = left
}

// A runningClock moves on by a step whenever it is read.
type runningClock struct {
	*manualClock
	step time.Duration
}

func (c runningClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(c.step)
	return c.now
}
