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
	if !s.driver.Endless { // the client may go on with it in the background
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

// fail has all calls come to an error, because a hook of the client's did not return. Whether it sent anything is
// not known. The flight is not used again.
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

// again returns what is to be sent once more of what was sent, since it is known that nothing was counted. A script
// that the server does not know by its hash is sent itself. A command for many keys is sent for each alone that
// it failed for; it may be refused because of one of them.
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

// board makes the commands of the calls: one for all that it can stand for, see [script.Group].
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

// A flightContext is the one that [Driver] speaks of.
type flightContext struct {
	context.Context
	gone     <-chan struct{} // closed when nobody waits for the flight any more
	done     <-chan struct{} // the same, or nil if it is never done
	deadline time.Time       // zero if there is none
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
