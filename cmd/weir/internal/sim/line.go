package sim

import (
	"context"
	"slices"

	"github.com/weir-go/weir"
)

// A line has the clients of a lane that wait, in their order. A simulation cannot block, so it does
// not call Wait. The line does what Wait does, by Reserve: a test compares both.
type line struct {
	booked []*client // those that go ahead at an instant that they know
	asking []*client // those behind them; only the first is on the agenda, and asks again
}

// join is a client that calls Wait.
func (l *lane) join(c *client) error {
	if len(l.line.asking) > 0 {
		l.record(Waits, c, weir.Result{})
		l.line.asking = append(l.line.asking, c)
		return nil
	}
	asks, err := l.book(c, true)
	if asks {
		l.line.asking = append(l.line.asking, c)
	}
	return err
}

// book asks for an event now or later. It reports whether c must ask again. A client that is new to
// the line is recorded if it waits.
func (l *lane) book(c *client, isNew bool) (asks bool, err error) {
	r, err := l.limiter.Reserve(context.Background(), key, 1)
	if err != nil {
		return false, err
	}
	delay := r.RetryAfter
	switch {
	case r.Allowed && r.Delay() == 0:
		kind := Held
		if isNew {
			kind = Granted
		}
		return false, l.answer(kind, c, r.Result)
	case r.Allowed:
		delay = r.Delay()
		c.booked = r
		l.line.booked = append(l.line.booked, c)
	case l.store.latest.QueueFull || delay == weir.Never:
		return false, l.answer(Denied, c, r.Result)
	}
	if isNew {
		l.record(Waits, c, r.Result).Delay = delay
	}
	l.schedule(c, delay)
	return !r.Allowed, nil
}

// turn is a client whose booked instant has come, or that asks again.
func (l *lane) turn(c *client) error {
	if c.booked != nil {
		l.line.booked = l.line.booked[1:]
		return l.answer(Held, c, c.booked.Result)
	}
	return l.askInTurn()
}

// answer ends the wait of a client. Wait has no Result: httplimit asks for one when the client goes
// ahead, or is denied.
func (l *lane) answer(kind Kind, c *client, r weir.Result) error {
	n := 0
	if kind == Denied { // and is denied again, which changes nothing
		n = 1
	}
	told, err := l.limiter.TakeByComponent(context.Background(), key, n, &l.parts)
	l.tell(l.record(kind, c, r), told)
	return err
}

// askInTurn asks for the clients that have not booked, until one must ask again.
func (l *lane) askInTurn() error {
	for len(l.line.asking) > 0 {
		if asks, err := l.book(l.line.asking[0], false); asks || err != nil {
			return err
		}
		l.line.asking = l.line.asking[1:]
	}
	return nil
}

// renew gives all who wait new turns, in the same order. change replaces the policy.
func (l *lane) renew(change func() error) error {
	for _, c := range slices.Backward(l.line.booked) { // the last booking can be undone exactly
		if err := c.booked.Cancel(context.Background()); err != nil {
			return err
		}
		c.booked = nil
	}
	if err := change(); err != nil {
		return err
	}
	if l.scenario.Clients == Wait {
		l.coming = nil // they are all in the line
		l.line = line{asking: slices.Concat(l.line.booked, l.line.asking)}
	}
	return l.askInTurn()
}
