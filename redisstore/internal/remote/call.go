package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// A call is a command, and the caller that waits for its reply.
type call struct {
	ctx   context.Context
	cmd   Command
	timer *time.Timer
	done  chan struct{} // receives when the flight has landed; the reply or error in cmd is then set

	first  *call // the call whose command includes this call; nil if it has its own
	before int   // how many earlier calls that command includes
	after  int   // how many later calls this call's own command includes

	state      callState // The queue's mutex guards this and the following fields.
	flight     *flight   // the flight of the call, if it may have been sent
	next, prev *call     // in the ring of waiting calls
}

func newCall(timeout time.Duration) *call {
	return &call{timer: time.NewTimer(timeout), done: make(chan struct{}, 1)}
}

// send sends a command, and waits for its reply, the end of ctx, or the timeout. The caller does
// not wait in the client, because the client may wait longer than the context allows: for a
// connection, for the dial of another caller, or for room.
func (s *Store) send(ctx context.Context, cmd script.Call) (script.Reply, error) {
	if err := ended(ctx); err != nil {
		return script.Reply{}, err
	}
	c := s.calls.Get().(*call)
	c.ctx, c.cmd = ctx, Command{Call: cmd}
	c.timer.Reset(s.timeout)
	s.queue.join(c)
	var err error
	select {
	case <-c.done:
		return s.landed(c)
	case <-ctx.Done():
		err = ended(ctx)
	case <-c.timer.C:
		err = ErrNoReply
	}
	switch state := s.queue.leave(c); {
	case state == hasLanded:
		<-c.done
		return s.landed(c)
	case err != ErrNoReply:
		return script.Reply{}, err
	case state == notSent:
		err = ErrBusy
	case s.driver.NoReply != nil:
		s.driver.NoReply()
	}
	return script.Reply{}, fmt.Errorf("%w: %v", err, s.timeout)
}

// ended is the error of a context that has ended. It is ErrNoReply if package casstore, or an
// Engine, has ended it, because the time of the decision was up.
func ended(ctx context.Context) error {
	if context.Cause(ctx) == ErrNoReply {
		return ErrNoReply
	}
	return ctx.Err()
}

// landed returns the reply or the error of a call whose flight has landed, and recycles the call.
func (s *Store) landed(c *call) (script.Reply, error) {
	ctx, reply, err := c.ctx, script.Reply{Text: c.cmd.Reply, Before: c.before}, c.cmd.Err
	c.timer.Stop()
	c.ctx, c.cmd, c.first, c.before, c.after, c.state, c.flight = nil, Command{}, nil, 0, 0, notSent, nil
	s.calls.Put(c)
	if errors.Is(err, os.ErrDeadlineExceeded) { // the client's timeout, or the context's
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return script.Reply{}, context.DeadlineExceeded
		}
		return script.Reply{}, fmt.Errorf("%w: %w", ErrNoReply, err)
	}
	return reply, err
}
