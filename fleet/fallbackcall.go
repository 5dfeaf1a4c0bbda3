package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir"
)

// A term is a deadline that calls share if they start within a sixteenth of the budget. A context
// and a timer for each call would cost as much as all the rest.
//
// Its context ends a sixteenth of the budget before the callers stop waiting. A store that heeds
// its context can then report what it waits for. If this process itself hung, for example because
// it got no processor, answers that have come meanwhile are read before they count as late.
type term struct {
	context.Context
	cancel context.CancelFunc
	over   context.Context
	until  int64 // calls that start before share the term
}

// termAt is the term of a call that starts now.
func (f *fallback) termAt(now int64) *term {
	old := f.term.Load()
	if old != nil && now < old.until {
		return old
	}
	part := f.budget / 16
	t := &term{until: later(now, part)}
	t.Context, t.cancel = context.WithTimeout(context.Background(), f.budget-part)
	over, end := context.WithCancel(context.Background())
	t.over = over
	context.AfterFunc(t, func() { time.AfterFunc(part, end) })
	if f.term.CompareAndSwap(old, t) {
		return t
	}
	t.cancel()
	return f.term.Load()
}

// A firstCall is a call to the first store of a Fallback, in flight in a goroutine. It is also the
// context that the store gets. It is not used again, because the store may keep the context.
type firstCall struct {
	*term
	values  context.Context // the caller's
	f       *fallback
	r       weir.Request
	parts   []weir.Result
	charges []weir.Charge
	began   int64
	try     bool // the call tries whether first is back

	judged atomic.Bool
	answer weir.Answer // set before it is judged to have returned
	err    error       // likewise
	fault  error       // that Report panicked; set before done is closed
	done   chan struct{}
}

// call starts a call of first.
func (f *fallback) call(ctx context.Context, now int64, r weir.Request, try bool) *firstCall {
	c := &firstCall{term: f.termAt(now), values: ctx, f: f, r: r, began: now, try: try, done: make(chan struct{})}
	// The call may outlast the caller. It must then not touch the caller's memory.
	c.r.Key = strings.Clone(r.Key)
	if r.ByComponent != nil {
		c.r.ByComponent = &c.parts
	}
	if r.Charges != nil {
		c.charges = slices.Clone(*r.Charges)
		c.r.Charges = &c.charges
	}
	go c.run()
	return c
}

// Value implements [context.Context]. The term has only the values by which package context
// recognizes its own.
func (c *firstCall) Value(key any) any {
	if v := c.term.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

var errNoReturn = errors.New("weir: the first store ended its goroutine")

func (c *firstCall) run() {
	defer close(c.done) // whatever Report does
	c.err = errNoReturn
	defer func() {
		if p := recover(); p != nil {
			c.err = fmt.Errorf("weir: the first store panicked: %v\n%s", p, debug.Stack())
		}
		c.f.inFlight.Add(-1)
		_, c.fault = c.judge(c.err)
	}()
	c.answer, c.err = c.f.first.Do(c, c.r)
}

// judge records how a call ended: the store has returned, or the budget is spent, whichever comes
// first. It reports whether this end came first, and returns an error if Report panicked.
func (c *firstCall) judge(err error) (first bool, fault error) {
	if !c.judged.CompareAndSwap(false, true) {
		return false, nil
	}
	// A give-back does not show that the store can write: it may find nothing to write.
	wrote := err == nil && (c.r.Forget || c.r.N > 0 && c.answer.Allowed)
	return true, c.f.health.judge(c.began, c.try, wrote, err)
}

// judgeLater judges a call whose caller has left.
func (c *firstCall) judgeLater() {
	context.AfterFunc(c.over, func() { c.judge(c.f.late) })
}

// wait returns the answer for r, or an error when the budget is spent, ctx ends, or hurry comes.
// hurry is the budget of a caller that has spent some of it before.
func (c *firstCall) wait(ctx context.Context, r weir.Request, hurry <-chan time.Time) (weir.Answer, error) {
	select {
	case <-c.done:
		if c.fault != nil {
			return weir.Answer{}, c.fault
		}
	case <-c.over.Done():
		if late, fault := c.judge(c.f.late); late {
			return weir.Answer{}, cmp.Or(fault, c.f.late)
		} // else it returned just in time
	case <-hurry:
		c.judgeLater()
		return weir.Answer{}, errNoTurn
	case <-ctx.Done():
		c.judgeLater()
		return weir.Answer{}, ctx.Err()
	}
	if r.ByComponent != nil {
		*r.ByComponent = append((*r.ByComponent)[:0], c.parts...)
	}
	if r.Charges != nil && r.N > 0 {
		*r.Charges = append((*r.Charges)[:0], c.charges...)
	}
	return c.answer, c.err
}
