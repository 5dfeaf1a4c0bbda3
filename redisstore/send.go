package redisstore

import (
	"context"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/redisstore/internal/remote"
)

// A sender sends commands through a client of go-redis.
type sender struct {
	client   Client
	reload   func(context.Context) // loads the topology of a cluster; nil for other clients
	reloaded atomic.Int64          // when reload was last called
}

// once is a command that go-redis does not send again. If its reply was lost, the command may have
// been executed. A pipeline with such a command is not sent again either.
type once struct{ *redis.StringCmd }

// NoRetry tells go-redis not to retry. go-redis calls it before a retry.
func (once) NoRetry() bool { return true }

func (s *sender) send(ctx context.Context, cmds []*remote.Command) {
	if len(cmds) == 1 {
		cmd := newCommand(ctx, cmds[0])
		cmd.SetErr(s.client.Process(ctx, cmd))
		s.set(cmds[0], cmd)
		return
	}
	pipe := s.client.(*redis.Client).Pipeline() // with other clients each command is sent alone
	all := make([]once, len(cmds))
	for i, c := range cmds {
		all[i] = newCommand(ctx, c)
		_ = pipe.Process(ctx, all[i]) // adds it to the pipeline
	}
	_, err := pipe.Exec(ctx)
	for i, cmd := range all {
		// If there is no connection because the server has refused it, go-redis sets no error in
		// the commands.
		if err != nil && cmd.Err() == nil && cmd.Val() == "" {
			cmd.SetErr(err)
		}
		s.set(cmds[i], cmd)
	}
}

// set records the reply or the error of a command.
func (s *sender) set(c *remote.Command, cmd once) {
	c.Set(cmd.Val(), cmd.Err(), func(word string) bool { return redis.HasErrorPrefix(cmd.Err(), word) })
	if c.Err != nil {
		s.notice(c.Err)
	}
}

func newCommand(ctx context.Context, c *remote.Command) once {
	if c.Script == nil {
		cmd := once{redis.NewStringCmd(ctx, "del", c.Key)}
		cmd.SetFirstKeyPos(1)
		return cmd
	}
	keys := c.Keys()
	args := make([]any, 3, 3+len(keys)+len(c.Args))
	args[0], args[1], args[2] = "evalsha", c.Script.SHAArg, len(keys)
	if c.InFull {
		args[0], args[1] = "eval", c.Script.SourceArg
	}
	for _, key := range keys {
		args = append(args, key)
	}
	for _, arg := range c.Args {
		if arg != nil { // no arguments follow a nil
			args = append(args, arg)
		}
	}
	cmd := once{redis.NewStringCmd(ctx, args...)}
	cmd.SetFirstKeyPos(3)
	return cmd
}
