package remote

import (
	"context"
	"time"
)

// process sends the commands of a flight. A script is sent by its hash first; if the server answers that it
// does not know it, nothing was executed, and the script is sent itself.
func (s *Store) process(f *flight) {
	ctx := &f.ctx
	if !s.driver.Endless { // the client may go on with it in the background
		ctx = &flightContext{gone: f.gone, deadline: time.Now().Add(s.timeout)}
	}
	ctx.Context = context.Background()
	if len(f.calls) == 1 {
		ctx.Context = f.calls[0].ctx
	}
	for _, c := range f.calls {
		f.cmds = append(f.cmds, &c.cmd)
	}
	s.driver.Send(ctx, f.cmds)
	again := f.cmds[:0]
	for _, cmd := range f.cmds {
		if cmd.Unknown {
			cmd.InFull = true
			again = append(again, cmd)
		}
	}
	if len(again) > 0 {
		s.driver.Send(ctx, again)
	}
	clear(f.cmds)
	f.cmds, f.ctx.Context = f.cmds[:0], context.Background()
}

// A flightContext is the one that [Driver] speaks of.
type flightContext struct {
	context.Context
	gone     <-chan struct{} // closed when nobody waits for the flight any more
	deadline time.Time       // zero if there is none, and it is never done
}

func (c *flightContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *flightContext) Done() <-chan struct{} {
	if c.deadline.IsZero() {
		return nil
	}
	return c.gone
}

func (c *flightContext) Err() error {
	select {
	case <-c.gone:
		return context.Canceled
	default:
		return nil
	}
}
