package iolimit

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/outlive"
)

// A deadline ends the waits of one direction of a connection. It is safe for concurrent use.
//
// It gives out contexts that have no Deadline. A limiter can therefore not refuse a wait in
// advance, and a deadline that is moved during the wait is kept.
type deadline struct {
	mu     sync.Mutex
	ctx    context.Context // ends with the reason as its cause
	end    context.CancelCauseFunc
	at     time.Time   // zero if there is none
	timer  *time.Timer // nil before the first
	closed bool
}

// context returns the context of a wait that begins now.
func (d *deadline) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil {
		d.renew()
	}
	return d.ctx
}

// renew makes a new context. mu is held.
func (d *deadline) renew() { d.ctx, d.end = context.WithCancelCause(context.Background()) }

// set sets the deadline, or removes it if at is zero.
func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.at = at
	left := time.Until(at)
	past := !at.IsZero() && left <= 0
	if d.ctx == nil || d.ctx.Err() != nil && !past {
		d.renew()
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	switch {
	case at.IsZero():
	case past:
		d.end(outlive.ErrDeadline)
	case d.timer == nil:
		d.timer = time.AfterFunc(left, d.pass)
	default:
		d.timer.Reset(left)
	}
}

// pass ends the context if the deadline has passed. It may have been moved while the timer fired.
func (d *deadline) pass() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.at.IsZero() {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.end(outlive.ErrDeadline)
}

// close ends the context for good.
func (d *deadline) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.ctx == nil || d.ctx.Err() != nil { // by a deadline that had passed
		d.renew()
	}
	d.end(net.ErrClosed)
}
