package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A worker sends the lines of its input, each when the limiter lets it.
type worker struct {
	name     string // of the policy
	limiter  weir.Limiter
	in       *input
	out      io.Writer
	schedule schedule
	start    time.Time

	sent   atomic.Int64 // lines so far; others read it to show progress
	tenths histogram    // when they went
	took   time.Duration
}

// key is what the limiter knows the one receiver by.
const key = "receiver"

// run sends until the input ends, and then returns nil. If ctx ends, it finishes the line that is
// being sent and returns why ctx ended. A line that could not be sent stays in the input.
func (w *worker) run(ctx context.Context) error {
	for {
		line, err := w.next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := w.limiter.Wait(ctx, key, 1); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		if _, err := w.out.Write(line); err != nil {
			return fmt.Errorf("sending line %d: %w", w.sent.Load()+1, err)
		}
		w.in.advance()
		w.took = time.Since(w.start)
		w.tenths.add(w.took)
		w.sent.Add(1)
	}
}

// next is the next line, when it is offered.
func (w *worker) next(ctx context.Context) ([]byte, error) {
	line, err := w.in.peek(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Since(w.start)
	due := w.schedule.due(int(w.sent.Load()), now)
	return line, sleep(ctx, due-now)
}
