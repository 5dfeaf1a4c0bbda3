package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	model    = "large"
	patience = minute / 4 // until a call must have started
)

// load is the callers and what they did.
type load struct {
	budget *budget
	settle bool // for what was used; else the estimates stay
	start  time.Time

	mu      sync.Mutex
	minutes []tally
}

// A tally is what happened in a minute.
type tally struct{ calls, refused, gaveUp, estimated, used, back, over int }

// note adds to the tally of this minute.
func (l *load) note(add func(*tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := int(time.Since(l.start) / minute)
	for len(l.minutes) <= at {
		l.minutes = append(l.minutes, tally{})
	}
	add(&l.minutes[at])
}

// run lets n callers call until ctx ends. It returns the first error, if it is not that of ctx.
func (l *load) run(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.start = time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for ctx.Err() == nil {
				if err := l.call(ctx, random); err != nil {
					cancel(err)
				}
				sleep(ctx, upTo(random, minute)) // somebody reads the answer
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
}

// call makes one call. It returns nil if it is refused, or if ctx ends.
func (l *load) call(ctx context.Context, random *rand.Rand) error {
	prompt, longest := 200+random.IntN(1000), 1000
	estimate := prompt + longest

	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := l.budget.begin(soon, model, estimate)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, errRefused), errors.Is(err, context.DeadlineExceeded): // that of soon
		l.note(func(t *tally) { t.refused++ })
		return nil
	default:
		return err
	}
	defer c.cancel(ctx) // unless it has ended then
	if random.IntN(20) == 0 || !sleep(ctx, c.delay()) {
		l.note(func(t *tally) { t.gaveUp++ }) // closed the window
		return nil
	}
	used, took := simulate(random, prompt, longest)
	sleep(ctx, took)
	l.note(func(t *tally) {
		t.calls++
		t.estimated += estimate
		t.used += used
		t.back += max(estimate-used, 0)
		t.over += max(used-estimate, 0)
	})
	if !l.settle {
		used = estimate
	}
	return c.end(ctx, used)
}

// simulate is the model: what an answer uses, and how long it takes. Most are shorter than they might be; one in ten
// calls a tool, and is longer.
func simulate(random *rand.Rand, prompt, longest int) (used int, took time.Duration) {
	used = prompt + random.IntN(longest/2)
	if random.IntN(10) == 0 {
		used = prompt + longest + random.IntN(longest)
	}
	return used, upTo(random, minute/10)
}

func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

// sleep reports false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
