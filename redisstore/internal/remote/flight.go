package remote

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// process sends the commands of a flight.
func (s *Store) process(f *flight) {
	ctx := &f.ctx
	if !s.driver.Endless { // the client may use the context in the background
		ctx = &flightContext{gone: f.gone, done: f.gone, deadline: time.Now().Add(s.timeout)}
	}
	ctx.Context = context.Background()
	if len(f.calls) == 1 {
		ctx.Context = f.calls[0].ctx
	}
	f.board()
	if s.merges {
		f.merge()
	}
	for cmds := f.cmds; len(cmds) > 0; cmds = again(cmds) {
		s.driver.Send(ctx, cmds)
	}
	for _, c := range f.calls {
		if c.first != nil {
			c.cmd.Reply, c.cmd.Err = c.first.cmd.Reply, c.first.cmd.Err
		}
	}
	clear(f.cmds)
	f.cmds, f.ctx.Context = f.cmds[:0], context.Background()
}

// fail sets an error for all calls, because a hook of the client did not return. The hook may or
// may not have sent commands. The flight is not used again.
func (f *flight) fail(panicked any) {
	err := errors.New("a hook of the client ended its goroutine")
	if panicked != nil {
		err = fmt.Errorf("a hook of the client panicked: %v\n%s", panicked, debug.Stack())
	}
	for _, c := range f.calls {
		c.cmd.Reply, c.cmd.Err = "", err
	}
	f.failed = true
}

// again returns those of the sent commands that must be sent once more. It is known that they
// counted nothing:
//
//   - A script that the server does not know by its hash is sent in full.
//   - A command for many keys is sent alone for each key that failed. The command may have been
//     refused because of one key.
func again(sent []*Command) (cmds []*Command) {
	for _, c := range sent {
		switch {
		case c.Unknown && !c.InFull:
			c.InFull = true
			cmds = append(cmds, c)
		case c.others == nil:
		case c.Refused:
			cmds = append(cmds, c.part()...)
		default:
			cmds = append(cmds, c.divide()...)
		}
	}
	return cmds
}

// board makes the commands of the calls: one for each group, see [script.Group].
func (f *flight) board() {
	for _, c := range f.calls {
		if group, ok := c.cmd.Group(); ok && len(f.calls) > 1 {
			if c.first = f.firsts[group]; c.first != nil {
				c.first.after++
				c.before = c.first.after
				continue
			}
			f.firsts[group] = c
		}
		f.cmds = append(f.cmds, &c.cmd)
	}
	for _, c := range f.firsts {
		if c.after > 0 {
			c.cmd.Times(1 + c.after)
		}
	}
	clear(f.firsts)
}

// A flightContext is the context that [Driver] documents.
type flightContext struct {
	context.Context
	gone     <-chan struct{} // closed when the last caller has stopped waiting for the flight
	done     <-chan struct{} // the same, or nil if it is never done
	deadline time.Time       // zero for no deadline
}

func (c *flightContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *flightContext) Done() <-chan struct{} { return c.done }

func (c *flightContext) Err() error {
	select {
	case <-c.gone:
		return context.Canceled
	default:
		return nil
	}
}
