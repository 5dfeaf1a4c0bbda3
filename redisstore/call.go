package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/redisstore/internal/script"
)

// A call is a command, and the caller that waits for its reply.
type call struct {
	ctx   context.Context
	cmd   script.Call
	timer *time.Timer
	done  chan struct{} // receives when the flight has landed; reply and err are set then
	reply string
	err   error

	state      callState // Guarded by the queue's mutex, as are:
	flight     *flight   // that it is in, if it may have been sent
	next, prev *call     // among those that wait
}

func newCall(timeout time.Duration) *call {
	return &call{timer: time.NewTimer(timeout), done: make(chan struct{}, 1)}
}

// send sends a command, and waits for its end, that of ctx, or the timeout. The caller does not wait in
// go-redis, for that waits on its own terms: for a connection, a dial, or a reply, whatever the context says.
func (s *Store) send(ctx context.Context, cmd script.Call) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c := s.calls.Get().(*call)
	c.ctx, c.cmd = ctx, cmd
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
	default:
		s.reloadTopology()
	}
	return "", fmt.Errorf("%w: %v", err, s.timeout)
}

// landed is what a call comes to whose flight has landed. The call is used again.
func (s *Store) landed(c *call) (string, error) {
	ctx, reply, err := c.ctx, c.reply, c.err
	c.timer.Stop()
	c.ctx, c.cmd, c.reply, c.err, c.state, c.flight = nil, script.Call{}, "", nil, notSent, nil
	s.calls.Put(c)
	if errors.Is(err, os.ErrDeadlineExceeded) { // the client's timeout, or the context's
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return "", context.DeadlineExceeded
		}
		return "", fmt.Errorf("%w: %w", ErrNoReply, err)
	}
	return reply, err
}

// once is a command that go-redis does not send again: a reply that was lost does not tell whether the
// command was executed. A pipeline that has such a command is not sent again either.
type once struct{ *redis.StringCmd }

// NoRetry is what go-redis asks before a retry.
func (once) NoRetry() bool { return true }

// process sends the commands of a flight and reads their replies. A script is sent by its hash first; if the
// server answers that it does not know it, nothing was executed, and the script is sent itself.
func (s *Store) process(f *flight) {
	ctx := &flightContext{context.Background(), f.gone, time.Now().Add(s.timeout)}
	if len(f.calls) == 1 {
		ctx.Context = f.calls[0].ctx
	}
	cmds := f.cmds[:0]
	for _, c := range f.calls {
		cmds = append(cmds, newCommand(ctx, c.cmd, "evalsha"))
	}
	f.cmds = cmds
	s.exec(ctx, cmds)
	var again []once
	for i, cmd := range cmds {
		if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			cmds[i] = newCommand(ctx, f.calls[i].cmd, "eval")
			again = append(again, cmds[i])
		}
	}
	if len(again) > 0 {
		s.exec(ctx, again)
	}
	for i, c := range f.calls {
		if c.reply, c.err = cmds[i].Val(), cmds[i].Err(); c.err != nil {
			s.notice(c.err)
		}
	}
	clear(cmds)
}

// exec sends commands, and sets what they come to.
func (s *Store) exec(ctx context.Context, cmds []once) {
	if len(cmds) == 1 {
		cmds[0].SetErr(s.client.Process(ctx, cmds[0]))
		return
	}
	pipe := s.pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // keeps it
	}
	_, err := pipe.Exec(ctx)
	for _, cmd := range cmds {
		// Where there is no connection because the server has refused it, go-redis leaves the commands alone.
		if err != nil && cmd.Err() == nil && cmd.Val() == "" {
			cmd.SetErr(err)
		}
	}
}

func newCommand(ctx context.Context, c script.Call, name string) once {
	if c.Script == nil {
		cmd := once{redis.NewStringCmd(ctx, "del", c.Key)}
		cmd.SetFirstKeyPos(1)
		return cmd
	}
	args := make([]any, 4, 4+len(c.Args))
	args[0], args[1], args[2], args[3] = name, c.Script.SHAArg, "1", c.Key
	if name == "eval" {
		args[1] = c.Script.SourceArg
	}
	for _, arg := range c.Args {
		if arg != nil { // none after it
			args = append(args, arg)
		}
	}
	cmd := once{redis.NewStringCmd(ctx, args...)}
	cmd.SetFirstKeyPos(3)
	return cmd
}

// A flightContext ends when nobody waits for the flight any more. So commands that still wait for a connection
// then are not sent. The values are those of the caller, if it is one.
type flightContext struct {
	context.Context
	gone     <-chan struct{}
	deadline time.Time
}

func (c *flightContext) Deadline() (time.Time, bool) { return c.deadline, true }
func (c *flightContext) Done() <-chan struct{}       { return c.gone }

func (c *flightContext) Err() error {
	select {
	case <-c.gone:
		return context.Canceled
	default:
		return nil
	}
}
