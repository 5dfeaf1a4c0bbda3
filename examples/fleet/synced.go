package main

import (
	"context"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// counts is a model of Kong, and of others that synchronize counters: a node decides by what it has
// counted itself, and by what all nodes together had counted when it synchronized last.
type counts struct {
	policy weir.FixedWindow
	shared *weir.KeyedLimiter

	mu     sync.Mutex
	window int64 // which is counted
	known  int   // of all nodes, when the counts were last added up
	own    int   // granted here since then
}

// Take decides on one event.
func (c *counts) Take(context.Context, string, int) (weir.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.roll(now)
	r := weir.Result{ResetAfter: windowStart(c.window+1, c.policy.Per).Sub(now)}
	if r.Allowed = c.known+c.own < c.policy.Limit; r.Allowed {
		c.own++
	}
	return r, nil
}

// roll begins a new window if the old one has ended. It requires that c.mu is held.
func (c *counts) roll(now time.Time) {
	if w := windowOf(now, c.policy.Per); w != c.window {
		c.window, c.known, c.own = w, 0, 0
	}
}

// every adds up the counts at intervals, until the function that it returns is called.
func (c *counts) every(interval time.Duration) (stop func(context.Context) error) {
	done := make(chan struct{})
	var syncing sync.WaitGroup
	syncing.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				c.sync()
			}
		}
	})
	return func(context.Context) error {
		close(done)
		syncing.Wait()
		return nil
	}
}

// sync adds up the counts. If that fails, the next one does it.
func (c *counts) sync() {
	c.mu.Lock()
	c.roll(time.Now())
	window, own := c.window, c.own
	c.mu.Unlock()
	r, err := c.shared.Take(context.Background(), key, own)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roll(time.Now()); err == nil && window == c.window {
		c.known, c.own = r.Limit-r.Remaining, c.own-own
	}
}
