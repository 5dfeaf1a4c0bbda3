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

// once is a command that go-redis does not send again: a reply that was lost does not tell whether the
// command was executed.
type once struct{ *redis.StringCmd }

// NoRetry is what go-redis asks before a retry.
func (once) NoRetry() bool { return true }

// A call is a command under way. It has a goroutine, for go-redis waits on its own terms: for a
// connection, a dial, or a reply, whatever the context says. A call that came to its end in time is
// used again; one that was given up is left to its goroutine.
type call struct {
	store *Store
	run   func()
	timer *time.Timer   // of the one who waits for the call
	alarm *time.Timer   // gives up a call that has no goroutine
	gone  chan struct{} // closed when the call is given up
	done  chan struct{} // receives when the command has ended

	ctx   context.Context
	cmd   script.Call
	reply string
	err   error
}

func newCall(s *Store) *call {
	c := &call{
		store: s,
		timer: time.NewTimer(s.timeout),
		gone:  make(chan struct{}),
		done:  make(chan struct{}, 1),
	}
	c.alarm = time.AfterFunc(s.timeout, func() { close(c.gone) })
	c.alarm.Stop()
	c.run = func() {
		c.reply, c.err = s.process(c.ctx, c.cmd)
		<-s.inFlight
		c.done <- struct{}{}
	}
	return c
}

// A callContext is the caller's, and also ends when the call is given up. So a command that still waits
// for a connection then is not sent.
type callContext struct {
	context.Context
	gone     <-chan struct{}
	deadline time.Time // if it is not the caller's
}

func (c *callContext) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

func (c *callContext) Done() <-chan struct{} { return c.gone }

func (c *callContext) Err() error {
	select {
	case <-c.gone:
		return context.Canceled
	default:
		return nil
	}
}

// send sends a command, and waits for its end, that of ctx, or the timeout.
func (s *Store) send(ctx context.Context, cmd script.Call) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c, left := s.calls.Get().(*call), s.timeout
	select {
	case s.inFlight <- struct{}{}:
	default:
		c.timer.Reset(left)
		began := time.Now()
		select {
		case s.inFlight <- struct{}{}:
			left = max(left-time.Since(began), 1)
		case <-ctx.Done():
			return "", ctx.Err()
		case <-c.timer.C:
			return "", fmt.Errorf("%w: %d", ErrBusy, cap(s.inFlight))
		}
	}
	if s.keepsDeadlines && ctx.Done() == nil {
		return s.sendHere(ctx, c, cmd, left)
	}
	c.timer.Reset(left)
	c.ctx, c.cmd = &callContext{Context: ctx, gone: c.gone}, cmd
	go c.run()
	select {
	case <-c.done:
		reply, err := c.reply, c.err
		c.timer.Stop()
		c.ctx, c.cmd, c.reply, c.err = nil, script.Call{}, "", nil
		s.calls.Put(c)
		if errors.Is(err, os.ErrDeadlineExceeded) { // the client's timeout, or the context's
			if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
				return "", context.DeadlineExceeded
			}
			return "", fmt.Errorf("%w: %w", ErrNoReply, err)
		}
		return reply, err
	case <-ctx.Done():
		close(c.gone)
		return "", ctx.Err()
	case <-c.timer.C:
		close(c.gone)
		s.reloadTopology()
		return "", fmt.Errorf("%w: %v", ErrNoReply, s.timeout)
	}
}

// sendHere is send without a goroutine, for a client that keeps to the context's deadline and a context
// that can't end before the timeout.
func (s *Store) sendHere(ctx context.Context, c *call, cmd script.Call, left time.Duration) (string, error) {
	c.alarm.Reset(left)
	reply, err := s.process(&callContext{ctx, c.gone, time.Now().Add(left)}, cmd)
	<-s.inFlight
	inTime := c.alarm.Stop()
	if inTime {
		s.calls.Put(c)
	}
	if err != nil && (!inTime || errors.Is(err, os.ErrDeadlineExceeded)) {
		s.reloadTopology()
		return "", fmt.Errorf("%w: %v", ErrNoReply, s.timeout)
	}
	return reply, err
}

// keepsDeadlines tells whether a client was made to keep to the deadlines of contexts. A cancelled
// context does not make it return even then.
func keepsDeadlines(client Client) bool {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// process sends a command and reads its reply. A script is sent by its hash first; if the server answers
// that it does not know it, nothing was executed, and the script is sent itself.
func (s *Store) process(ctx context.Context, c script.Call) (string, error) {
	if c.Script == nil {
		return s.sendOnce(ctx, 1, "del", c.Key)
	}
	args := make([]any, 4, 4+len(c.Args))
	args[0], args[1], args[2], args[3] = "evalsha", c.Script.SHAArg, "1", c.Key
	for _, arg := range c.Args {
		if arg != nil { // none after it
			args = append(args, arg)
		}
	}
	reply, err := s.sendOnce(ctx, 3, args...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		again := append([]any{"eval", c.Script.SourceArg}, args[2:]...)
		reply, err = s.sendOnce(ctx, 3, again...)
	}
	return reply, err
}

// sendOnce sends a command, the key of which is the argument at keyPos.
func (s *Store) sendOnce(ctx context.Context, keyPos int8, args ...any) (string, error) {
	cmd := once{redis.NewStringCmd(ctx, args...)}
	cmd.SetFirstKeyPos(keyPos)
	if err := s.client.Process(ctx, cmd); err != nil {
		s.notice(err)
		return "", err
	}
	return cmd.Val(), nil
}
