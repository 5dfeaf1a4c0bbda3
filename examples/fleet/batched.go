package main

import (
	"context"
	"sync"
	"time"

	"github.com/weir-go/weir"
)

// batches is a model of Gubernator: requests wait for a moment, and ask the store together. In
// Gubernator the store is the node that owns the key.
type batches struct {
	limiter *weir.KeyedLimiter
	wait    time.Duration

	mu      sync.Mutex
	waiting []chan<- decision
}

type decision struct {
	weir.Result
	err error
}

// Take decides on one event.
func (b *batches) Take(_ context.Context, key string, _ int) (weir.Result, error) {
	answer := make(chan decision, 1)
	b.mu.Lock()
	if b.waiting = append(b.waiting, answer); len(b.waiting) == 1 {
		time.AfterFunc(b.wait, func() { b.ask(key) })
	}
	b.mu.Unlock()
	d := <-answer
	return d.Result, d.err
}

// ask asks for the events of all requests that wait. If the store grants only some of them, the
// requests that came first get them.
func (b *batches) ask(key string) {
	b.mu.Lock()
	batch := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	granted, r, err := b.limiter.TakeUpTo(context.Background(), key, len(batch))
	for i, answer := range batch {
		r.Allowed = i < granted
		answer <- decision{r, err}
	}
}
