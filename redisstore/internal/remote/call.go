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
	done  chan struct{} // receives when the flight has landed; what cmd came to is set then

	state      callState // Guarded by the queue's mutex, as are:
	flight     *flight   // that it is in, if it may have been sent
	next, prev *call     // among those that wait
}

func newCall(timeout time.Duration) *call {
	return &call{timer: time.NewTimer(timeout), done: make(chan struct{}, 1)}
}

// send sends a command, and waits for its end, that of ctx, or the timeout. The caller does not wait in
// the client, for that waits on its own terms: for a connection, the dial of another caller, or
// room, whatever the context says.
func (s *Store) send(ctx context.Context, cmd script.Call) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
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
		err = ctx.Err()
	case <-c.timer.C:
		err = ErrNoReply
	}
	switch state := s.queue.leave(c); {
	case state == hasLanded:
		<-c.done
		return s.landed(c)
	case err != ErrNoReply:
		return "", err
	case state == notSent:
		err = ErrBusy
	case s.driver.NoReply != nil:
		s.driver.NoReply()
	}
	return "", fmt.Errorf("%w: %v", err, s.timeout)
}

// landed is what a call comes to whose flight has landed. The call is used again.
func (s *Store) landed(c *call) (string, error) {
	ctx, reply, err := c.ctx, c.cmd.Reply, c.cmd.Err
	c.timer.Stop()
	c.ctx, c.cmd, c.state, c.flight = nil, Command{}, notSent, nil
	s.calls.Put(c)
	if errors.Is(err, os.ErrDeadlineExceeded) { // the client's timeout, or the context's
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return "", context.DeadlineExceeded
		}
		return "", fmt.Errorf("%w: %w", ErrNoReply, err)
	}
	return reply, err
}
