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
type once struct{ redis.StringCmd }

// NoRetry tells go-redis not to retry. go-redis calls it before a retry.
func (*once) NoRetry() bool { return true }

func (s *sender) send(ctx context.Context, cmds []*remote.Command) {
	all := newCommands(ctx, cmds)
	if len(cmds) == 1 {
		all[0].SetErr(s.client.Process(ctx, &all[0]))
		s.set(cmds[0], &all[0])
		return
	}
	pipe := s.client.(*redis.Client).Pipeline() // with other clients each command is sent alone
	for i := range all {
		_ = pipe.Process(ctx, &all[i]) // adds it to the pipeline
	}
	_, err := pipe.Exec(ctx)
	for i := range all {
		cmd := &all[i]
		// If there is no connection because the server has refused it, go-redis sets no error in
		// the commands.
		if err != nil && cmd.Err() == nil && cmd.Val() == "" {
			cmd.SetErr(err)
		}
		s.set(cmds[i], cmd)
	}
}

// set records the reply or the error of a command.
func (s *sender) set(c *remote.Command, cmd *once) {
	c.Set(cmd.Val(), cmd.Err(), func(word string) bool { return redis.HasErrorPrefix(cmd.Err(), word) })
	if c.Err != nil {
		s.notice(c.Err)
	}
}

// newCommands makes the commands for a client: all of them in one allocation, and their arguments
// in another. They are not used again, because a hook of the client may keep them.
func newCommands(ctx context.Context, cmds []*remote.Command) []once {
	n := 0
	for _, c := range cmds {
		n += 3 + len(c.Keys()) + len(c.Args)
	}
	all, room := make([]once, len(cmds)), make([]any, 0, n)
	for i, c := range cmds {
		args := appendArgs(room, c)
		room = args[len(args):]
		all[i].StringCmd = *redis.NewStringCmd(ctx, args[:len(args):len(args)]...)
		if c.Script == nil {
			all[i].SetFirstKeyPos(1)
		} else {
			all[i].SetFirstKeyPos(3)
		}
	}
	return all
}

// appendArgs appends the words of a command.
func appendArgs(args []any, c *remote.Command) []any {
	switch {
	case c.Script == nil:
		return append(args, "del", c.Key)
	case c.InFull:
		args = append(args, "eval", c.Script.SourceArg)
	default:
		args = append(args, "evalsha", c.Script.SHAArg)
	}
	keys := c.Keys()
	args = append(args, len(keys))
	for _, key := range keys {
		args = append(args, key)
	}
	for _, arg := range c.Args {
		if arg != nil { // no arguments follow a nil
			args = append(args, arg)
		}
	}
	return args
}
