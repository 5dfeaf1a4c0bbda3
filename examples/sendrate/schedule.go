package main

import (
	"context"
	"time"
)

// outageLength is how long an outage lasts.
const outageLength = time.Second

// A schedule says when the input offers its lines. The zero value offers them as fast as they are
// taken. Its times are those since the start.
type schedule struct {
	offer   int             // lines a second; 0 is as many as are taken
	outages []time.Duration // when they start, ascending
}

// due is when line i, counted from 0, is offered to one who asks for it at now.
//
// The lines that are due in an outage are all there at its end: they piled up where they come from.
func (s schedule) due(i int, now time.Duration) time.Duration {
	at := now
	if s.offer > 0 {
		whole, part := time.Duration(i/s.offer), time.Duration(i%s.offer)
		at = max(at, whole*time.Second+part*time.Second/time.Duration(s.offer))
	}
	for _, o := range s.outages {
		if o <= at && at < o+outageLength {
			at = o + outageLength
		}
	}
	return at
}

// sleep sleeps for d, or until ctx ends; then it returns why.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
