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

	first  *call // whose command stands for this call, too; nil if that is its own
	before int   // for how many that came before this one
	after  int   // if it is this one's: for how many that came after

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
func (s *Store) send(ctx context.Context, cmd script.Call) (script.Reply, error) {
	if err := ctx.Err(); err != nil {
		return script.Reply{}, err
	}
	c := s.calls.Get().(*call)
	c.ctx, c.cmd = ctx, Command{Call: cmd}
	if cmd.Within == 0 {
		cmd.Within = s.timeout
	}
	c.timer.Reset(cmd.Within)
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
		return script.Reply{}, err
	case state == notSent:
		err = ErrBusy
	case s.driver.NoReply != nil:
		s.driver.NoReply()
	}
	return script.Reply{}, fmt.Errorf("%w: %v", err, s.timeout)
}

// landed is what a call comes to whose flight has landed. The call is used again.
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
